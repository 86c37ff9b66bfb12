"""The pictures of a comparison, one small panel for each question; each draws into given axes.

Panels of steps: loss, metric, scale, gradients. Panels of rows (one for each precision): final,
difference, memory, time.
"""

import math

import numpy as np

from minifp.report import curves, words
from minifp.report.drawing import GRID, INK, KIND_COLORS, MUTED, PAPER, STYLES, Style

ROW = 1.0  # height of a row; its label stands above its marks


# ---- over steps ---------------------------------------------------------------------------------


def draw_loss(axes, comparison, styles):
    """Training loss: a thin line for each seed, the mean and its band, a cross where it is lost."""
    low, _, top = curves.limits(comparison)
    set_range(axes, low, top, logarithmic=low > 0 and top / low > 25)
    draw_history(axes, comparison, styles, "loss")


def draw_gradients(axes, comparison, styles):
    """The norm of all gradients, unscaled; where it was not finite, the one before it."""
    low, _, top = curves.limits(comparison, "grad_norm")
    set_range(axes, low, top, logarithmic=low > 0)
    draw_history(axes, comparison, styles, "grad_norm")


def draw_history(axes, comparison, styles, key):
    """One column of the histories: every step of every seed, faint, and what sums them up."""
    width = curves.window_of(comparison)
    for rank, (precision, style) in enumerate(styles.items()):
        runs = comparison.runs_of(precision)
        lines = [curves.series(run, key) for run in runs]
        if key == "grad_norm":
            lines = [curves.without_gaps(x, y) for x, y in lines]
        for x, y in lines:
            x, y = curves.thinned(x, y)
            axes.plot(x, y, color=style.color, zorder=2 + rank / 10, linewidth=0.5, alpha=0.22)
        draw_lines(axes, runs, [curves.windowed(x, y, width) for x, y in lines], style, rank)
    steps_axis(axes, comparison)


def draw_metric(axes, comparison, styles):
    """The metric on the test set at each evaluation."""
    lines = {p: [curves.evaluations(run) for run in comparison.runs_of(p)] for p in styles}
    values = np.concatenate([np.zeros(0), *(y for seeds in lines.values() for _, y in seeds)])
    values = values[~np.isnan(values)]
    if values.size and comparison.task.goal == "min":
        first = [y[~np.isnan(y)][:1] for seeds in lines.values() for _, y in seeds]
        top = min(values.max(), 2 * max(v.max() for v in first if v.size))
        set_range(axes, values.min(), top)
    for rank, (precision, style) in enumerate(styles.items()):
        for x, y in lines[precision]:
            axes.plot(x, y, color=style.color, zorder=2 + rank / 10, linewidth=0.5, alpha=0.3)
        runs = comparison.runs_of(precision)
        draw_lines(axes, runs, lines[precision], style, rank, marker=style.marker)
    steps_axis(axes, comparison)


def draw_lines(axes, runs, lines, style: Style, rank, marker=None):
    """The mean of a precision's seeds and its band; each seed by itself where one went astray."""
    look = {"color": style.color, "linestyle": style.line, "zorder": 4 + rank / 10}
    look |= {"marker": marker, "markersize": 4.5, "markeredgecolor": PAPER, "markeredgewidth": 0.6}
    if all(run.finished for run in runs):
        band = curves.band(lines)
        if len(lines) >= curves.FEWEST_SEEDS:
            fill = {"color": style.color, "alpha": 0.16, "linewidth": 0, "zorder": 3}
            axes.fill_between(band.x, band.low, band.high, **fill)
        axes.plot(band.x, band.mean, linewidth=style.width, **look)
        return
    for run, (x, y) in zip(runs, lines):
        axes.plot(x, y, linewidth=min(style.width, 1.3), **look)
        if not run.finished:
            mark_astray(axes, x, y, style)


