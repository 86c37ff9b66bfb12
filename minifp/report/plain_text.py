"""Plain text for terminals: paragraphs and columns, at most 100 columns wide."""

import textwrap
from collections.abc import Iterable

WIDTH = 100


def fill(text: str, hang: str = "") -> str:
    """A paragraph of at most WIDTH columns; `hang` stands before all lines but the first."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False
    )


def entries(rows: Iterable[tuple[str, str]], indent: str = "  ") -> list[str]:
    """Lines of names with what is said of them beside them, in a column."""
    rows = [*rows]
    width = max((len(name) for name, _ in rows), default=0)
    lines = []
    for name, said in rows:
        head = f"{indent}{name:{width}}  "
        hang = " " * len(head)
        lines += fill(head + said, hang).split("\n")
    return lines


def columns(rows: list, text_columns: tuple[int, ...] = (0,)) -> str:
    """Rows under their heads, which come first; `text_columns` stand left, numbers right.

    The first cell of a row may have several lines.
    """
    widths = [max(len(line) for cell in c for line in cell.split("\n")) for c in zip(*rows)]
    lines = []
    for first, *cells in rows:
        name, *more = first.split("\n")
        padded = [
            cell.ljust(width) if i in text_columns else cell.rjust(width)
            for i, (cell, width) in enumerate(zip([name, *cells], widths))
        ]
        lines += ["  ".join(padded).rstrip(), *more]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)
