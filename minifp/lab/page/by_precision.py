"""Panels with a row for each precision: how each seed ended, differences, memory and time."""

from minifp.lab.conclusions.claims import metric_differences
from minifp.lab.memory import KINDS
from minifp.lab.page import captions
from minifp.lab.page.panel import Panel
from minifp.lab.page.precision_styles import KIND_COLORS
from minifp.report import drawing, words
from minifp.report import look as looks
from minifp.report.drawing import INK, MUTED, PAPER, STYLES, points, width_of

NAME = 8.5  # points, on a screen, of what stands above the marks of a row
SPACE = 0.45  # inches of a picture beside its axes, and between a name and what stands at the right


# ---- what there is, each with what stands above the marks of its rows --------------------------


def final(comparison, styles) -> Panel:
    """The metric at the end."""
    places = captions.metric_places(comparison.task)
    labels = [(r.precision, captions.mean_text(r, places)) for r in comparison.rows()]
    title = f"{captions.metric_title(comparison.task)} at the end"
    return rows_panel("final", title, draw_final, labels, comparison, styles)


def difference(comparison, styles) -> Panel | None:
    """The differences with their intervals; None where there are none."""
    places = words.decimals(comparison.task.margin)
    texts = {r.precision: captions.difference_text(r, places) for r in comparison.rows()}
    labels = [*{**texts, comparison.baseline: "the baseline"}.items()]
    title = f"Difference from {comparison.baseline}, paired by seed"
    panel = rows_panel("difference", title, draw_difference, labels, comparison, styles)
    return panel if len(labels) > 1 else None


def memory(comparison, styles) -> Panel | None:
    """The bytes; None where they were not measured."""
    totals = totals_of(comparison.rows())
    labels = [(p, memory_text(totals, p, comparison.baseline)) for p in totals]
    title = "Memory of one training step"
    panel = rows_panel("memory", title, draw_memory, labels, comparison, styles)
    return panel if any(run.bytes for run in comparison.runs) else None


def time(comparison, styles) -> Panel:
    """The seconds."""
    labels = [(r.precision, words.seconds_text(r.seconds_per_step)) for r in comparison.rows()]
    title = "Time of one training step"
    return rows_panel("time", title, draw_time, labels, comparison, styles)


def rows_panel(name, title, draw, labels, comparison, styles) -> Panel:
    """A row for each of its arms, labelled."""

    def draw_rows(axes):
        row_axes(axes, labels, grid=name != "difference")
        draw(axes, comparison, styles)

    return Panel(name, title, draw_rows, labels=labels)


def lines_of(labels, wide, size) -> int:
    """1 where each name fits beside its text into a picture of so many inches; else 2."""
    fits = looks.letters(wide - 2 * SPACE, size)
    return 1 if all(len(name) + len(rest) <= fits for name, rest in labels) else 2


# ---- the panels ----------------------------------------------------------------------------------


def row_axes(axes, labels, grid=True):
    """Prepare axes for rows from the top downward, without a y axis, and label each."""
    wide = width_of(axes)
    lines = lines_of(labels, wide, points(NAME))
    axes.set_ylim(len(labels) - 0.55, -0.55 if lines == 1 else -0.72)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(grid, axis="x")
    axes.grid(False, axis="y")

    for i, (name, rest) in enumerate(labels):
        label_row(axes, i, name, words.typeset(rest))


def label_row(axes, i, name, rest):
    """The arm's name above its marks, and what is worth a number at the right, or below it."""
    wide = width_of(axes)
    look = {"transform": axes.get_yaxis_transform(), "va": "center", "zorder": 6}
    if axes.xaxis.get_gridlines()[0].get_visible():
        look["bbox"] = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.2}
    sizes = [looks.fitting(text, wide - SPACE, points(NAME)) for text in (name, rest)]
    up = 0.3 if lines_of([(name, rest)], wide, points(NAME)) == 1 else 0.52
    axes.text(0.0, i - up, name, color=INK, fontsize=sizes[0], **look)
    axes.text(1.0, i - 0.3, rest, color=MUTED, fontsize=sizes[1], ha="right", **look)


