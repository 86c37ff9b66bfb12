"""Lesson 1: how far apart the numbers of a format lie, at each magnitude."""

from typing import Any

import numpy as np

from minifp.numerics.number_format import FORMATS, Format
from minifp.report.drawing import INK, MUTED, STYLES

SHOWN = ("float32", "float16", "bfloat16")
RANGE = (-34, 22)  # of the magnitudes, log2
COLUMNS = ("magnitude from", *(f"gap in {name}" for name in SHOWN))


def gap(format: Format, exponent: int) -> int | None:
    """Log2 of the gap between numbers from 2^exponent on; None where the format has none there."""
    inside = format.smallest_subnormal <= 2.0**exponent <= format.max
    return int(np.log2(format.ulp(2.0**exponent))) if inside else None


def table() -> list[tuple]:
    """What the figure shows, by COLUMNS: a row for each binade."""
    return [(f"2^{e}", *(words(gap(FORMATS[name], e)) for name in SHOWN)) for e in range(*RANGE)]


def words(exponent: int | None) -> str:
    """A gap, or that there are no numbers."""
    return "none" if exponent is None else f"2^{exponent}"


def staircase() -> Any:
    """The figure: a staircase for each format, with the floor and the wall of float16."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4.4), layout="constrained")
    axes = figure.add_subplot()
    for name, style in zip(SHOWN, STYLES):
        all_gaps = {e: gap(FORMATS[name], e) for e in range(RANGE[0], RANGE[1] + 1)}
        gaps = {e: g for e, g in all_gaps.items() if g is not None}
        edges = [*gaps, max(gaps) + 1]
        axes.stairs([*gaps.values()], edges, baseline=None, label=name, **style.look)
    label_ends(axes)
    axes.set(xlim=RANGE, xlabel="magnitude of a number, log2", ylabel="gap to the next one, log2")
    axes.set_xticks(range(-32, RANGE[1], 8))
    axes.set_title("The gap doubles with each power of two")
    axes.legend(loc="upper left")
    return figure


def label_ends(axes: Any) -> None:
    """Words at the two ends of float16's staircase."""
    color = STYLES[1].color
    axes.vlines(16, -36, 5.5, color=color, lw=1.2, ls=(0, (1, 2)))
    axes.text(16.5, -36, "65,504\nis the last", color=INK, fontsize=8, va="bottom")
    axes.vlines(-24, -32, -24, color=color, lw=1.2, ls=(0, (1, 2)))
    axes.text(-24.5, -23.5, "$2^{-24}$ is\nthe first", color=INK, fontsize=8, va="top", ha="right")
    line = {"arrowstyle": "-", "color": MUTED, "lw": 0.8}
    words = "subnormal numbers:\nthe gap stays $2^{-24}$"
    axes.annotate(words, (-18, -24), (-33, -13), fontsize=8, color=INK, arrowprops=line)
