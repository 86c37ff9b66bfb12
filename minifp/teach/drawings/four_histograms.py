"""Lesson 4: where the numbers of each layer lie, with the window of float16 and a loss scale."""

from dataclasses import dataclass
from typing import Any

from minifp.report.drawing import GRID, INK, MUTED, STYLES
from minifp.scope.findings import Findings
from minifp.scope.histogram import Histogram
from minifp.scope.observed import GRADIENTS, KINDS

RANGE = (-44, 18)  # of the axis, log2
SUBNORMAL, ZERO, WALL = -14, -25, 16  # of float16: where normal numbers begin, and its ends
KEPT, LOST = STYLES[1].color, STYLES[2].color
LETTERS = 7.5  # points
COLUMNS = ("kind", "layer", "exact zeros, %", "lost at S = 1, %", "lost at this S, %")


@dataclass(frozen=True)
class Row:
    """One ridge. shift: log2 of what its numbers are multiplied by."""

    kind: str
    layer: str
    histogram: Histogram
    shift: int

    @property
    def lost(self) -> float:
        """Percent of the numbers that are not 0."""
        return 100 * self.histogram.lost(self.shift)


def rows_of(scope: Findings, log2_S: int) -> list[Row]:
    """A row for each layer of each kind, of all steps that were looked at in float32; biases, of
    which there are few numbers, are left out. Gradients are multiplied by 2^log2_S."""
    return [
        Row(kind, layer, scope.total(kind, layer), log2_S if kind in GRADIENTS else 0)
        for kind in KINDS
        for layer in scope.layers(kind)
        if "bias" not in layer
    ]


def lost_percent(scope: Findings, log2_S: int) -> float:
    """How much of all gradients that are not 0 float16 would lose, in percent."""
    histograms = [row.histogram for row in rows_of(scope, log2_S) if row.kind in GRADIENTS]
    return 100 * sum(histograms, start=Histogram()).lost(log2_S)


def table(rows: list[Row]) -> list[tuple]:
    """What the figure shows, by COLUMNS."""
    shares = [(100 * r.histogram.zeros / r.histogram.total, 100 * r.histogram.lost()) for r in rows]
    return [(row.kind, row.layer, *of, row.lost) for row, of in zip(rows, shares)]


def ridges(rows: list[Row], title: str) -> Any:
    """The figure: a ridge a row; what float16 loses is hatched, and its share stands beside it."""
    from matplotlib.figure import Figure

    heads = sorted({row.kind for row in rows}, key=KINDS.index)
    figure = Figure(figsize=(5.2, 0.3 * (len(rows) + len(heads)) + 1.1))
    axes = figure.add_axes((0.25, 0.09, 0.63, 0.85))
    window(axes)
    place, places = 0.0, {}
    for kind in heads:
        axes.text(RANGE[0], -place + 0.15, kind, fontsize=LETTERS + 1, weight="bold", color=INK)
        place += 1
        for row in (row for row in rows if row.kind == kind):
            ridge(axes, row, -place)
            places[-place] = row.layer
            place += 1
    axes.set_yticks([*places], [*places.values()], fontsize=LETTERS)
    axes.set(xlim=RANGE, ylim=(-place + 0.7, 1), xticks=range(-40, 17, 8))
    axes.grid(False)
    axes.spines[["left", "top", "right"]].set_visible(False)
    axes.set_xlabel("log2 of the magnitude, as stored")
    figure.text(0.02, 0.985, title, va="top", weight="bold", fontsize=10)
    right = axes.get_yaxis_transform()
    axes.text(1.02, 0.15, "lost", transform=right, fontsize=LETTERS + 1, weight="bold", color=INK)
    return figure


def window(axes):
    """What float16 holds: normal numbers, and subnormal ones, which have fewer bits. What lies
    between 2^-25 and the smallest of them, 2^-24, is rounded up to it."""
    axes.axvspan(SUBNORMAL, WALL, color=GRID, alpha=0.55, lw=0)
    axes.axvspan(ZERO, SUBNORMAL, color=GRID, alpha=0.28, lw=0)
    for x, says in ((ZERO, "$2^{-25}$"), (SUBNORMAL, "$2^{-14}$"), (WALL, "65504")):
        axes.axvline(x, color=MUTED, lw=0.8, ls=(0, (3, 2)))
        axes.text(x, 1.02, says, ha="center", va="bottom", fontsize=LETTERS, color=MUTED)


def ridge(axes, row: Row, base: float):
    """One histogram on its line, the highest bin 0.85 high."""
    counts = row.histogram.shifted(row.shift).exponents
    most = max(counts.values(), default=1)
    for fits, color, hatch in ((True, KEPT, None), (False, LOST, "////")):
        some = {e: n for e, n in counts.items() if (ZERO <= e < WALL) == fits}
        heights = [0.85 * n / most for n in some.values()]
        look = {"color": color if fits else "white", "edgecolor": color, "lw": 0.4, "hatch": hatch}
        axes.bar([e + 0.5 for e in some], heights, 1.0, base, **look)
    axes.axhline(base, color=MUTED, lw=0.5)
    share = "0" if row.lost == 0 else "<0.1%" if row.lost < 0.1 else f"{row.lost:.1f}%"
    right = axes.get_yaxis_transform()
    axes.text(1.02, base + 0.1, share, transform=right, fontsize=LETTERS, color=INK)
