"""Updates that were lost: their share in each parameter, as a picture and as tables."""

from functools import partial

from minifp.report.content import Columns, Part, Section, Table
from minifp.report.markup import paragraph
from minifp.report.words import share_text
from minifp.scope.page.figures import lost_anywhere, picture, updates_figure
from minifp.scope.record import Record
from minifp.scope.updates import LOST, Updates

ABOUT = (
    "An update is lost if it is not 0, but the weight (the float32 master weight, if there is one) "
    'did not change. "With weights alone" asks whether the rounded weight would have changed. A '
    'stronger colour is a larger share. "In master only": the master weight changed, but not its '
    "rounded copy."
)


def updates_section(findings: Record) -> Section:
    """What became of updates."""
    steps = [step for step in findings.steps if step.updates]
    title, formats = "Updates that were lost", findings.alone
    if not steps:
        return Section(title, ())
    kinds = [kind for kind, _ in lost_anywhere(findings)]
    none = {  # a sentence, where the picture would be blank
        LOST: "No update was lost in the observed steps.",
        **{n: f"With {n} weights alone, none would have been lost either." for n in formats},
    }
    parts: list[Part] = [
        paragraph(" ".join(text for kind, text in none.items() if kind not in kinds))
    ]
    if kinds:
        parts.append(picture(findings, "updates", "Lost updates", ABOUT, updates_figure))
    columns: Columns = {
        "parameter": lambda row: row[0],
        "elements": lambda row: f"{row[1].count:,}",
        "zero gradient": lambda row: share_text(row[1].zero_gradients, row[1].count),
        "lost": partial(share_lost, LOST),
        "in master only": lambda row: share_text(row[1].waiting, row[1].wanted),
        **{f"lost in {n}": partial(share_lost, n) for n in formats},
        "update / weight": lambda row: f"{row[1].ratio:.1e}",
    }
    last = steps[-1]
    parts.append(Table.of(f"Step {last.step}", last.updates.items(), columns, brief=()))
    return Section(title, [*parts, shares_by_step(steps, formats)])


def shares_by_step(steps: list, formats: list[str]) -> Table:
    """The pictures' shares, step by step."""
    heads = ["step", "parameter", "lost in this run"]
    heads += [f"lost if {name} weights were all" for name in formats]
    rows = [
        [str(step.step), row[0], *(share_lost(kind, row) for kind in (LOST, *formats))]
        for step in steps
        for row in step.updates.items()
    ]
    caption = "Lost updates of every step that was looked at"
    return Table(caption, [heads, *rows], text_columns=(1,), is_folded=True)


def share_lost(kind: str, row: tuple[str, Updates]) -> str:
    """The share of a parameter's updates that were lost, or would be in a format."""
    return share_text(row[1].number(kind), row[1].wanted)
