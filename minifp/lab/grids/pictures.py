"""Pictures of a sweep: curves over each setting, and heat maps over each pair of them.

Where there are more settings than a picture has axes, each combination of the others is a curve, or
a panel, of its own.
"""

import math
from collections.abc import Callable
from itertools import combinations

from minifp.lab.changes import told
from minifp.lab.page.captions import metric_label
from minifp.report import drawing, words
from minifp.report.content import Picture

WIDE = 20  # ratio of the largest to the smallest value, from which on an axis is logarithmic
MOST_LINES, MOST_PANELS, MOST_TEXTS = 8, 6, 64
PANEL = 3.9, 3.2  # inches
METRIC, DIFFERENCE = "metric", "difference"


def pictures_of(sweep) -> list:
    """Curves, side by side, then maps; [] where no run is finished."""
    axes, label = sweep.grid.axes, metric_label(sweep.comparisons[0].task)

    def picture(title, on):
        name = words.spaced(title).replace(" ", "-")
        said = f"{label}: see the table."
        return Picture(name, title, said, lambda look: figure(sweep, on), is_map=len(on) > 1)

    lines = [(f"over {name}", (name,)) for name in axes if len(axes[name]) > 1]
    maps = [(f"{a} and {b}", (a, b)) for a, b in combinations(axes, 2)]
    over, across = ([picture(*one) for one in some if has_points(sweep, one[1])]
                    for some in (lines, maps))  # fmt: skip
    return [over, *across] if over or across else []


def has_points(sweep, on) -> bool:
    """Whether anything is known along these axes."""
    return any(p.n and all(name in p.settings for name in on) for p in sweep.points)


def figure(sweep, on: tuple[str, ...]):
    """The picture over one axis, or over two."""
    return curves(sweep, *on) if len(on) == 1 else heat_maps(sweep, *on)


# ---- curves --------------------------------------------------------------------------------------


def curves(sweep, name: str):
    """The metric over the values of one setting, with its band over seeds: a curve for each
    precision, and each combination of the other settings."""
    with drawing.canvas(6.4, 3.9) as (drawn, axes):
        place = places_on(axes.xaxis, axes.set_xscale, sweep.grid.axes[name])
        series = lines_over(sweep, name)
        for (label, points), style in zip(series[:MOST_LINES], drawing.STYLES):
            draw_curve(axes, [(place(p.settings[name]), p) for p in points], label, style)
        for label, mean in level(sweep, name):
            axes.axhline(mean, color=drawing.MUTED, linewidth=1, label=label, zorder=1)
        left = len(series) - MOST_LINES
        more = f" ({words.plural(left, 'curve')} more in the table)" if left > 0 else ""
        axes.set_xlabel(f"{name} (×: runs lost)" if any(p.diverged for p in sweep.points) else name)
        axes.set_ylabel(metric_label(sweep.comparisons[0].task))
        axes.set_title(f"{sweep.grid.task.name} over {name}{more}")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, fontsize=8)
    return drawn


def draw_curve(axes, placed, label, style):
    """Means with their band; a cross at the edge where runs diverged."""
    known = [(x, p) for x, p in placed if p.mean is not None]
    look = {"color": style.color, "linestyle": style.line, "marker": style.marker}
    axes.plot(
        [x for x, _ in known], [p.mean for _, p in known],
        linewidth=style.width, markersize=4.5, label=label, **look,
    )  # fmt: skip
    axes.fill_between(
        [x for x, _ in known], [p.low for _, p in known], [p.high for _, p in known],
        color=style.color, alpha=0.15, linewidth=0,
    )  # fmt: skip
    lost = [(x, p) for x, p in placed if p.diverged]
    bottom = {"transform": axes.get_xaxis_transform(), "clip_on": False, "zorder": 5}
    axes.plot([x for x, _ in lost], [0] * len(lost), "x", color=style.color, **bottom)


def lines_over(sweep, name) -> list[tuple[str, list]]:
    """(label, points in the order of the axis) of each precision and combination of the others."""
    found: dict[str, list] = {}
    for point in sweep.points:
        if name in point.settings and point.n:
            found.setdefault(label_of(sweep, point, {name}), []).append(point)
    order = [told(v) for v in sweep.grid.axes[name]]
    for points in found.values():
        points.sort(key=lambda p: order.index(told(p.settings[name])))
    return [*found.items()]


