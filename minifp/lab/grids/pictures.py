"""Pictures of a sweep: curves over each setting, and heat maps over each pair of them.

Where there are more settings than a picture has axes, each combination of the others is a curve, or
a panel, of its own.
"""

import math
from dataclasses import replace
from itertools import combinations

from minifp.lab.changes import as_text
from minifp.lab.conclusions.scores import ended
from minifp.lab.page import line_charts
from minifp.lab.page.captions import metric_label, metric_title
from minifp.report import drawing, words
from minifp.report.charts import Arm, Group, Line, Panel
from minifp.report.content import Picture

MOST_LINES, MOST_PANELS, MOST_TEXTS = 8, 6, 64
PANEL = 3.9, 3.2  # inches
METRIC, DIFFERENCE = "metric", "difference"


def pictures_of(sweep) -> list:
    """Curves, then maps; [] where no run is finished."""
    axes = sweep.grid.axes
    over = [curves(sweep, name) for name in axes if len(axes[name]) > 1]
    maps = [heat_map(sweep, *pair) for pair in combinations(axes, 2) if has_points(sweep, pair)]
    return [*(group for group in over if group.panels), *maps]


def has_points(sweep, on) -> bool:
    """Whether anything is known along these axes."""
    return any(p.n and all(name in p.settings for name in on) for p in sweep.points)


# ---- curves --------------------------------------------------------------------------------------


def curves(sweep, name: str) -> Group:
    """The metric over the values of one setting: a curve for each precision, and each combination
    of the other settings. What has no value of a switch, as float32, is the same at all of them."""
    grid, task = sweep.grid, sweep.comparisons[0].task
    values = [as_text(value) for value in grid.axes[name]]
    metrics: dict[tuple, dict[int, float]] = {}
    for cell, comparison in zip(grid.cells(), sweep.comparisons):
        for arm, precision, settings in arms_of(grid, cell):
            known = [values.index(as_text(settings[name]))] if name in settings else None
            where = known or range(len(values))
            for run in comparison.runs_of(arm):
                key = label_of(grid, precision, settings, {name}), run.seed
                metric = run.metric if ended(run) else math.nan
                metrics.setdefault(key, {}).update(dict.fromkeys(where, metric))
    labels = [*dict.fromkeys(label for label, _ in metrics)]
    lines, marks = [], []
    for (label, seed), curve in metrics.items():
        if label in labels[:MOST_LINES]:
            x = sorted(curve)
            lines.append(Line(label, seed, x, [curve[place] for place in x]))
            lost = [place for place in x if math.isnan(curve[place])]
            marks += [(label, seed, lost)] if lost else []
    left = len(labels) - MOST_LINES
    notes = [line_charts.band_text(sweep.comparisons[0])]
    notes += ["Ticks at the bottom: runs that did not finish."] if marks else []
    notes += [f"{words.plural(left, 'curve')} more in the table."] if left > 0 else []
    title, note = f"{metric_title(task)} over {name}", " ".join(filter(None, notes))
    panel = Panel(f"over-{name}".replace("_", "-"), title, lines, f"{title}: see the table.", note)
    panel = replace(panel, points=True, marks=marks)
    arms = [Arm(*pair) for pair in zip(labels, drawing.STYLES)]
    how = line_charts.seeds_of(sweep.comparisons[0])
    names: dict = {"x": name, "places": values, "title": grid.task.name, "name": panel.name}
    baseline, panels = labels[0] if labels else "", [panel] if lines else []
    return Group(panels, arms, baseline=baseline, **how, **names)


def arms_of(grid, cell):
    """(arm, precision, settings) of each arm of a cell, once for each precision that it is of."""
    for arm, origins in grid.arms().items():
        for precision, switches in origins:
            yield arm, precision, {**cell.settings, **switches}


def label_of(grid, precision, settings, without) -> str:
    """A precision, with the settings beside those of an axis."""
    names = [name for name in grid.axes if name in settings and name not in without]
    return ", ".join([precision, *(f"{name}={as_text(settings[name])}" for name in names)])


# ---- heat maps -----------------------------------------------------------------------------------


def heat_map(sweep, across: str, up: str) -> Picture:
    """The picture over two settings."""
    title = f"{across} and {up}"
    said = f"{metric_label(sweep.comparisons[0].task)}: see the table."
    name = words.spaced(title).replace(" ", "-")
    return Picture(name, title, said, lambda look: heat_maps(sweep, across, up), is_map=True)


def heat_maps(sweep, across: str, up: str):
    """The metric over two settings, and its difference from the baseline: a panel for each
    precision and combination of the others."""
    kinds: dict[str, list] = {}
    for point in sweep.points:
        if across in point.settings and up in point.settings:
            label = label_of(sweep.grid, point.precision, point.settings, {across, up})
            kinds.setdefault(label, []).append(point)
    panels = [
        (label, points, what)
        for label, points in kinds.items()
        for what in (METRIC, DIFFERENCE)
        if what == METRIC or any(p.difference is not None for p in points)
    ]
    panels = panels[:MOST_PANELS]
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
        as_number = words.fixed if what == METRIC else words.signed
        text = as_number(value, places) if value is not None else ""
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
    axes.set_xticks(range(len(columns)), [as_text(v) for v in columns], rotation=30)
    axes.set_yticks(range(len(rows)), [as_text(v) for v in rows])
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    kind = metric_label(task) if what == METRIC else f"difference, {task.difference_unit}"
    axes.set_title(f"{label}\n{kind}", fontsize=8.5)


def index(values: list, value) -> int:
    """The place of a value in a list, in which 1 and True are two."""
    return [as_text(v) for v in values].index(as_text(value))
