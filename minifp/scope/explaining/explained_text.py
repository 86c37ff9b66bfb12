"""An explanation as lines for a terminal. What gives a role its colour is handed in."""

import textwrap
from collections.abc import Callable, Sequence

from minifp.scope.explaining.describe import Line, Pieces, Rows

WIDTH = 100
LABEL = 12
Style = Callable[[str, str], str]


def plain(text: str, role: str) -> str:
    """No colour."""
    return text


def heading(title: str, notes: list[str], style: Style) -> list[str]:
    """What is explained, and how it was read."""
    wrapped = [line for note in notes for line in textwrap.wrap(note, WIDTH)]
    return [style(title, "title"), *(style(line, "muted") for line in wrapped)]


def table(heads: Sequence[str], rows: list[Line], style: Style) -> list[str]:
    """All formats under each other, a line of each."""
    cells: list[Line] = [[("muted", head) for head in heads], *rows]
    widths = [max(len(text) for _, text in column) for column in zip(*cells)]
    lines = [""]
    for row in cells:
        padded = [(role, text.ljust(width + 2)) for (role, text), width in zip(row, widths[:-1])]
        room = WIDTH - 2 - sum(len(text) for _, text in padded)
        first, *rest = broken([row[-1]], room)
        lines.append("  " + painted([*padded, *first], style))
        lines += [" " * (WIDTH - room) + painted(line, style) for line in rest]
    return [line.rstrip() for line in lines]


def block(name: str, rows: Rows, style: Style) -> list[str]:
    """The lines of one format."""
    lines = ["", style(name, "title")]
    for label, pieces in rows:
        head = f"  {label:<{LABEL}}"
        first, *rest = broken(pieces, WIDTH - len(head))
        lines.append(style(head, "muted") + painted(first, style))
        lines += [" " * len(head) + painted(line, style) for line in rest]
    return [line.rstrip() for line in lines]


def painted(pieces: Pieces, style: Style) -> str:
    """Pieces with their colours."""
    return "".join(style(text, role) if role and text else text for role, text in pieces)


def broken(pieces: Pieces, width: int) -> list[Pieces]:
    """The pieces in lines of at most `width`, broken before pieces and, in long ones, at spaces."""
    lines: list[Pieces] = [[]]
    room = width
    for role, text in pieces:
        if len(text) > room and lines[-1]:
            lines.append([])
            room, text = width, text.lstrip()
        parts = textwrap.wrap(text, width, drop_whitespace=False) if len(text) > width else [text]
        for part in parts[:-1]:
            lines[-1].append((role, part.lstrip() if lines[-1] == [] and len(lines) > 1 else part))
            lines.append([])
        lines[-1].append((role, parts[-1].lstrip() if len(parts) > 1 else parts[-1]))
        room = width - sum(len(t) for _, t in lines[-1])
    return lines
