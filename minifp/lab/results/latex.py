"""table.tex: the table of a comparison for a paper, as a tabular of the package booktabs.

No number is bold: which arm is best is not what the test says. What a caption must say stands
above it as a comment.
"""

from collections import Counter

from minifp.lab.page import end_tables
from minifp.lab.page.comparison_document import about
from minifp.report.rendering import latex


def table(comparison) -> str:
    """The text of table.tex."""
    counts = Counter(row.is_control for row in comparison.rows())
    notes = [about(comparison), end_tables.about(comparison), comparison.verdict_sentence()]
    notes += [*comparison.answer_sentences(), *comparison.notes()]
    groups = [n for n in (counts[False], counts[True]) if n]
    return latex(end_tables.final_table(comparison), groups, notes)
