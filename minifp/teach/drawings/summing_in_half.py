"""Lesson 8: the error of a dot product over its length, and a loss that sums in float16."""

from collections.abc import Mapping, Sequence
from typing import Any

from minifp.report.drawing import MUTED, PAPER, STYLES
from minifp.teach.drawings import FRACTION_ACROSS, note

INSET = (0.2, 0.61, 0.4, 0.3)  # left, bottom, width, height, as shares of the axes
ROUNDING = 2.0**-11  # at most, of the result as it is stored in float16


def errors_and_losses(
    lengths: Sequence[int],
    errors: Mapping[str, Sequence[float]],
    losses: Mapping[str, tuple[float, float]],
) -> Any:
    """A figure of one panel with a smaller one in it.

    lengths: K. errors: of each way to sum, the mean relative error for each K. losses: of an
    untrained model, by its number of words: summed in float16, and right.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(4.8, 4.6), layout="constrained")
    draw_errors(axes, lengths, errors)
    draw_losses(axes.inset_axes(INSET), losses)
    return figure


def draw_errors(axes: Any, lengths: Sequence[int], errors: Mapping[str, Sequence[float]]) -> None:
    """A line for each way to sum."""
    for (name, of_lengths), style in zip(errors.items(), STYLES[1:]):
        axes.plot(lengths, of_lengths, label=name, marker=style.marker, ms=4, **style.look)
    axes.axhline(ROUNDING, color=MUTED, lw=0.8, ls=":")
    look = {"xycoords": FRACTION_ACROSS, "ha": "right"}
    note(axes, "half a unit in the last place", (1, ROUNDING), (-2, 2), **look)
    axes.set_xscale("log", base=2)
    axes.set(yscale="log", ylim=(5e-5, 3), xlabel="K, numbers in the sum", ylabel="relative error")
    axes.set_title("A dot product, summed in three ways")
    below = {"loc": "upper center", "bbox_to_anchor": (0.46, -0.16)}
    axes.legend(fontsize=8, ncols=3, columnspacing=1.2, **below)


def draw_losses(axes: Any, losses: Mapping[str, tuple[float, float]]) -> None:
    """For each vocabulary, what it should be and what float16's sum makes of it."""
    half, single = STYLES[1], STYLES[3]
    for y, pair in enumerate(losses.values()):
        axes.plot(pair, [y, y], color=MUTED, lw=1, zorder=1)
        for x, style in zip(pair, (half, single)):
            axes.plot(x, y, style.marker, color=style.color, ms=5)
            note(axes, f"{x:.2f}", (x, y), (0, 5), ha="center", fontsize=7, color=None)
    axes.set_yticks(range(len(losses)), list(losses), fontsize=7)
    axes.set(xlim=(6.9, 11.2), ylim=(len(losses) - 0.5, -0.8))
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(False, axis="y")
    axes.set_facecolor(PAPER)
    axes.set_title("An untrained model's loss, by words", fontsize=8, pad=4)
