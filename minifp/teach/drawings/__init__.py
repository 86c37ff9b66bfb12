"""Pictures of lessons that are too long for a cell, a file for each lesson: numbers come in, a
figure of matplotlib goes out, which `teach.show` displays."""

from typing import Any

from minifp.report.drawing import MUTED

FRACTION_ACROSS = ("axes fraction", "data")  # where x is a share of the axes' width


def note(axes: Any, text: str, at: tuple, offset: tuple, **look: Any) -> None:
    """Small words at a place of the axes, moved by an offset in points."""
    small = {"textcoords": "offset points", "fontsize": 7.5, "color": MUTED}
    axes.annotate(text, at, offset, **small | look)
