"""Charts with a row for each thing: means with their intervals, or bars.

What is in them is data; `draw` draws it by matplotlib.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from minifp.report import look as looks
from minifp.report import words
from minifp.report.drawing import GRID, INK, MUTED, PAPER, Style, points, width_of

NAME = 8.5  # points, on a screen, of what stands above the marks of a row
SPACE = 0.45  # inches of a picture beside its axes, and between a name and what stands at the right
LINE, MARK, BAR = 0.18, 0.2, 0.17  # inches: of a line of text, from mark to mark, of a bar
FAR = 8  # margins from 0 at which a mark becomes an arrow


@dataclass(frozen=True)
class Mark:
    """Where it stands, None for nowhere, and how it looks; low, high: the ends of its interval.
    each: the single values that it is the mean of. is_ring: only its edge, without them."""

    value: float | None
    style: Style
    low: float | None = None
    high: float | None = None
    each: Sequence[float] = ()
    is_ring: bool = False


@dataclass(frozen=True)
class Row:
    """A name with its marks below it, and what is worth a number at the right."""

    name: str
    marks: Sequence[Mark]
    text: str = ""


@dataclass(frozen=True)
class Rows:
    """One chart.

    x: what the axis is. said: the chart in words; without it, the texts of the rows. note: how to
    read it. margin: differences that are too small to matter, shaded; a mark far outside of it is
    an arrow. is_bars: bars from 0 instead of marks; is_stacked: one on the other. level: where
    nothing differs. legend: the Style of each name, where a row has several marks.
    """

    name: str
    title: str
    rows: Sequence[Row]
    x: str = ""
    said: str = ""
    note: str = ""
    margin: float = 0.0
    is_bars: bool = False
    is_stacked: bool = False
    level: float | None = None
    legend: Mapping[str, Style] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """For those who cannot see it."""
        return self.said or "; ".join(f"{row.name} {row.text}" for row in self.rows) + "."


def height(chart: Rows, wide: float, shrunk: float = 1.0) -> float:
    """Inches of a chart that is so wide."""
    row = height_of_row(chart, lines_of(chart, wide, NAME * shrunk))
    return (0.75 + row * len(chart.rows)) * shrunk


def height_of_row(chart: Rows, lines: int) -> float:
    """Inches of each row, under so many lines of text."""
    most = max((len(row.marks) for row in chart.rows), default=1)
    return 0.18 + LINE * lines + MARK * (1 if chart.is_stacked else most)


def lines_of(chart: Rows, wide: float, size: float) -> int:
    """1 where each name fits beside its text into a picture of so many inches; else 2."""
    fits = looks.letters(wide - 2 * SPACE, size)
    return 1 if all(len(row.name) + len(row.text) <= fits for row in chart.rows) else 2


# ---- by matplotlib -------------------------------------------------------------------------------


def draw(axes, chart: Rows) -> None:
    """Rows from the top downward, without a y axis."""
    lines = lines_of(chart, width_of(axes), points(NAME))
    high = height_of_row(chart, lines)
    axes.set_ylim(len(chart.rows) - 0.45, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(not chart.margin, axis="x")
    axes.grid(False, axis="y")
    axes.set_xlabel(chart.x)
    reach = set_range(axes, chart)
    for i, row in enumerate(chart.rows):
        draw_label(axes, row, i - 0.5, high, lines, bool(chart.margin))
        first = i - 0.5 + (0.11 + LINE * lines) / high
        if chart.is_bars:
            draw_bars(axes, chart, row, first, high)
            continue
        for j, mark in enumerate(row.marks):
            draw_mark(axes, mark, first + j * MARK / high, 0.11 / high, reach)


def set_range(axes, chart: Rows) -> float:
    """The range of values; how far from 0 marks are drawn. Shade the margin."""
    marks = [mark for row in chart.rows for mark in row.marks]
    ends = (v for mark in marks for v in (mark.value, mark.low, mark.high))
    values = [abs(v) for v in ends if v is not None and math.isfinite(v)]
    for level in {chart.level, 0.0 if chart.margin else None} - {None}:
        axes.axvline(level, color=MUTED, linewidth=0.8, zorder=1)
    if not chart.margin:
        axes.margins(x=0.06)
        if chart.is_bars:
            axes.set_xlim(0, right_end(chart))
        return math.inf
    near = [v for v in values if v < FAR * chart.margin]
    reach = 1.15 * max([2 * chart.margin, *near])
    axes.set_xlim(-reach, reach)
    look = {"color": GRID, "alpha": 0.45, "linewidth": 0, "zorder": 0}
    axes.axvspan(-chart.margin, chart.margin, **look)
    return reach


def right_end(chart: Rows) -> float:
    """Where the axis of bars ends."""
    whole = sum if chart.is_stacked else max
    ends = [whole([mark.value or 0.0 for mark in row.marks] or [0.0]) for row in chart.rows]
    return 1.02 * max([*ends, chart.level or 0.0]) or 1.0


def draw_label(axes, row: Row, top: float, high: float, lines: int, is_bare: bool) -> None:
    """The row's name above its marks, and its text at the right, or below it."""
    room = width_of(axes) - SPACE
    look = {"transform": axes.get_yaxis_transform(), "va": "center", "zorder": 6}
    if not is_bare:  # over the lines of the grid
        look["bbox"] = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.2}
    text = words.typeset(row.text)
    sizes = [looks.fitting(t, room, points(NAME)) for t in (row.name, text)]
    second = top + (0.1 + LINE * (lines - 1)) / high
    axes.text(0.0, top + 0.1 / high, row.name, color=INK, fontsize=sizes[0], **look)
    axes.text(1.0, second, text, color=MUTED, fontsize=sizes[1], ha="right", **look)


def draw_bars(axes, chart: Rows, row: Row, y: float, high: float) -> None:
    """A bar for each mark, one below the other or one on the other."""
    left = 0.0
    for mark in row.marks:
        look = {"color": mark.style.color, "edgecolor": PAPER, "linewidth": 0.7, "zorder": 3}
        axes.barh(y, mark.value or 0.0, BAR / high, left=left, **look)
        if chart.is_stacked:
            left += mark.value or 0.0
        else:
            y += MARK / high


def draw_mark(axes, mark: Mark, y: float, below: float, reach: float) -> None:
    """A mean with its interval, and below it single values; an arrow where it is out of reach."""
    value, style = mark.value, mark.style
    if not words.is_number(value):
        return
    assert value is not None
    if mark.is_ring:
        at = max(-reach, min(reach, value))
        axes.plot(at, y, "o", markerfacecolor="none", color=style.color, markersize=6)
        return
    if abs(value) > reach:
        arrow = 5 if value > 0 else 4
        at = math.copysign(0.985 * reach, value)
        axes.plot(at, y, marker=arrow, color=style.color, markersize=10, zorder=5)
        return
    if words.is_number(mark.low):
        low, high = mark.low or 0.0, mark.high or 0.0
        ends = max(low, -reach), min(high, reach)
        axes.hlines(y, *ends, color=style.color, linewidth=2.2, zorder=4)
    edge = {"markersize": 6.5, "markeredgecolor": PAPER, "markeredgewidth": 0.7}
    axes.plot(value, y, marker=style.marker, color=style.color, zorder=5, **edge)
    inside = [v for v in mark.each if abs(v) <= reach]
    dots = {"linestyle": "none", "marker": style.marker, "markersize": 4, "color": style.color}
    axes.plot(inside, [y + below] * len(inside), alpha=0.5, markeredgewidth=0, zorder=3, **dots)
