"""Panels with a row for each precision: how each seed ended, differences, memory and time."""

import math

from minifp.lab.conclusions.claims import pairs_of
from minifp.lab.memory import KINDS
from minifp.lab.page import captions
from minifp.lab.page.precision_styles import KIND_COLORS
from minifp.report import words
from minifp.report.drawing import GRID, INK, MUTED, PAPER, STYLES

ROW = 1.0  # height of a row; its label stands above its marks


def row_axes(axes, rows):
    """Prepare axes for rows from the top downward, without a y axis."""
    axes.set_ylim((len(rows) - 1) * ROW + 0.45, -0.55)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="x")


def label_row(axes, i, name, rest=""):
    """The precision's name above its marks, and what is worth a number at the right."""
    look = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": 8.5, "zorder": 6}
    if axes.xaxis.get_gridlines()[0].get_visible():
        look["bbox"] = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.2}
    axes.text(0.0, i * ROW - 0.3, name, color=INK, **look)
    axes.text(1.0, i * ROW - 0.3, rest, color=MUTED, ha="right", **look)


def draw_final(axes, comparison, styles):
    """The final metric: a dot for each seed, a bar at the mean of those that finished."""
    rows, places = comparison.rows(), words.decimals(comparison.task.margin)
    row_axes(axes, rows)
    for i, row in enumerate(rows):
        style = styles[row.precision]
        runs = comparison.runs_of(row.precision)
        values = [r.metric for r in runs if r.finished and words.is_number(r.metric)]
        dots = {"linestyle": "none", "marker": style.marker, "markersize": 6, "color": style.color}
        axes.plot(values, [i] * len(values), markeredgecolor=PAPER, alpha=0.75, zorder=4, **dots)
        if words.is_number(row.mean):
            axes.vlines(row.mean, i - 0.17, i + 0.17, color=INK, linewidth=1.6, zorder=5)
        label_row(axes, i, row.precision, words.typeset(captions.mean_text(row, places)))
    axes.margins(x=0.06)
    axes.set_xlabel("a mark for each seed, a bar at the mean")


def draw_difference(axes, comparison, styles):
    """The difference from the baseline, seed by seed, with its interval and the margin behind it.

    A row far outside the margin is an arrow with its number, so that the others can still be read.
    """
    task, rows = comparison.task, comparison.rows()
    places = words.decimals(task.margin)
    row_axes(axes, rows)
    ends = [abs(e) for r in rows for e in (r.low, r.high, r.difference) if words.is_number(e)]
    reach = 1.15 * max([2 * task.margin, *(e for e in ends if e < 8 * task.margin)])
    axes.set_xlim(-reach, reach)
    axes.grid(False)
    axes.axvspan(-task.margin, task.margin, color=GRID, alpha=0.45, linewidth=0, zorder=0)
    axes.axvline(0, color=MUTED, linewidth=0.8, zorder=1)
    for i, row in enumerate(rows):
        is_baseline = row.precision == comparison.baseline
        text = "the baseline" if is_baseline else captions.difference_text(row, places)
        label_row(axes, i, row.precision, words.typeset(text))
        draw_difference_row(axes, comparison, row, i, styles[row.precision], reach)
    axes.set_xlabel(
        f"{task.difference_unit}; shaded: the margin of ±{words.fixed(task.margin, places)}"
    )


def draw_difference_row(axes, comparison, row, i, style, reach):
    """Dots of seeds, the interval and the mean of one row."""
    if row.precision == comparison.baseline:
        axes.plot(0, i, marker=style.marker, markersize=6, color=style.color, zorder=5)
    if not words.is_number(row.difference):
        return
    if abs(row.difference) > reach:
        x = math.copysign(0.985 * reach, row.difference)
        axes.plot(x, i, marker=5 if x > 0 else 4, color=style.color, markersize=10, zorder=5)
        return
    seeds = [a.metric - b.metric for a, b in pairs_of(comparison, row.precision)]
    dots = {"linestyle": "none", "marker": style.marker, "markersize": 4, "color": style.color}
    axes.plot(seeds, [i + 0.22] * len(seeds), alpha=0.5, markeredgewidth=0, zorder=3, **dots)
    if words.is_number(row.low):
        axes.hlines(i, row.low, row.high, color=style.color, linewidth=2.4, zorder=4)
    edge = {"markeredgecolor": PAPER, "markeredgewidth": 0.7}
    axes.plot(
        row.difference, i, marker=style.marker, markersize=6.5, color=style.color, zorder=5, **edge
    )


def draw_memory(axes, comparison, styles):
    """Bytes held at the peak of a step, by kind, as one bar a precision."""
    rows = comparison.rows()
    row_axes(axes, rows)
    totals = {row.precision: sum(row.bytes.values()) for row in rows}
    unit, divisor = byte_axis(max(totals.values(), default=1))
    for i, row in enumerate(rows):
        left = 0.0
        for kind in KINDS:
            size = row.bytes.get(kind, 0) / divisor
            bar = {"height": 0.34, "color": KIND_COLORS[kind], "edgecolor": PAPER, "linewidth": 0.7}
            axes.barh(i + 0.08, size, left=left, zorder=3, **bar)
            left += size
        label_row(axes, i, row.precision, memory_text(totals, row.precision, comparison.baseline))
    axes.set_xlim(0, max(totals.values(), default=0) / divisor * 1.02 or 1)
    axes.set_xlabel(f"{unit} at the peak")


def memory_text(totals, precision, baseline) -> str:
    """The total, and how many times the baseline's it is."""
    total, base = totals[precision], totals.get(baseline)
    if not total:
        return "not measured"
    times = f", {total / base:.2f} of {baseline}" if base and precision != baseline else ""
    return words.bytes_text(total) + times


def byte_axis(largest) -> tuple:
    """A unit in which the largest has up to four digits before the point."""
    unit = words.bytes_text(largest).split()[-1]
    return unit, 1024 ** ("B", "KiB", "MiB", "GiB", "TiB").index(unit)


def draw_time(axes, comparison, styles):
    """The median time of a step, measured in these runs on this machine."""
    rows = comparison.rows()
    row_axes(axes, rows)
    times = [row.seconds_per_step if words.is_number(row.seconds_per_step) else 0 for row in rows]
    unit, factor = ("s", 1) if max(times, default=0) >= 1 else ("ms", 1000)
    for i, (row, seconds) in enumerate(zip(rows, times)):
        axes.barh(i + 0.08, seconds * factor, height=0.34, color=STYLES[0].color, zorder=3)
        label_row(axes, i, row.precision, words.seconds_text(row.seconds_per_step))
    axes.set_xlim(0, max(times, default=0) * factor * 1.02 or 1)
    axes.set_xlabel(f"{unit} a step, median")