def mark_astray(axes, x, y, style: Style):
    """A cross at the last finite value before NaN; a triangle where a line leaves at the top."""
    top = axes.get_ylim()[1]
    lost = np.flatnonzero(np.isnan(y))
    x, y = (x[: lost[0]], y[: lost[0]]) if lost.size else (x, y)
    look = {"color": style.color, "markersize": 8.5, "markeredgecolor": PAPER}
    look |= {"markeredgewidth": 0.7, "clip_on": False, "zorder": 8}
    above = np.flatnonzero(y > top)
    if above.size:
        leaves = np.interp(top, y[above[0] - 1 : above[0] + 1], x[above[0] - 1 : above[0] + 1])
        axes.plot(leaves if above[0] else x[0], top, marker="^", **look)
    if lost.size:
        at = (x[-1], min(y[-1], top)) if y.size else (0, top)
        axes.plot(*at, marker="X", **look)


def set_range(axes, low, top, logarithmic=False):
    """The range of values, with a little room."""
    axes.set_yscale("log" if logarithmic else "linear")
    room = (top / low) ** 0.05 if logarithmic else (top - low or 1.0) * 0.05
    axes.set_ylim(*((low / room, top * room) if logarithmic else (low - room, top + room)))
    plain_decades(axes)


def steps_axis(axes, comparison):
    """Steps from 0 to the last."""
    axes.set_xlim(0, 1.02 * max((run.steps for run in comparison.runs), default=1))
    axes.set_xlabel("step")


def draw_scale(axes, comparison, styles):
    """The loss scale on an axis of powers of two; below it a row for each seed, with its skips."""
    rows = [(p, run) for p in styles for run in comparison.runs_of(p) if is_scaled(run)]
    strip = 0.08 + 0.035 * len(rows)  # of the height, for the rows
    exponents = []
    for precision, run in rows:
        steps, scale = curves.series(run, "scale")
        logs = np.log2(scale)
        exponents += [np.nanmin(logs), np.nanmax(logs)]
        style, rank = styles[precision], list(styles).index(precision)
        axes.plot(
            *stairs(steps, logs),
            color=style.color,
            linestyle=style.line,
            linewidth=1.4,
            alpha=0.75,
            zorder=3 + rank / 10,
        )
    low, high = math.floor(min(exponents, default=0)), math.ceil(max(exponents, default=0))
    low, high = (low - 2, high + 2) if high - low < 4 else (low - 1, high + 1)
    axes.set_ylim(low - (high - low) * strip / (1 - strip), high)
    ticks = range(low + 1, high, max(1, round((high - low) / 6)))
    axes.set_yticks(list(ticks), [words.superscript(k) for k in ticks])
    draw_skips(axes, rows, styles, strip)
    steps_axis(axes, comparison)


def stairs(steps, values) -> tuple:
    """The corners of a line that stays where it is until it jumps."""
    jumps = np.flatnonzero(np.diff(values) != 0) + 1
    starts = np.concatenate([[0], jumps])
    x = np.append(np.repeat(steps[starts], 2)[1:], steps[-1])
    return x, np.repeat(values[starts], 2)


def draw_skips(axes, rows, styles, strip):
    """Ticks at skipped steps, in rows from the bottom upward within `strip` of the height."""
    across = axes.get_xaxis_transform()
    bottom, top = axes.get_ylim()
    axes.axhspan(bottom, bottom + strip * (top - bottom), color=GRID, alpha=0.35, linewidth=0)
    for i, (precision, run) in enumerate(reversed(rows)):
        steps, skipped = curves.series(run, "skipped")
        at = steps[skipped > 0]
        y = 0.02 + 0.035 * i
        color = styles[precision].color
        axes.vlines(at, y, y + 0.028, transform=across, color=color, linewidth=1.1, zorder=5)
    text = (
        "skipped steps, a row for each seed"
        if any(r.skipped for _, r in rows)
        else "no step was skipped"
    )
    axes.text(
        0.01, strip - 0.012, text, transform=axes.transAxes, va="top", fontsize=7.5, color=MUTED
    )


def is_scaled(run) -> bool:
    """Whether a run has a loss scale or skipped anything: whether there is something to draw."""
    return bool(run.skipped) or any(s not in (None, 1, 1.0) for s in run.history.get("scale", ()))


