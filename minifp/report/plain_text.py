"""Plain text for terminals: paragraphs and columns, at most 100 columns wide."""

import textwrap
from collections.abc import Iterable, Sequence

from minifp.report.pieces import Piece, Style, broken, painted, pieces_of, plain

WIDTH = 100
GAP = "  "  # between columns
NARROW = 20  # characters, fewer than which no column is broken into lines


def fill(text: str, hang: str = "") -> str:
    """A paragraph of at most WIDTH columns; `hang` stands before all lines but the first."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )


def entries(rows: Iterable[tuple[str, str]], style: Style = plain) -> list[str]:
    """Lines of names with what is said of them beside them, in a column. style: of names ("muted")
    and of what is in Pieces."""
    rows = [*rows]
    width = max((len(name) for name, _ in rows), default=0)
    lines = []
    for name, text in rows:
        head = f"{GAP}{name:{width}}{GAP}"
        first, *rest = broken(text, WIDTH - len(head))
        lines.append(style(head, "muted") + painted(first, style))
        lines += [" " * len(head) + painted(line, style) for line in rest]
    return [line.rstrip() for line in lines]


def columns(
    rows: Sequence[Sequence[str]], text_columns: tuple[int, ...] = (0,), style: Style = plain
) -> str:
    """Rows under their heads, which come first; `text_columns` stand left, numbers right. style: of
    what is in Pieces.

    The first cell of a row may have several lines, and the last one gets several where the row
    would be too wide, if it stands left and is not NARROW.
    """
    widths = [max(len(line) for cell in c for line in cell.split("\n")) for c in zip(*rows)]
    last, room = len(widths) - 1, WIDTH - sum(widths[:-1]) - len(GAP) * (len(widths) - 1)
    lines: list[list[Piece]] = []
    for row in rows:
        line: list[Piece] = []
        further = [[("", text)] for text in row[0].split("\n")[1:]]
        for i, (cell, width) in enumerate(zip(row, widths)):
            text = cell.split("\n")[0] if "\n" in cell else cell
            pieces, spaces = [*pieces_of(text)], [("", " " * (width - len(text)))]
            if i == last and i in text_columns and NARROW <= room < len(text):
                pieces, *more = broken(text, room)
                further += [[("", " " * (WIDTH - room)), *rest] for rest in more]
            line += [("", GAP)] * (i > 0)
            line += pieces + spaces if i in text_columns else spaces + pieces
        lines += [line, *further]
    dashes = "-" * max(len(painted(line, plain).rstrip()) for line in lines)
    lines.insert(1, [("", dashes)])
    return "\n".join(painted(line, style).rstrip() for line in lines)
