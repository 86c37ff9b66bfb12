"""Line charts drawn by matplotlib: in print, where no script runs, and as files."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from minifp.report import drawing, words
from minifp.report.charts import Arm, Group, Panel, description
from minifp.report.drawing import PAPER

WIDTH, WIDE = 4.2, (7.4, 2.3)  # inches in a page, where letters grow with the panel
COLUMNS = 350  # a thin line keeps the lowest and the highest point of each of this many columns
STRIP = 0.035  # of the height, for the marks of an arm
# On a logarithmic axis that is longer than so many decades, the digits that get a tick.
TICKS = ((2.5, (1,)), (1, (1, 3)), (0.6, (1, 2, 5)), (-1, (1, 1.5, 2, 3, 4, 5, 7)))


@dataclass(frozen=True)
class Band:
    """A mean over seeds, with its interval or their range."""

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def panel_svg(panel: Panel, group: Group, name: str) -> Markup:
    """A panel as inline SVG, whose heading stands elsewhere. Ids begin with `name`."""
    size = WIDE if group.is_wide else (WIDTH, height(WIDTH))
    with drawing.canvas(*size) as (figure, axes):
        draw(axes, panel, group)
    title = ", ".join(filter(None, (panel.title, group.title)))
    return drawing.inline_svg(figure, name, title, description(panel, group))


def height(width: float) -> float:
    """Inches of a panel that is so wide."""
    return max(1.9, min(2.9, 0.63 * width))


def draw(axes, panel: Panel, group: Group) -> None:
    """Of each arm a thin line for each seed, their mean and its band; each seed by itself where a
    run of the arm did not finish, with a cross where it is lost."""
    width = round(group.tau) + 1 if panel.smooth else 1
    arms = [(rank, arm, lines_of(panel, arm)) for rank, arm in enumerate(group.arms)]
    curves = [
        (rank, arm, lines, [windowed(x, y, width) for x, y in lines])
        for rank, arm, lines in arms
        if lines
    ]
    sound = [own for _, arm, _, own in curves if not arm.astray] or [own for *_, own in curves]
    set_range(axes, panel, np.concatenate([np.zeros(0), *(y for own in sound for _, y in own)]))
    for rank, arm, lines, means in curves:
        if panel.stepped:
            draw_stairs(axes, arm, lines, rank)
            continue
        faint = {"color": arm.style.color, "linewidth": 0.5, "alpha": 0.18 if panel.smooth else 0.3}
        for line in lines:
            axes.plot(*thinned(*line), zorder=2 + rank / 10, **faint)
        interval = panel.interval and len(lines) >= group.fewest
        quantile = group.quantiles.get(len(lines), 0) if interval else 0
        draw_arm(axes, arm, means, (quantile, arm.style.marker if panel.points else None), rank)
    draw_marks(axes, panel, group)
    if panel.shaded:
        axes.axvspan(*panel.shaded, color=drawing.STYLES[3].color, alpha=0.16, linewidth=0)
    set_places(axes, panel, group)


def lines_of(panel: Panel, arm: Arm) -> list[tuple]:
    """The lines of an arm, as float64; what is not finite is NaN."""
    lines = []
    for line in panel.lines:
        if line.arm == arm.name:
            y = np.array(line.y, np.float64)
            y[~np.isfinite(y)] = math.nan
            lines.append((np.asarray(line.x, np.float64), y))
    return lines


def draw_arm(axes, arm: Arm, lines: list[tuple], how: tuple, rank: int) -> None:
    """The mean of seeds and its band; each seed by itself where one went astray. how: the quantile
    of an interval, 0 for the range, and a marker, or None."""
    style, (quantile, marker) = arm.style, how
    look = {"color": style.color, "linestyle": style.line, "zorder": 4 + rank / 10}
    look |= {"marker": marker, "markersize": 4.5, "markeredgecolor": PAPER, "markeredgewidth": 0.6}
    if arm.astray:
        for x, y in lines:
            axes.plot(x, y, linewidth=min(style.width, 1.3), **look)
            mark_astray(axes, x, y, style.color)
        return
    mean = band(lines, quantile)
    if len(lines) > 1:
        fill = {"color": style.color, "alpha": 0.16, "linewidth": 0, "zorder": 3}
        axes.fill_between(mean.x, mean.low, mean.high, **fill)
    axes.plot(mean.x, mean.mean, linewidth=style.width, **look)


def mark_astray(axes, x, y, color: str) -> None:
    """A cross at the last finite value before NaN; a triangle where a line leaves at the top."""
    top = axes.get_ylim()[1]
    lost = np.flatnonzero(np.isnan(y))
    x, y = (x[: lost[0]], y[: lost[0]]) if lost.size else (x, y)
    look = {"color": color, "markersize": 8.5, "markeredgecolor": PAPER}
    look |= {"markeredgewidth": 0.7, "clip_on": False, "zorder": 8}
    above = np.flatnonzero(y > top)
    if above.size:
        i = above[0]
        leaves = np.interp(top, y[i - 1 : i + 1], x[i - 1 : i + 1]) if i else x[0]
        axes.plot(leaves, top, marker="^", **look)
    if lost.size:
        at = (x[-1], min(y[-1], top)) if y.size else (0, top)
        axes.plot(*at, marker="X", **look)


def draw_stairs(axes, arm: Arm, lines: list[tuple], rank: int) -> None:
    """Lines that stay where they are until they jump."""
    look = {"color": arm.style.color, "linestyle": arm.style.line, "linewidth": 1.4}
    for x, y in lines:
        axes.plot(x, y, drawstyle="steps-post", alpha=0.75, zorder=3 + rank / 10, **look)


def draw_marks(axes, panel: Panel, group: Group) -> None:
    """Ticks from the bottom upward, a row for each arm."""
    rows = marked(panel)
    colors = {arm.name: arm.style.color for arm in group.arms}
    look = {"transform": axes.get_xaxis_transform(), "linewidth": 1.1, "zorder": 5}
    for arm, _, steps in panel.marks:
        y = 0.02 + STRIP * (len(rows) - 1 - rows.index(arm))
        axes.vlines(steps, y, y + 0.028, color=colors[arm], **look)


def marked(panel: Panel) -> list[str]:
    """The arms that have marks."""
    return [*dict.fromkeys(arm for arm, *_ in panel.marks)]


# ---- numbers -------------------------------------------------------------------------------------


def windowed(steps, values, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Means of `width` steps in a row, at the middle of the steps. A rest is left out."""
    if width == 1:
        return steps, values
    n = len(values) // width * width
    return steps[:n].reshape(-1, width).mean(1), values[:n].reshape(-1, width).mean(1)


