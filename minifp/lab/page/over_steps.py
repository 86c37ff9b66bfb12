"""Panels over the steps of training: loss, metric, gradients, and the timeline of the scale."""

import math

import numpy as np

from minifp.lab.page import curves
from minifp.report import words
from minifp.report.drawing import MUTED, PAPER, Style, points, width_of
from minifp.report.look import fitting

FEWEST_EVALUATIONS = 2  # of the metric, for a line over the steps
# On a logarithmic axis that is longer than so many decades, the digits that get a tick.
TICKS = ((2.5, (1,)), (1, (1, 3)), (0.6, (1, 2, 5)), (-1, (1, 1.5, 2, 3, 4, 5, 7)))


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
            axes.plot(x, y, color=style.color, zorder=2 + rank / 10, linewidth=0.5, alpha=0.18)
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


def has_course(comparison) -> bool:
    """Whether the metric was measured often enough for a line."""
    steps = {evaluation[0] for run in comparison.runs for evaluation in run.evaluations}
    return len(steps) >= FEWEST_EVALUATIONS


def draw_lines(axes, runs, lines, style: Style, rank, marker=None):
    """The mean of a precision's seeds and its band; each seed by itself where one went astray."""
    look = {"color": style.color, "linestyle": style.line, "zorder": 4 + rank / 10}
    look |= {"marker": marker, "markersize": 4.5, "markeredgecolor": PAPER, "markeredgewidth": 0.6}
    if all(run.finished for run in runs):
        band = curves.band(lines)
        if len(lines) > 1:
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


# ---- the loss scale -----------------------------------------------------------------------------


def draw_scale(axes, comparison, styles):
    """The loss scale on an axis of powers of two; below it a row for each precision that skipped
    steps, with a tick for each of them."""
    rows = [(p, run) for p in styles for run in comparison.runs_of(p) if is_scaled(run)]
    skipping = list(dict.fromkeys(p for p, run in rows if run.skipped))
    strip = 0.09 + 0.035 * len(skipping)  # of the height, for the rows and what they are
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
    ticks = range(high - 1, low, -max(1, -(-(high - low) // 6)))
    axes.set_yticks(list(ticks), [words.superscript(k) for k in ticks])
    draw_skips(axes, rows, skipping, styles, strip)
    steps_axis(axes, comparison)


def stairs(steps, values) -> tuple:
    """The corners of a line that stays where it is until it jumps."""
    jumps = np.flatnonzero(np.diff(values) != 0) + 1
    starts = np.concatenate([[0], jumps])
    x = np.append(np.repeat(steps[starts], 2)[1:], steps[-1])
    return x, np.repeat(values[starts], 2)


def draw_skips(axes, rows, skipping, styles, strip):
    """Ticks at skipped steps, a row for each precision, from the bottom upward in `strip`."""
    across = axes.get_xaxis_transform()
    for precision, run in rows:
        if precision not in skipping:
            continue
        steps, skipped = curves.series(run, "skipped")
        y = 0.02 + 0.035 * (len(skipping) - 1 - skipping.index(precision))
        look = {"color": styles[precision].color, "linewidth": 1.1, "zorder": 5}
        axes.vlines(steps[skipped > 0], y, y + 0.028, transform=across, **look)
    text = "skipped steps, all seeds of a precision in a row" if skipping else "no step was skipped"
    size = fitting(text, width_of(axes) - 0.7, points(7.5))
    look = {"va": "top", "fontsize": size, "color": MUTED}
    axes.text(0.01, strip - 0.012, text, transform=axes.transAxes, **look)


def is_scaled(run) -> bool:
    """Whether a run has a loss scale or skipped anything: whether there is something to draw."""
    return bool(run.skipped) or any(s not in (None, 1, 1.0) for s in run.history.get("scale", ()))


# ---- axes ---------------------------------------------------------------------------------------


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


def plain_decades(axes):
    """Write 0.01, 0.1, 1, 10 on a logarithmic axis, and more between where it is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if axes.get_yscale() != "log":
        return
    low, high = axes.get_ylim()
    decades = math.log10(high / low)
    digits = next(digits for least, digits in TICKS if decades > least)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=digits, numticks=12))
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
