"""Lesson 7: a loss scale over the steps of a run, in three lanes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from minifp.report.drawing import INK, STYLES
from minifp.teach.drawings import FRACTION_ACROSS, note

LARGEST = 65504.0  # of float16
LANES = (3, 1.1, 2.4)  # their heights
BEATS = 12  # at most so many rows of the table for each run


class Run(NamedTuple):
    """What a run has measured, step by step.

    name: of its loss scale. scale: S. skipped: whether the step was. stored: max |S g| as stored,
    Inf where it overflowed.
    """

    name: str
    scale: Sequence[float]
    skipped: Sequence[bool]
    stored: Sequence[float]


def timeline(runs: Sequence[Run]) -> Any:
    """A figure: log2 S of all runs, their skipped steps, and max |S g| of the first."""
    import matplotlib.pyplot as plt

    look = {"figsize": (4.8, 6.0), "layout": "constrained"}
    figure, lanes = plt.subplots(3, 1, sharex=True, height_ratios=LANES, **look)
    draw_scales(lanes[0], runs)
    draw_skips(lanes[1], runs)
    draw_stored(lanes[2], runs[0])
    lanes[2].set_xlabel("step")
    return figure


def draw_scales(axes: Any, runs: Sequence[Run]) -> None:
    """S of each run, as stairs."""
    for run, style in zip(runs, STYLES[1:]):
        steps = np.arange(1, len(run.scale) + 1)
        axes.step(steps, np.log2(run.scale), where="post", label=run.name, **style.look)
    axes.set(ylabel="log2 S", title="The loss scale")
    axes.legend(fontsize=8, loc="best", handlelength=2.4)


def draw_skips(axes: Any, runs: Sequence[Run]) -> None:
    """A tick for each skipped step, a row for each run."""
    for row, (run, style) in enumerate(zip(runs, STYLES[1:])):
        steps = 1 + np.flatnonzero(run.skipped)
        axes.plot(steps, np.full(len(steps), row), "|", color=style.color, ms=9, mew=1.6)
    axes.set_yticks(range(len(runs)), [str(sum(run.skipped)) for run in runs])
    axes.set(ylabel="how many", ylim=(len(runs) - 0.4, -0.6), title="Skipped steps")
    axes.grid(False, axis="y")


def draw_stored(axes: Any, run: Run) -> None:
    """max |S g| against float16's largest number; what overflowed stands on top of it."""
    step, stored = np.arange(1, len(run.stored) + 1), np.asarray(run.stored, float)
    is_finite, style = np.isfinite(stored) & (stored > 0), STYLES[1]
    axes.plot(step[is_finite], np.log2(stored[is_finite]), ".", color=style.color, ms=2.5)
    top = np.log2(LARGEST)
    above = np.full((~is_finite).sum(), top + 2)
    axes.plot(step[~is_finite], above, "^", color=INK, ms=5, clip_on=False)
    axes.axhline(top, color=INK, lw=1, ls="--")
    look = {"xycoords": FRACTION_ACROSS, "ha": "right", "va": "bottom"}
    note(axes, "65504; above it: Inf", (1, top), (-2, 2), **look)
    axes.set_ylim(top=top + 2.8)
    axes.set(ylabel="log2 max |S g|", title=f"The largest stored gradient ({run.name})")


COLUMNS = ("loss scale", "step", "log2 S", "what happened")


def table(runs: Sequence[Run]) -> list[tuple]:
    """The steps at which S changed, of each run: the first so many of them, and how it ended."""
    return [row for run in runs for row in rows_of(run)]


def rows_of(run: Run) -> list[tuple]:
    """Of one run."""
    steps = range(1, len(run.scale))
    changed = [i for i in steps if run.scale[i] != run.scale[i - 1]]
    rows = [(run.name, 1, float(np.log2(run.scale[0])), "begins")]
    for i in changed[:BEATS]:
        why = "overflow in the step before: halved" if run.skipped[i - 1] else "set anew"
        rows.append((run.name, i + 1, float(np.log2(run.scale[i])), why))
    last, skips = len(run.scale), sum(run.skipped)
    return [*rows, (run.name, last, float(np.log2(run.scale[-1])), f"ends; {skips} steps skipped")]
