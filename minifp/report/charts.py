"""Line charts that are explored: their data as JSON inside the page, drawn there by uPlot.

A group of panels shares arms, seeds, smoothing and zoom (charts.js). Where no script runs, and in
print, the static picture of each panel is there, and its table always.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib import resources

import numpy as np

from minifp.report import drawing, words
from minifp.report.markup import details, table

MOST_NUMBERS = 60_000  # of a panel; longer lines become the means of so many steps
ROWS = 12  # of a table
DIGITS = 8  # of a number: what float32 has, so that differences can be seen


@dataclass(frozen=True)
class Arm:
    """What is drawn in one look: a name, whether it is a control (`same`: one that must not differ
    at all), and whether one of its runs did not finish."""

    name: str
    style: drawing.Style
    control: bool = False
    same: bool = False
    astray: bool = False


@dataclass(frozen=True)
class Line:
    """One seed of one arm: values y at steps x; what is not finite is a gap."""

    arm: str
    seed: int
    x: Sequence | np.ndarray
    y: Sequence | np.ndarray


@dataclass(frozen=True)
class Panel:
    """One chart.

    said: the same in words. static: its picture, as HTML. note: how to read it. log: a logarithmic
    axis; powers: values are exponents of two; percent: values are shares; stepped: a line stays
    until it jumps; points: marks at its values; smooth, minus: whether smoothing and differences
    apply; interval: bands are intervals of means, else ranges; envelope: controls are one band;
    marks: (arm, seed, steps).
    """

    name: str
    title: str
    lines: list[Line]
    said: str
    static: str = ""
    note: str = ""
    log: bool = False
    powers: bool = False
    stepped: bool = False
    points: bool = False
    percent: bool = False
    smooth: bool = False
    minus: bool = True
    interval: bool = True
    envelope: bool = False
    marks: list = field(default_factory=list)


@dataclass(frozen=True)
class Group:
    """Panels that are explored together.

    quantiles: Student's t by the number of seeds, for intervals of means from `fewest` seeds on.
    baseline: the arm that is subtracted in the difference view. tau: the time constant of smoothing
    at first, in steps. x: the word before a place; x_powers: places are exponents of two.
    """

    panels: list[Panel]
    arms: list[Arm]
    seeds: list[int]
    baseline: str = ""
    quantiles: dict[int, float] = field(default_factory=dict)
    fewest: int = 2
    tau: float = 0
    x: str = "step"
    x_powers: bool = False


# ---- the page's scripts and style ----------------------------------------------------------------


@cache
def part(name: str) -> str:
    """A file of the kit."""
    return resources.files("minifp.report").joinpath(name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """uPlot with its licence, and what draws by it."""
    licence = f"/* uPlot:\n{part('uPlot.LICENSE.txt')}*/\n"
    return licence + "".join(map(part, ("uPlot.min.js", "curves.js", "charts.js")))


@cache
def style() -> str:
    """The rules of uPlot's charts and of what stands around them."""
    return part("uPlot.min.css").strip() + "\n" + part("charts.css")


# ---- data ----------------------------------------------------------------------------------------


