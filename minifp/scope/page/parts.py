"""Pieces of a microscope's page: figures, tables to open, names of layers."""

from collections.abc import Callable

from markupsafe import Markup

from minifp.report import drawing
from minifp.report.markup import details, table, wide
from minifp.scope.record import Record
from minifp.scope.tracing.repeating import WEIGHT


def figure(findings: Record, draw: Callable, name: str, title: str, said: str) -> Markup:
    """A figure, nothing without matplotlib."""
    if not drawing.is_available():
        return Markup()
    drawn = drawing.inline_svg(draw(findings), name, title, said)
    region = Markup('<div class="drawn" role="group" tabindex="0" aria-label="{}">\n{}\n</div>')
    return wide(region.format(title, drawn), said)


def folded(caption: str, heads: tuple, rows: list, text_columns: tuple = ()) -> Markup:
    """A table to open."""
    return details(caption, table(caption, heads, rows, text_columns=text_columns))


def layer_of(row: dict) -> str:
    """The module without the model's name, and the operation; of a weight its name."""
    if row["operation"] == WEIGHT:
        return row["module"]
    module = row["module"].partition(".")[2] or row["module"]
    return " ".join(filter(None, (module, row["operation"])))
