"""Lesson 2: weights and their updates, and the line below which float16 loses an update."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from minifp.numerics.number_format import FORMATS
from minifp.report.drawing import GRID, INK, STYLES

MOST = 1200  # dots of one step
COLUMNS = ("step", "weights from", "how many", "median update", "lost, %")
Pairs = Mapping[str, tuple[np.ndarray, np.ndarray]]  # by step: weights and updates, (n) each


def is_lost(w: np.ndarray, u: np.ndarray) -> np.ndarray:
    """For each update that is not 0, whether float16 would lose it: bool, shorter than u."""
    w, u = w[u != 0].astype(np.float16), u[u != 0]
    return (w.astype(np.float64) - u).astype(np.float16) == w


def table(pairs: Pairs) -> list[tuple]:
    """What the figure shows, by COLUMNS: a row for each step and power of two of the weights."""
    rows = []
    for step, (w, u) in pairs.items():
        w, u = w[u != 0], u[u != 0]
        binade = np.frexp(w)[1] - 1
        for e in np.unique(binade):
            of = binade == e
            lost = 100 * float(is_lost(w[of], u[of]).mean())
            rows.append((step, f"2^{e}", int(of.sum()), float(np.median(np.abs(u[of]))), lost))
    return rows


def phase_diagram(pairs: Pairs) -> Any:
    """The figure: a dot for a weight and its update, on a map of what is kept and what is lost."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4.6), layout="constrained")
    axes = figure.add_subplot()
    draw_regions(axes)
    for (step, (w, u)), style in zip(pairs.items(), STYLES[1:]):
        every = np.flatnonzero(u)[:: max(1, np.count_nonzero(u) // MOST)]
        w, u = np.log2(np.abs(w[every])), np.log2(np.abs(u[every]))
        axes.plot(w, u, style.marker, color=style.color, ms=2.4, alpha=0.5, mew=0, label=step)
    axes.set(xlim=(-16, 1), ylim=(-30, -8), xlabel="weight, log2", ylabel="update, log2")
    axes.set_yticks(range(-28, -7, 4))
    axes.grid(False)
    axes.legend(loc="upper left", markerscale=3)
    return figure


def draw_regions(axes: Any) -> None:
    """The staircase of half a gap, hatched below, and the two ratios that it runs between: a
    smaller update is lost, up or down but at powers of two, whose gap below is half as wide."""
    e = np.arange(-17, 3)
    stairs = np.log2(FORMATS["float16"].ulp(2.0**e) / 2)
    look = {"facecolor": "white", "edgecolor": GRID, "hatch": "////", "lw": 0}
    axes.fill_between(e, stairs, -40, step="post", **look)
    axes.step(e, stairs, where="post", color=INK, lw=1.4)
    for ratio in (2048, 4096):
        axes.plot(e, e - np.log2(ratio), color=INK, lw=0.8, ls=(0, (1, 2)))
    box = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    axes.text(-0.4, -10.4, "weight / 2048", fontsize=8, color=INK, ha="right")
    axes.text(0.8, -15.4, "weight / 4096", fontsize=8, color=INK, ha="right", bbox=box)
    axes.text(-15.6, -17, "kept", fontsize=11, weight="bold", color=INK)
    axes.text(-1, -28, "lost", fontsize=11, weight="bold", color=INK, ha="right", bbox=box)
