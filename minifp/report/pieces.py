"""Texts of which pieces stand out: the bits of a number, what is lost of it, a verdict.

A role is a word that a page's style and a terminal's colours know: "good", "bad", "lost", "muted",
"title", or one of the document's own; "" is as all else. Texts are ASCII, so that every terminal
shows them; a page has the signs that a terminal may lack.
"""

import re
import textwrap
from collections.abc import Callable, Iterable

from markupsafe import Markup, escape

from minifp.report.words import MINUS, raised

Piece = tuple[str, str]  # (role, text)
Style = Callable[[str, str], str]  # (text, role) with the role's colour
NEGATIVE = re.compile(r"(?<![\w)])-(?=\d|Inf|\()|(?<=e)-(?=\d)")
EXPONENT = re.compile(r"2\^\((.*?)\)")  # one that is written as a sum


class Pieces(str):
    """A text of pieces: its value is that of all."""

    pieces: tuple[Piece, ...]

    def __new__(cls, *pieces: Piece) -> "Pieces":
        """The pieces, one after the other."""
        text = super().__new__(cls, "".join(text for _, text in pieces))
        text.pieces = pieces
        return text


def pieces_of(text: str) -> tuple[Piece, ...]:
    """The pieces of a text, of which one that is no Pieces is the only one."""
    return text.pieces if isinstance(text, Pieces) else (("", text),)


def plain(text: str, role: str) -> str:
    """The Style without colours."""
    return text


def painted(pieces: Iterable[Piece], style: Style) -> str:
    """A line of pieces with their colours."""
    return "".join(style(text, role) if role and text else text for role, text in pieces)


def broken(text: str, width: int) -> list[list[Piece]]:
    """A text in lines of at most `width`, broken before pieces and, in long ones, at spaces."""
    lines: list[list[Piece]] = [[]]
    room = width
    for role, piece in pieces_of(text):
        if len(piece) > room and lines[-1]:
            lines.append([])
            room, piece = width, piece.lstrip()
        parts = textwrap.wrap(piece, width, drop_whitespace=False, break_on_hyphens=False)
        for i, part in enumerate(parts if len(piece) > width else [piece]):
            if i:
                lines.append([])
            lines[-1].append((role, part.lstrip() if len(lines) > 1 and not lines[-1] else part))
        room = width - sum(len(t) for _, t in lines[-1])
    return lines


def html(text: str) -> Markup:
    """A text of pieces in its colours, for a page."""
    spans = Markup().join(map(_span, pieces_of(text)))
    return Markup(EXPONENT.sub(r"2<sup>\1</sup>", str(spans)))


def _span(piece: Piece) -> Markup:
    role, text = piece
    signs = escape(NEGATIVE.sub(MINUS, raised(text).replace("~", "≈").replace(" x ", " × ")))
    return Markup('<span class="{}">{}</span>').format(role, signs) if role and text else signs
