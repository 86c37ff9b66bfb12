"""Lesson 9: what accuracy loses where one operation works in another format."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from minifp.report.drawing import GRID, INK, PAPER, STYLES

WORST = 60.0  # points of accuracy at which a cell has its full colour
LEAST = GRID + "80"  # the colour of a cell that loses nothing: half transparent
SEEN = 5.0  # points from which on a cell is written in bold letters


def heat_map(columns: Sequence[str], changes: Mapping[str, Sequence[float]]) -> Any:
    """A figure with a cell for each operation and format, which says its number.

    changes: by operation, the accuracy in each format less that in the first, in points.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("loss", [LEAST, STYLES[2].color])
    lost = -np.array(list(changes.values()))
    figure, axes = plt.subplots(figsize=(4.8, 0.9 + 0.44 * len(changes)), layout="constrained")
    axes.imshow(lost, cmap=colors, vmin=0, vmax=WORST, aspect="auto")
    for y, x in np.ndindex(lost.shape):
        write(axes, x, y, -float(lost[y, x]))
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(changes)), list(changes))
    axes.tick_params(length=0, labelcolor=INK)
    axes.xaxis.tick_top()
    axes.set_title("Points of accuracy, less float32's")
    axes.grid(False)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(changes) + 1) - 0.5, minor=True)
    axes.grid(True, which="minor", lw=2, color=PAPER)
    for edge in axes.spines.values():
        edge.set_visible(False)
    return figure


def write(axes: Any, x: int, y: int, change: float) -> None:
    """The number of one cell, bold where accuracy has fallen."""
    fallen = change < -SEEN
    text = f"{change:+.1f}".replace("-", "\N{MINUS SIGN}") if round(change, 1) else "0"
    weight = "bold" if fallen else "normal"
    axes.text(x, y, text, ha="center", va="center", color=INK, fontweight=weight)