def draw_final(axes, comparison, styles):
    """The final metric: a dot for each seed, a bar at the mean of those that finished."""
    for i, row in enumerate(comparison.rows()):
        style = styles[row.precision]
        runs = comparison.runs_of(row.precision)
        values = [r.metric for r in runs if r.finished and words.is_number(r.metric)]
        dots = {"linestyle": "none", "marker": style.marker, "markersize": 6, "color": style.color}
        axes.plot(values, [i] * len(values), markeredgecolor=PAPER, alpha=0.75, zorder=4, **dots)
        if words.is_number(row.mean):
            axes.vlines(row.mean, i - 0.17, i + 0.17, color=INK, linewidth=1.6, zorder=5)
    axes.margins(x=0.06)
    axes.set_xlabel("a mark for each seed, a bar at the mean")


def draw_difference(axes, comparison, styles):
    """The difference from the baseline, seed by seed, with its interval and the margin behind it.

    A row far outside the margin is an arrow with its number, so that the others can still be read.
    """
    task, rows = comparison.task, comparison.rows()
    places = words.decimals(task.margin)
    ends = [abs(e) for r in rows for e in (r.low, r.high, r.difference) if words.is_number(e)]
    reach = 1.15 * max([2 * task.margin, *(e for e in ends if e < 8 * task.margin)])
    axes.set_xlim(-reach, reach)
    drawing.show_margin(axes, task.margin)
    for i, row in enumerate(rows):
        draw_difference_row(axes, comparison, row, i, styles[row.precision], reach)
    margin = f"shaded: the margin of ±{words.fixed(task.margin, places)}"
    axes.set_xlabel("; ".join(filter(None, (task.difference_unit, margin))))


def draw_difference_row(axes, comparison, row, i, style, reach):
    """Dots of seeds, the interval and the mean of one row."""
    if row.precision == comparison.baseline:
        axes.plot(0, i, marker=style.marker, markersize=6, color=style.color, zorder=5)
    if not words.is_number(row.difference):
        return
    ends = row.low, row.high
    if drawing.show_interval(axes, i, row.difference, ends, style, reach):
        seeds = metric_differences(comparison, row.precision)
        dots = {"linestyle": "none", "marker": style.marker, "markersize": 4, "color": style.color}
        axes.plot(seeds, [i + 0.22] * len(seeds), alpha=0.5, markeredgewidth=0, zorder=3, **dots)


def draw_memory(axes, comparison, styles):
    """Bytes held at the peak of a step, by kind, as one bar a precision."""
    rows = comparison.rows()
    totals = totals_of(rows)
    unit, divisor = byte_axis(max(totals.values(), default=1))
    for i, row in enumerate(rows):
        left = 0.0
        for kind in KINDS:
            size = row.bytes.get(kind, 0) / divisor
            bar = {"height": 0.34, "color": KIND_COLORS[kind], "edgecolor": PAPER, "linewidth": 0.7}
            axes.barh(i + 0.08, size, left=left, zorder=3, **bar)
            left += size
    axes.set_xlim(0, max(totals.values(), default=0) / divisor * 1.02 or 1)
    axes.set_xlabel(f"{unit} at the peak")


def totals_of(rows) -> dict:
    """Bytes of each arm, of all kinds."""
    return {row.precision: sum(row.bytes.values()) for row in rows}


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
    times = [row.seconds_per_step if words.is_number(row.seconds_per_step) else 0 for row in rows]
    unit, factor = ("s", 1) if max(times, default=0) >= 1 else ("ms", 1000)
    for i, seconds in enumerate(times):
        axes.barh(i + 0.08, seconds * factor, height=0.34, color=STYLES[0].color, zorder=3)
    axes.set_xlim(0, max(times, default=0) * factor * 1.02 or 1)
    axes.set_xlabel(f"{unit} a step, median")
