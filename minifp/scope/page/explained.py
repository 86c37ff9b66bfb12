"""An explanation, and a tensor, as HTML for a notebook: the style is brought along, no script."""

import re
from html import escape

from minifp.report.document import embedded
from minifp.report.words import MINUS, raised
from minifp.scope.explaining.describe import HEADS, Line, Pieces, Rows

STYLE = """
.minifp.explained { padding: 0.75rem 1rem; border-radius: 10px; font-size: 15px; }
.minifp.explained h1 { font-size: 1.35rem; margin: 0.25rem 0 0.35rem; overflow-wrap: anywhere; }
.minifp.explained p { max-width: 62rem; overflow-wrap: anywhere; }
.minifp.explained h2 { font-size: 1.02rem; margin: 0 0 0.5rem; }
.minifp.explained .format { background: var(--paper); border: 1px solid var(--edge);
  border-radius: 10px; padding: 0.75rem 1rem; margin: 0.75rem 0; max-width: 62rem; }
.minifp.explained table { width: auto; }
.minifp.explained th, .minifp.explained td { text-align: left; border: 0; padding: 0.12rem 0;
  white-space: normal; overflow-wrap: anywhere; }
.minifp.explained th { color: var(--muted); font-weight: 500; white-space: nowrap;
  padding-right: 1.25rem; }
.minifp.explained pre { white-space: pre; overflow-x: auto; }
.minifp.explained .formats :is(th, td) { padding: 0.12rem 1.5rem 0.12rem 0; }
.minifp.explained .formats tbody th { color: inherit; }
.minifp.explained .formats td { overflow-wrap: normal; }
.minifp.explained sup { line-height: 0; white-space: nowrap; }
@media (max-width: 40rem) { /* the cards below have the errors, too */
  .minifp.explained .formats :is(th, td) { padding-right: 0.6rem; }
  .minifp.explained .formats :is(th, td):nth-child(3) { display: none; }
}
.minifp.explained .line { white-space: pre-wrap; font-size: 0.86rem; line-height: 1.6;
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
.minifp.explained .status td { font-weight: 550; }
.minifp.explained .sign { color: color-mix(in srgb, var(--series-4) 60%, var(--ink));
  font-weight: 650; }
.minifp.explained .exponent { color: color-mix(in srgb, var(--series-3) 60%, var(--ink));
  font-weight: 650; }
.minifp.explained .mantissa { color: var(--series-1); font-weight: 650; }
.minifp.explained .lost, .minifp.explained .bad { color: var(--bad); }
.minifp.explained .good { color: var(--good); }
.minifp.explained .muted { color: var(--muted); }
"""
RAISED = re.compile(r"2\^\((.*?)\)")  # an exponent that is written as a sum
ASCII_MINUS = re.compile(r"(?<![\w)])-(?=\d|Inf|\()|(?<=e)-(?=\d)")


def wrapped(*parts: str) -> str:
    """The parts, in a <div> that brings its style and touches nothing outside."""
    return embedded("\n".join(parts), STYLE, "explained")


def fragment(title: str, notes: list[str], lines: list[Line], formats: dict[str, Rows]) -> str:
    """An explanation: its title, how it was read, a table of all formats, and a card for each."""
    return wrapped(
        f"<h1>{escape(title)}</h1>",
        f'<p class="small">{escape(" ".join(notes))}</p>',
        all_formats(lines),
        f'<p class="small">In the bits: {legend()}. A number after ≈ is rounded correctly; '
        "all others are exact.</p>",
        *(card(name, rows) for name, rows in formats.items()),
    )


def all_formats(lines: list[Line]) -> str:
    """A line of each format, under their heads."""
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in HEADS)
    rows = "\n".join(in_line(first, *rest) for first, *rest in lines)
    return (
        '<div class="scroll" role="group" tabindex="0" aria-label="in each format">\n'
        f'<table class="formats">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n'
        "</table>\n</div>"
    )


def in_line(name: tuple[str, str], *cells: tuple[str, str]) -> str:
    """One of them."""
    content = "".join(f"<td>{piece(*cell)}</td>" for cell in cells)
    return f'<tr><th scope="row">{piece(*name)}</th>{content}</tr>'


def legend() -> str:
    """What the three colours of the bits are."""
    return ", ".join(f'<span class="{f}">{f}</span>' for f in ("sign", "exponent", "mantissa"))


def card(name: str, rows: Rows) -> str:
    """One format."""
    lines = "\n".join(row(label, pieces) for label, pieces in rows)
    table = f"<table>\n<tbody>\n{lines}\n</tbody>\n</table>"
    return f'<section class="format">\n<h2>{escape(name)}</h2>\n{table}\n</section>'


def row(label: str, pieces: Pieces) -> str:
    """A label and what belongs to it; the verdict stands out."""
    kind = ' class="status"' if label == "status" else ""
    cell = "" if label == "status" else ' class="line"'
    content = "".join(piece(role, text) for role, text in pieces)
    content = RAISED.sub(r"2<sup>\1</sup>", content)
    return f'<tr{kind}><th scope="row">{escape(label)}</th><td{cell}>{content}</td></tr>'


def piece(role: str, text: str) -> str:
    """A text in its colour, with the signs that a terminal may lack."""
    shown = escape(typeset(text))
    return f'<span class="{role}">{shown}</span>' if role and text else shown


def typeset(text: str) -> str:
    """≈ for ~, × and raised exponents, a real minus sign before numbers."""
    text = raised(text)
    text = text.replace("~", "≈").replace(" x ", " × ")
    return ASCII_MINUS.sub(MINUS, text)


# ---- tensors ------------------------------------------------------------------------------------


def tensor_table(rows: list[tuple[str, str]], values: str) -> str:
    """A tensor: what it is, where its numbers lie, and the numbers."""
    lines = "\n".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
        for name, value in rows
    )
    table = f"<table>\n<tbody>\n{lines}\n</tbody>\n</table>"
    return wrapped(f'<section class="format">\n{table}\n<pre>{escape(values)}</pre>\n</section>')
