"""The HTML of line charts, and the scripts and the style that a page with them needs.

uPlot draws; curves.js has the numbers, charts.js what is chosen, chart_panels.js each chart. Where
no script runs, and in print, the static picture of each panel is there, and its table always.
"""

import math
from functools import cache
from html import escape
from importlib import resources

import numpy as np

from minifp.report import drawing, words
from minifp.report.charts import Group, Line, Panel, json_of, window_of
from minifp.report.markup import details, table

ROWS = 12  # of a table
SCRIPTS = ("uPlot.min.js", "curves.js", "chart_formats.js", "chart_panels.js", "charts.js")


@cache
def part(name: str) -> str:
    """A file of the kit."""
    return resources.files("minifp.report").joinpath(name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """uPlot with its licence, and what draws by it."""
    licence = f"/* uPlot:\n{part('uPlot.LICENSE.txt')}*/\n"
    return licence + "".join(map(part, SCRIPTS))


@cache
def style() -> str:
    """The rules of uPlot's charts and of what stands around them."""
    return part("uPlot.min.css").strip() + "\n" + part("charts.css")


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
    rows = (
        [choice("Arms" if many else "Lines", "arms", entries)]
        if len(group.arms) > 1 or many
        else []
    )
    if many:
        rows.append(
            choice("Seeds", "seeds", "\n".join(chooser("seeds", str(s)) for s in group.seeds))
        )
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
    choose = f"Click {what} to see it alone, click again to see all. "
    hint = (
        f"{choose if rows[:-1] else ''}Drag over a picture to zoom into {each}, double-click to "
        "see all."
    )
    keys = "With Shift a button adds or takes away. " if rows[:-1] else ""
    keys += "Keys in a picture: arrows and Home and End move the cursor, + and − zoom, 0 shows all."
    shown = "\n".join(rows)
    hint += f' <span class="keys">{keys}</span>'
    return f'<div class="charts-controls">\n{shown}\n<p class="small">{hint}</p>\n</div>'


def chooser(what: str, content: str) -> str:
    """A button that shows one alone."""
    return f'<button type="button" data-choose="{what}" aria-pressed="true">{content}</button>'


def row(content: str) -> str:
    """A row of what can be changed."""
    return f'<div class="charts-row">{content}</div>'


def choice(label: str, kind: str, buttons: str) -> str:
    """A row of buttons with its name."""
    return (
        f'<div class="charts-row charts-{kind}" role="group" aria-label="{label}">'
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