def plain_decades(axes):
    """Write 0.01, 0.1, 1, 10 on a logarithmic axis, and more between where it is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if axes.get_yscale() != "log":
        return
    low, high = axes.get_ylim()
    decades = math.log10(high / low)
    subs = (1.0,) if decades > 2.5 else (1.0, 3.0) if decades > 1 else (1.0, 2.0, 5.0)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=12))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(decade_text))


def decade_text(value, _=None) -> str:
    """0.01, 1, 300; powers of ten beyond that."""
    if 1e-4 < value < 1e5:
        return f"{value:.10g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    return (
        ("" if value < 1.5 * 10.0**exponent else f"{value / 10.0**exponent:.0f}·")
        + "10"
        + str(exponent).translate(words.SUPERSCRIPTS)
    )


# ---- a row for each precision -------------------------------------------------------------------


def row_axes(axes, rows):
    """Prepare axes for rows from the top downward, without a y axis."""
    axes.set_ylim((len(rows) - 1) * ROW + 0.45, -0.55)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(True, axis="x")


def label_row(axes, i, name, rest=""):
    """The precision's name above its marks, and what is worth a number at the right."""
    paper = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.2}
    box = {
        "transform": axes.get_yaxis_transform(),
        "va": "center",
        "fontsize": 8.5,
        "zorder": 6,
        "bbox": paper,
    }
    axes.text(0.0, i * ROW - 0.3, name, color=INK, **box)
    axes.text(1.0, i * ROW - 0.3, rest, color=MUTED, ha="right", **box)


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
        label_row(axes, i, row.precision, words.typeset(mean_text(row, places)))
    axes.margins(x=0.06)
    axes.set_xlabel("a mark for each seed, a bar at the mean")


def metric_label(task) -> str:
    """The metric with its unit."""
    return f"{task.metric_name} ({task.metric_unit})" if task.metric_unit else task.metric_name


def mean_text(row, places) -> str:
    """Mean and deviation, and how many runs were lost on the way."""
    parts = []
    if words.is_number(row.mean):
        spread = f" ± {words.fixed(row.sd, places)}" if words.is_number(row.sd) else ""
        parts.append(words.fixed(row.mean, places) + spread)
    if row.diverged:
        parts.append(f"diverged: {row.diverged} of {row.n}")
    return ", ".join(parts) or "no run finished"


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
        text = "the baseline" if is_baseline else difference_text(row, places)
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
    base = {r.seed: r.metric for r in comparison.runs_of(comparison.baseline) if r.finished}
    pairs = [(r.metric, base.get(r.seed)) for r in comparison.runs_of(row.precision) if r.finished]
    seeds = [a - b for a, b in pairs if words.is_number(a) and words.is_number(b)]
    dots = {"linestyle": "none", "marker": style.marker, "markersize": 4, "color": style.color}
    axes.plot(seeds, [i + 0.22] * len(seeds), alpha=0.5, markeredgewidth=0, zorder=3, **dots)
    if words.is_number(row.low):
        axes.hlines(i, row.low, row.high, color=style.color, linewidth=2.4, zorder=4)
    edge = {"markeredgecolor": PAPER, "markeredgewidth": 0.7}
    axes.plot(
        row.difference, i, marker=style.marker, markersize=6.5, color=style.color, zorder=5, **edge
    )


def difference_text(row, places) -> str:
    """The difference and its interval."""
    if not words.is_number(row.difference):
        return f"diverged: {row.diverged} of {row.n}" if row.diverged else "-"
    text = words.signed(row.difference, places)
    if words.is_number(row.low):
        text += f" ({words.signed(row.low, places)} to {words.signed(row.high, places)})"
    return text


def draw_memory(axes, comparison, styles):
    """Bytes held at the peak of a step, by kind, as one bar a precision."""
    rows = comparison.rows()
    row_axes(axes, rows)
    totals = {row.precision: sum(row.bytes.values()) for row in rows}
    unit, divisor = byte_axis(max(totals.values(), default=1))
    for i, row in enumerate(rows):
        left = 0.0
        for kind in words.KINDS:
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