def json_of(group: Group) -> str:
    """What the script reads; it cannot end the script element that holds it."""
    number = {arm.name: i for i, arm in enumerate(group.arms)}
    told = {
        "arms": [told_of(arm) for arm in group.arms],
        "seeds": group.seeds,
        "baseline": number.get(group.baseline, 0),
        "t": [group.quantiles.get(n, 0) for n in range(len(group.seeds) + 1)],
        "fewest": group.fewest,
        "tau": group.tau,
        "x": group.x,
        "xPowers": group.x_powers,
        "panels": [panel_data(panel, number) for panel in group.panels],
    }
    return json.dumps(told, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def told_of(arm: Arm) -> dict:
    """The look of an arm; its colour is a variable of the style sheet."""
    return {
        "name": arm.name,
        "color": drawing.VARIABLES[arm.style.color].removeprefix("--"),
        "dash": list(arm.style.dashes),
        "width": min(arm.style.width, 3.2),
        "control": arm.control,
        "same": arm.same,
        "astray": arm.astray,
    }


def panel_data(panel: Panel, number: dict) -> dict:
    """One panel: its switches, and lines as [arm, seed, which x, y]; equal x are told once."""
    width, lines = window_of(panel), []
    places: dict[tuple, int] = {}
    for line in panel.lines:
        x, y = means(line.x, line.y, width)
        key = tuple(int(v) for v in x)
        which = places.setdefault(key, len(places))
        lines.append([number[line.arm], line.seed, which, [rounded(v) for v in y]])
    switches = ("log", "powers", "percent", "stepped", "points", "smooth", "minus", "interval")
    return {
        **{name: getattr(panel, name) for name in (*switches, "envelope")},
        "xs": [list(key) for key in places],
        "lines": lines,
        "marks": [[number[arm], seed, [int(s) for s in steps]] for arm, seed, steps in panel.marks],
    }


def window_of(panel: Panel) -> int:
    """How many steps one point stands for; 1 unless there are too many."""
    count = sum(len(line.x) for line in panel.lines)
    return 1 if panel.stepped else max(1, math.ceil(count / MOST_NUMBERS))


def means(x, y, width: int) -> tuple:
    """Means of `width` values in a row, at the last of their steps."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if width == 1:
        return x, y
    cuts = np.arange(0, len(y), width)
    if not len(cuts):
        return x, y
    ends = np.minimum(cuts + width, len(y))
    return x[ends - 1], np.add.reduceat(y, cuts) / (ends - cuts)


def rounded(value) -> float | None:
    """A number for JSON; None for what is not finite."""
    value = float(value)
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


# ---- markup --------------------------------------------------------------------------------------


def group_html(group: Group, prefix: str) -> str:
    """The group: what is chosen, then its panels. Ids begin with `prefix`."""
    panels = "\n".join(panel_html(panel, group, prefix) for panel in group.panels)
    return (
        f'<div class="charts">\n{controls(group, prefix)}\n<div class="pair">\n{panels}\n</div>\n'
        f'<script type="application/json">{json_of(group)}</script>\n</div>'
    )


def controls(group: Group, prefix: str) -> str:
    """The legend whose entries are buttons, and what changes the view; only what can."""
    many = len(group.seeds) > 1
    entries = "\n".join(chooser("arms", sample(a.style) + escape(a.name)) for a in group.arms)
    rows = [choice("Arms" if many else "Lines", entries)] if len(group.arms) > 1 or many else []
    if many:
        rows.append(choice("Seeds", "\n".join(chooser("seeds", str(s)) for s in group.seeds)))
    if any(panel.smooth for panel in group.panels):
        rows.append(row(
            f'<label for="{prefix}-smooth">Smoothing</label> <input type="range" min="0" max="0" '
            f'value="0" class="charts-smooth" id="{prefix}-smooth" autocomplete="off"> '
            '<span class="charts-smooth-said"></span>'
        ))  # fmt: skip
    differ = len(group.arms) > 1 and any(panel.minus for panel in group.panels)
    boxes = box("minus", f"Minus {group.baseline}, seed by seed") if differ else ""
    boxes += box("single", "Single seeds") if many else ""
    rows.append(row(
        f'{boxes}<button type="button" class="charts-all" disabled>Whole range</button>'
    ))  # fmt: skip
    what, each = ("an arm or a seed", "all of them") if many else ("a line", "it")
    choose = (
        f"Choose {what} to see it alone, again to see all, with Shift to add it or take it away. "
    )
    hint = (
        f"{choose if rows[:-1] else ''}Drag over a picture to zoom into {each}, double-click to "
        "see all. Keys in a picture: arrows and Home and End move the cursor, + and − zoom, 0 "
        "shows all."
    )
    shown = "\n".join(rows)
    return f'<div class="charts-controls">\n{shown}\n<p class="small">{hint}</p>\n</div>'


def chooser(what: str, content: str) -> str:
    """A button that shows one alone."""
    return f'<button type="button" data-choose="{what}" aria-pressed="true">{content}</button>'


def row(content: str) -> str:
    """A row of what can be changed."""
    return f'<div class="charts-row">{content}</div>'


def choice(label: str, buttons: str) -> str:
    """A row of buttons with its name."""
    return (
        f'<div class="charts-row charts-choice" role="group" aria-label="{label}">'
        f"<span>{label}</span>\n{buttons}\n</div>"
    )


def box(name: str, label: str) -> str:
    """Something to tick."""
    return (
        f'<label><input type="checkbox" class="charts-{name}" autocomplete="off"> '
        f"{escape(label)}</label>\n"
    )


def panel_html(panel: Panel, group: Group, prefix: str) -> str:
    """One chart: where it is drawn, its picture for print, how to read it, and its table."""
    name, width = f"{prefix}-{panel.name}", window_of(panel)
    note = " ".join(filter(None, (panel.note, f"Each point is the mean of {width} steps."
                                  if width > 1 else "")))  # fmt: skip
    return (
        f'<figure class="chart" data-panel="{panel.name}">\n'
        f'<h3 id="{name}-h">{escape(panel.title)}</h3>\n'
        f'<div class="chart-live">\n<div class="chart-plot" tabindex="0" role="group" '
        f'aria-roledescription="chart" aria-labelledby="{name}-h" aria-describedby="{name}-d">'
        f'</div>\n<p class="chart-said" aria-hidden="true"></p>\n'
        f'<p class="unseen" role="status"></p>\n</div>\n'
        f'<div class="chart-static">{panel.static}</div>\n'
        f'<p class="unseen" id="{name}-d">{escape(words.raised(panel.said))}</p>\n'
        f"<figcaption>{escape(words.raised(note))}</figcaption>\n"
        f"{details('As a table', numbers(panel, group))}\n</figure>"
    )


def sample(style: drawing.Style) -> str:
    """A piece of line, as it is drawn."""
    dashes = " ".join(f"{d * style.width:.3g}" for d in style.dashes)
    attribute = f' stroke-dasharray="{dashes}"' if dashes else ""
    color = f"var({drawing.VARIABLES[style.color]})"
    return (
        '<svg width="26" height="12" viewBox="0 0 26 12" aria-hidden="true"><path d="M1 6h24" '
        f'stroke="{color}" stroke-width="{min(style.width, 3.2)}"{attribute}/></svg>'
    )


def numbers(panel: Panel, group: Group) -> str:
    """Means over seeds at some steps, with how far they reach from the lowest to the highest."""
    steps = sorted({float(x) for line in panel.lines for x in line.x})
    chosen = [steps[i] for i in np.unique(np.linspace(0, len(steps) - 1, ROWS).astype(int))] if (
        steps
    ) else []  # fmt: skip
    rows = []
    for arm in group.arms:
        lines = [line for line in panel.lines if line.arm == arm.name]
        if lines:
            cells = [cell([at(line, step) for line in lines], panel) for step in chosen]
            rows.append([f"<code>{escape(arm.name)}</code>", *cells])
    place = words.power_text if group.x_powers else "{:,.0f}".format
    seeds = ": mean over seeds, and from the lowest to the highest" if len(group.seeds) > 1 else ""
    return table(panel.title + seeds, [group.x, *map(place, chosen)], rows)


def at(line: Line, step: float) -> float | None:
    """The value at a step; None where there is none."""
    i = int(np.searchsorted(np.asarray(line.x), step))
    return float(line.y[i]) if i < len(line.x) and line.x[i] == step else None


def cell(values: list, panel: Panel) -> str:
    """A mean, and below it the range where there is one; NaN where a run was lost."""
    there = [v for v in values if v is not None]
    if not there:
        return "–"
    if not all(map(math.isfinite, there)):
        return "NaN"
    show = words.power_text if panel.powers else percent if panel.percent else words.short
    text = show(sum(there) / len(there))
    low, high = show(min(there)), show(max(there))
    return text if low == high else f"{text}<br><small>{low} to {high}</small>"


def percent(share: float) -> str:
    """A share in percent."""
    return f"{words.short(100 * share)}%"
