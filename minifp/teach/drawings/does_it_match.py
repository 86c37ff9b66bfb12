"""Lesson 11: differences pair by pair against the margin, and how fast runs part."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minifp.lab.conclusions.claims import metric_differences
from minifp.report.drawing import GRID, INK, MUTED, STYLES


def differences_and_distances(comparison: Any, names: Mapping[str, str]) -> Any:
    """A figure of two panels, one above the other. names: of the arms beside the baseline, by their
    texts, as they are to be called."""
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(4.8, 6.2), layout="constrained")
    draw_differences(above, comparison, names)
    draw_distances(below, comparison, names)
    return figure


def draw_differences(axes: Any, comparison: Any, names: Mapping[str, str]) -> None:
    """A row for each arm: the difference of each seed, their mean, and its 90% interval."""
    margin = comparison.task.margin
    axes.axvspan(-margin, margin, color=GRID, alpha=0.6, lw=0, label="the margin")
    axes.axvline(0, color=MUTED, lw=0.8)
    for y, (arm, style) in enumerate(zip(names, STYLES[1:])):
        row, differences = comparison.row(arm), metric_differences(comparison, arm)
        levels = y - 0.16 - 0.06 * ranks_of_equals(differences)  # equal ones above each other
        axes.plot(differences, levels, style.marker, color=style.color, ms=4, alpha=0.75)
        axes.plot([row.low, row.high], [y + 0.1] * 2, color=style.color, lw=2.5)
        axes.plot(row.difference, y + 0.1, "|", color=INK, ms=11, mew=1.8)
    axes.set_yticks(range(len(names)), names.values())
    axes.grid(False, axis="y")
    words = f"points from float32; bar: 90% interval, grey: ±{margin:g}"
    axes.set(ylim=(len(names) - 0.4, -0.8), xlabel=words, title="Where runs end, seed by seed")


def ranks_of_equals(values: list[float]) -> np.ndarray:
    """How many numbers before each are equal to it, but for rounding."""
    x = np.round(values, 9)
    return np.array([int((x[:i] == x[i]).sum()) for i in range(len(x))])


def draw_distances(axes: Any, comparison: Any, names: Mapping[str, str]) -> None:
    """How far weights are from the baseline's run of the same seed: a thin line for each seed, and
    the median."""
    distances = comparison.distances()
    for arm, style in zip(names, STYLES[1:]):
        mine = [d for d in distances if d.precision == arm]
        for d in mine:
            axes.plot(d.steps, d.weights, color=style.color, lw=0.5, alpha=0.35)
        middle = np.median([d.weights for d in mine], axis=0)
        marks = {"marker": style.marker, "ms": 4, "markevery": 4}
        axes.plot(mine[0].steps, middle, label=names[arm], **marks, **style.look)
    ratio = "|w - float32's w| / |float32's w|"
    axes.set(xscale="log", yscale="log", xlabel="step", ylabel=ratio)
    axes.set_title("How runs part on the way")
    axes.legend(loc="center left", bbox_to_anchor=(0, 0.42), fontsize=8)