def band(lines: Sequence[tuple], quantile: float = 0) -> Band:
    """The mean of several seeds' (x, values), with its interval, by a quantile of Student's t, or
    without one their range. It ends where the first seed ends: a mean of survivors would flatter.
    """
    n = min((len(x) for x, _ in lines), default=0)
    if n == 0:
        return Band(*np.zeros((4, 0)))
    table = np.array([values[:n] for _, values in lines])
    mean, low, high = table.mean(0), table.min(0), table.max(0)
    if quantile:
        half = quantile * table.std(0, ddof=1) / math.sqrt(len(lines))
        low, high = mean - half, mean + half
    return Band(lines[0][0][:n], mean, low, high)


def thinned(x, y) -> tuple:
    """The same picture from fewer points: of each column of pixels its lowest and highest value."""
    if len(x) <= 3 * COLUMNS:
        return x, y
    keep = {0, len(x) - 1}
    for part in np.array_split(np.arange(len(x)), COLUMNS):
        values = y[part]
        missing = np.flatnonzero(np.isnan(values))
        keep.update(part[missing[:1]])
        if len(missing) < len(part):
            keep.update((part[np.nanargmin(values)], part[np.nanargmax(values)]))
    index = sorted(keep)
    return x[index], y[index]


# ---- axes ----------------------------------------------------------------------------------------


def set_range(axes, panel: Panel, values: np.ndarray) -> None:
    """The range of values, with a little room, and below it that of marks."""
    values = values[np.isfinite(values) & ((values > 0) | (not panel.log))]
    low, high = (values.min(), values.max()) if values.size else (0.1, 1.0)
    if panel.ends:
        axes.set_ylim(*panel.ends)
    elif panel.powers:
        low, high = math.floor(low), math.ceil(high)
        low, high = (low - 2, high + 2) if high - low < 4 else (low - 1, high + 1)
        ticks = range(high - 1, low, -max(1, -(-(high - low) // 6)))
        axes.set_yticks([*ticks], [words.superscript(k) for k in ticks])
        strip = 0.02 + STRIP * len(marked(panel))
        axes.set_ylim(low - (high - low) * strip / (1 - strip), high)
    elif panel.log:
        axes.set_yscale("log")
        room = (high / low) ** 0.05 if high > low else 1.05
        axes.set_ylim(low / room, high * room)
        plain_decades(axes)
    else:
        room = (high - low or 1.0) * 0.05
        axes.set_ylim(low - room, high + room)
    if panel.percent:
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.3g}%")


def set_places(axes, panel: Panel, group: Group) -> None:
    """From the first place to the last; steps from 0."""
    places = [x for line in panel.lines for x in (line.x[0], line.x[-1])]
    first, last = min(places, default=0), max(places, default=0)
    axes.set_xlim(first if group.x_powers else 0, last + 0.02 * (last - first) or 1)
    if group.places:
        axes.set_xticks(range(len(group.places)), group.places)
        axes.set_xlim(-0.05 * len(group.places), 1.05 * len(group.places) - 1)
    if group.x_powers:
        axes.xaxis.set_major_formatter(lambda k, _: words.superscript(round(k)))
    axes.set_xlabel(group.x)


def plain_decades(axes) -> None:
    """Write 0.01, 0.1, 1, 10 on a logarithmic axis, and more between where it is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_ylim()
    decades = math.log10(high / low)
    digits = next(digits for least, digits in TICKS if decades > least)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=digits, numticks=12))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(decade_text))


def decade_text(value: float, _=None) -> str:
    """0.01, 1, 300; powers of ten beyond that."""
    if 1e-4 < value < 1e5:
        return f"{value:.10g}"
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = "" if value < 1.5 * 10.0**exponent else f"{value / 10.0**exponent:.0f}·"
    return f"{digit}10{str(exponent).translate(words.SUPERSCRIPTS)}"
