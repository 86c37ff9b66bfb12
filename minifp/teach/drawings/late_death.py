"""Lesson 6: losses of runs with different loss scales, above the share of their gradients that is
zero."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minifp.report.drawing import INK, STYLES

COLUMNS = ("run", "lowest loss", "at step", "last loss", "zeros at first, %", "zeros at last, %")
LETTERS = 8  # points


@dataclass(frozen=True)
class Curve:
    """What was seen of a run: at some steps, the loss on held-out text, in nats, and the share of
    all activation gradients that were stored as 0, from 0 to 1."""

    steps: list[int]
    losses: list[float]
    zeros: list[float]


def table(curves: Mapping[str, Curve]) -> list[tuple]:
    """What the figure shows, by COLUMNS."""
    rows: list[tuple] = []
    for name, curve in curves.items():
        lowest = min(curve.losses)
        at = curve.steps[curve.losses.index(lowest)]
        first, last = (100 * curve.zeros[i] for i in (0, -1))
        rows.append((name, lowest, at, curve.losses[-1], first, last))
    return rows


def losses_and_zeros(curves: Mapping[str, Curve]) -> Any:
    """The figure, on one axis of steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 5.0), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    for (name, curve), style in zip(curves.items(), STYLES):
        marks = {"marker": style.marker, "ms": 4, "markevery": max(1, len(curve.steps) // 6)}
        look: dict[str, Any] = {**style.look, **marks, "label": name}
        above.plot(curve.steps, curve.losses, **look)
        below.plot(curve.steps, [100 * share for share in curve.zeros], **look)
    above.set(ylabel="loss on held-out text (nats)")
    above.legend(ncols=3, fontsize=LETTERS, loc="lower left", bbox_to_anchor=(0, 1), labelcolor=INK)
    below.set(xlabel="step", ylabel="gradients that are 0 (%)", ylim=(-4, 104))
    return figure