def level(sweep, name) -> list[tuple[str, float]]:
    """The means of what has no value of a switch, as float32, where there is one cell."""
    if len(sweep.comparisons) > 1:
        return []
    return [
        (p.precision, p.mean) for p in sweep.points if name not in p.settings and p.mean is not None
    ]


def label_of(sweep, point, without) -> str:
    """A precision, with the settings beside those of an axis."""
    others = [
        f"{name}={told(point.settings[name])}"
        for name in sweep.grid.axes
        if name in point.settings and name not in without
    ]
    return ", ".join([point.precision, *others])


# ---- heat maps -----------------------------------------------------------------------------------


def heat_maps(sweep, across: str, up: str):
    """The metric over two settings, and its difference from the baseline: a panel for each
    precision and combination of the others."""
    kinds: dict[str, list] = {}
    for point in sweep.points:
        if across in point.settings and up in point.settings:
            kinds.setdefault(label_of(sweep, point, {across, up}), []).append(point)
    shown = [
        (label, points, what)
        for label, points in kinds.items()
        for what in (METRIC, DIFFERENCE)
        if what == METRIC or any(p.difference is not None for p in points)
    ]
    panels = shown[:MOST_PANELS]
    count = min(2, len(panels))
    rows = math.ceil(len(panels) / count)
    size = PANEL[0] * count + 0.6, PANEL[1] * rows
    with drawing.canvas(*size, rows, count, squeeze=False) as (drawn, grid):
        for axes in grid.ravel()[len(panels) :]:
            axes.set_visible(False)
        for axes, panel in zip(grid.ravel(), panels):
            draw_heat_map(drawn, axes, sweep, across, up, panel)
    return drawn


def draw_heat_map(drawn, axes, sweep, across, up, panel):
    """One panel: a coloured field with its number for each pair of values; how many runs were
    lost where some diverged."""
    label, points, what = panel
    task, columns, rows = sweep.comparisons[0].task, sweep.grid.axes[across], sweep.grid.axes[up]
    field = [[math.nan] * len(columns) for _ in rows]
    texts = []
    for p in points:
        i, j = index(rows, p.settings[up]), index(columns, p.settings[across])
        value = p.mean if what == METRIC else p.difference
        if value is not None:
            field[i][j] = value
        places = words.decimals(task.margin)
        shown = words.fixed if what == METRIC else words.signed
        text = shown(value, places) if value is not None else ""
        lost = f"{p.diverged}/{p.n} lost" if p.diverged else ""
        texts.append((j, i, "\n".join(part for part in (text, lost) if part)))
    finite = [v for line in field for v in line if math.isfinite(v)]
    reach = max(task.margin, *(abs(v) for v in finite), 0.0)
    scale = {"cmap": "viridis"}
    if what == DIFFERENCE:
        scale = {"cmap": "RdBu", "vmin": -reach, "vmax": reach}
    image = axes.imshow(field, aspect="auto", origin="lower", **scale)
    drawn.colorbar(image, ax=axes, shrink=0.9)
    if len(texts) <= MOST_TEXTS:
        for x, y, text in texts:
            value, color = field[y][x], drawing.MUTED
            if not math.isnan(value):
                color = drawing.readable_on(image.cmap(image.norm(value)))
            axes.text(x, y, text, ha="center", va="center", fontsize=9, color=color)
    axes.grid(False)
    axes.set_xticks(range(len(columns)), [told(v) for v in columns], rotation=30)
    axes.set_yticks(range(len(rows)), [told(v) for v in rows])
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    kind = metric_label(task) if what == METRIC else f"difference, {task.difference_unit}"
    axes.set_title(f"{label}\n{kind}", fontsize=8.5)


# ---- values on an axis ---------------------------------------------------------------------------


def places_on(axis, set_scale: Callable, values: list) -> Callable:
    """Where each value stands: by its size, or one beside the other where one is a word."""
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    if len(numbers) < len(values):
        axis.set_ticks(range(len(values)), [told(v) for v in values])
        return lambda value: index(values, value)
    if min(numbers) > 0 and max(numbers) / min(numbers) >= WIDE:
        set_scale("log")
    if len(values) <= MOST_LINES:
        axis.set_ticks(values, [told(v) for v in values])
        axis.set_ticks([], minor=True)
    return lambda value: value


def index(values: list, value) -> int:
    """The place of a value in a list, in which 1 and True are two."""
    return [told(v) for v in values].index(told(value))
