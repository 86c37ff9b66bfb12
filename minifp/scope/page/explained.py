"""An explanation, and a tensor, as HTML for a notebook: the style is brought along, no script."""

import re

from markupsafe import Markup, escape

from minifp.report.document import embedded
from minifp.report.markup import facts, paragraph, part, scrolled
from minifp.report.words import MINUS, raised
from minifp.scope.explaining.describe import HEADS, Line, Pieces, Rows

STYLE = part("explained.css", __package__)
BITS = Markup(
    'In the bits: <span class="sign">sign</span>, <span class="exponent">exponent</span>, '
    '<span class="mantissa">mantissa</span>. A number after ≈ is rounded correctly; all others are '
    "exact."
)
RAISED = re.compile(r"2\^\((.*?)\)")  # an exponent that is written as a sum
ASCII_MINUS = re.compile(r"(?<![\w)])-(?=\d|Inf|\()|(?<=e)-(?=\d)")


def wrapped(*parts: Markup) -> Markup:
    """The parts, in a <div> that brings its style and touches nothing outside."""
    return embedded(Markup("\n").join(parts), STYLE, "explained")


def fragment(title: str, notes: list[str], lines: list[Line], formats: dict[str, Rows]) -> Markup:
    """An explanation: its title, how it was read, a table of all formats, and a card for each."""
    return wrapped(
        Markup("<h1>{}</h1>").format(title),
        Markup('<p class="small">{}</p>').format(" ".join(notes)),
        all_formats(lines),
        paragraph(BITS, "small"),
        *(card(name, rows) for name, rows in formats.items()),
    )


def all_formats(lines: list[Line]) -> Markup:
    """A line of each format, under their heads."""
    heads = Markup().join(map(Markup('<th scope="col">{}</th>').format, HEADS))
    rows = Markup("\n").join(in_line(first, *rest) for first, *rest in lines)
    return scrolled("in each format", heads, rows, "formats")


def in_line(name: tuple[str, str], *cells: tuple[str, str]) -> Markup:
    """One of them."""
    content = Markup().join(Markup("<td>{}</td>").format(piece(*cell)) for cell in cells)
    return Markup('<tr><th scope="row">{}</th>{}</tr>').format(piece(*name), content)


def card(name: str, rows: Rows) -> Markup:
    """One format."""
    lines = Markup("\n").join(row(label, pieces) for label, pieces in rows)
    return Markup(
        '<section class="format">\n<h2>{}</h2>\n'
        "<table>\n<tbody>\n{}\n</tbody>\n</table>\n</section>"
    ).format(name, lines)


def row(label: str, pieces: Pieces) -> Markup:
    """A label and what belongs to it; the verdict stands out."""
    line = Markup('<tr><th scope="row">{}</th><td class="line">{}</td></tr>')
    if label == "status":
        line = Markup('<tr class="status"><th scope="row">{}</th><td>{}</td></tr>')
    content = Markup().join(piece(role, text) for role, text in pieces)
    return line.format(label, Markup(RAISED.sub(r"2<sup>\1</sup>", str(content))))


def piece(role: str, text: str) -> Markup:
    """A text in its colour, with the signs that a terminal may lack."""
    shown = escape(typeset(text))
    return Markup('<span class="{}">{}</span>').format(role, shown) if role and text else shown


def typeset(text: str) -> str:
    """≈ for ~, × and raised exponents, a real minus sign before numbers."""
    text = raised(text)
    text = text.replace("~", "≈").replace(" x ", " × ")
    return ASCII_MINUS.sub(MINUS, text)


# ---- tensors ------------------------------------------------------------------------------------


def tensor_table(rows: list[tuple[str, str]], values: str) -> Markup:
    """A tensor: what it is, where its numbers lie, and the numbers."""
    frame = Markup('<section class="format">\n{}\n<pre>{}</pre>\n</section>')
    return wrapped(frame.format(facts(rows, ""), values))
