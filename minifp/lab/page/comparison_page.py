"""The page of a comparison: all of it in one file that needs no network; or in a notebook."""

from pathlib import Path

from markupsafe import Markup

from minifp.lab.page import (
    controls_section,
    kept_section,
    line_charts,
    page_tables,
    power_table,
    sections,
    tests_table,
    verdicts,
)
from minifp.lab.page.page_style import STYLE
from minifp.report import chart_markup, in_notebook
from minifp.report import document as frame
from minifp.report.markup import contents, paragraph, section
from minifp.saving import files


def write_page(comparison, path) -> Path:
    """Write the page of a comparison, aside first, and return its path."""
    return files.write(path, page(comparison))


def page(comparison) -> Markup:
    """The whole page."""
    title = f"{comparison.task.name}: {verdicts.headline(comparison)}"
    return frame.document(title, body(comparison), style(), chart_markup.script())


def fragment(comparison) -> Markup:
    """What a notebook shows: the answers, and the page to open."""
    said = Markup().join(paragraph(n) for n in sections.notes_of(comparison))
    title = f"{comparison.task.name}: {verdicts.headline(comparison)}"
    return in_notebook.card(
        title, page_tables.plain_final_table(comparison) + said, page(comparison)
    )


def style() -> Markup:
    """The rules that this page has beside those of all."""
    return STYLE + chart_markup.style()


def body(comparison, prefix="m") -> Markup:
    """The answer first, then what it rests on."""
    c = comparison
    first = (
        sections.heading(c),
        sections.verdict_list(c),
        controls_section.answers(c),
        sections.notes(c),
    )
    parts = (
        section("How they got there", line_charts.line_charts(c, prefix)),
        section(
            "Where they end",
            sections.figure(c, "difference", prefix),
            page_tables.final_table(c),
            tests_table.tests_table(c),
        ),
        section("What they made", kept_section.kept_section(c)),
        controls_section.controls_section(c),
        power_table.power_section(c, prefix),
        section("The loss scale", paragraph(sections.scale_note(c)), page_tables.scale_table(c)),
        section("What it costs", sections.figure(c, "memory", prefix), page_tables.cost_table(c)),
        section("Run by run", page_tables.run_table(c), folded=True),
        section("How to do it again", sections.again(c)),
        section("Machine and settings", sections.machine(c), folded=True),
    )
    then = Markup("\n").join(part for part in parts if part)
    return Markup("\n").join(part for part in (*first, contents(then), then) if part)
