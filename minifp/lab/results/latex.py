"""table.tex: the table of a comparison for a paper, as a tabular of the package booktabs.

No number is bold: which arm is best is not what the test says. What a caption must say stands
above it as a comment.
"""

import math
from statistics import fmean, stdev

from minifp.lab import arms
from minifp.lab.results.tidy import final, metric_names
from minifp.lab.statistics.paired import CONFIDENCE
from minifp.report import words

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def escaped(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(SPECIAL.get(character, character) for character in " ".join(text.split()))


def table(comparison) -> str:
    """The text of table.tex."""
    others = metric_names(comparison)[1:]
    rows = comparison.rows()
    units = comparison.task.metric_unit, comparison.task.difference_unit
    unit, of_difference = (f" ({escaped(unit)})" if unit else "" for unit in units)
    head = ["Arm", "Runs", escaped(comparison.task.metric_name) + unit, *map(escaped, others)]
    head += [f"Difference{of_difference}", rf"{CONFIDENCE:.0%} interval".replace("%", r"\%")]
    head += ["Verdict"]
    controls = [row for row in rows if arms.split(row.precision)[1]]
    groups = [row for row in rows if row not in controls], controls
    lines = [
        "% \\usepackage{booktabs}",
        *(f"% {' '.join(text.split())}" for text in caption(comparison)),
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 2)}l}}",
        r"\toprule",
        line(head),
    ]
    for group in filter(None, groups):
        lines += [r"\midrule", *(line(cells(comparison, row, others)) for row in group)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def line(texts) -> str:
    """A row of the table."""
    return " & ".join(texts) + r" \\"


def caption(comparison) -> list[str]:
    """What must be said with the table."""
    task, margin = comparison.task, words.fixed(comparison.task.margin, 6).rstrip("0").rstrip(".")
    better = "higher" if task.goal == "max" else "lower"
    steps = comparison.config.get("steps")
    return [
        f"{task.name}, {words.plural(steps, 'step')}, {words.plural(len(comparison.seeds), 'seed')}"
        f": {task.metric_name} at the end, mean ± standard deviation over the runs that finished; "
        f"{better} is better. Runs: how many finished, of all.",
        f"Difference from {comparison.baseline}, paired by seed, with its {CONFIDENCE:.0%} "
        "interval (Student's t). EQUIVALENT: the whole interval is within "
        f"±{margin} {task.difference_unit} (two one-sided tests at 5%); DIFFERENT: outside of it.",
        *comparison.notes(),
    ]


def cells(comparison, row, others) -> list[str]:
    """The texts of one arm's row."""
    places = words.decimals(comparison.task.margin)
    ended = [run for run in comparison.runs_of(row.precision) if run.finished]
    found = [rf"\texttt{{{escaped(row.precision)}}}", f"{row.n - row.diverged}/{row.n}"]
    found += [spread(row.mean, row.sd, places)]
    for name in others:
        values = [final(run, name, comparison.task.metric_name) for run in ended]
        values = [value for value in values if words.is_number(value)]
        found += [spread(*moments(values))]
    if row.precision == comparison.baseline:
        return [*found, "baseline", "", ""]
    difference, interval = "", ""
    if words.is_number(row.difference):
        difference = f"${words.signed(row.difference, places)}$"
    if words.is_number(row.low):
        ends = (words.signed(end, places) for end in (row.low, row.high))
        interval = "$[{}, {}]$".format(*ends)
    return [*found, difference, interval, row.verdict or "none"]


def moments(values) -> tuple:
    """Mean, deviation, and so many decimals that this has two digits."""
    if not values:
        return None, None, 0
    sd = stdev(values) if len(values) > 1 else None
    size = sd or abs(fmean(values)) / 100 or 1.0
    return fmean(values), sd, min(9, max(0, 1 - math.floor(math.log10(size))))


def spread(mean, sd, places) -> str:
    """Mean and deviation; empty where no run finished."""
    if not words.is_number(mean):
        return ""
    return f"${mean:.{places}f}" + (rf" \pm {sd:.{places}f}$" if words.is_number(sd) else "$")
