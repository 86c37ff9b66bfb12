"""The HTML of line charts, and the scripts and the style that a page with them needs.

uPlot draws; curves.js has the numbers, charts.js what is chosen, chart_panels.js each chart. Where
no script runs, and in print, the static picture of each panel is there, and its table always.
"""

import math
from functools import cache

import numpy as np
from markupsafe import Markup

from minifp.report import drawing, line_drawing, words
from minifp.report.charts import Group, Line, Panel, description, json_of, window_of
from minifp.report.markup import code, data_script, details, part, table

ROWS = 12  # of a table
SCRIPTS = ("uPlot.min.js", "curves.js", "chart_formats.js", "chart_panels.js", "charts.js")


@cache
def script() -> Markup:
    """uPlot with its licence, and what draws by it."""
    licence = Markup("/* uPlot:\n{}*/\n").format(part("uPlot.LICENSE.txt"))
    return licence + Markup().join(map(part, SCRIPTS))


@cache
def style() -> Markup:
    """The rules of uPlot's charts and of what stands around them."""
    return part("uPlot.min.css").strip() + "\n" + part("charts.css")


# ---- markup --------------------------------------------------------------------------------------


def group_html(group: Group, prefix: str = "") -> Markup:
    """The group: what is chosen, then its panels. Ids begin with `prefix`, or the group's name."""
    prefix = prefix or group.name
    panels = Markup("\n").join(panel_html(panel, group, prefix) for panel in group.panels)
    whole = Markup('<div class="charts">\n{}\n<div class="pair">\n{}\n</div>\n{}\n</div>').format(
        controls(group, prefix), panels, data_script(json_of(group))
    )
    return Markup('<div class="wide">{}</div>').format(whole) if group.is_wide else whole


def controls(group: Group, prefix: str) -> Markup:
    """The legend whose entries are buttons, and what changes the view; only what can."""
    many = len(group.seeds) > 1
    arms = [chooser("arms", sample(a.style) + a.name) for a in group.arms]
    is_row = many or len(group.arms) > 1
    rows = [choice("Arms" if many else "Lines", "arms", arms)] if is_row else []
    if many:
        rows.append(choice("Seeds", "seeds", [chooser("seeds", s) for s in group.seeds]))
    if any(panel.smooth for panel in group.panels):
        smooth = Markup(
            '<label for="{}-smooth">Smoothing</label> <input type="range" min="0" max="0" '
            'value="0" class="charts-smooth" id="{}-smooth" autocomplete="off"> '
            '<span class="charts-smooth-said"></span>'
        )
        rows.append(row(smooth.format(prefix, prefix)))
    differ = len(group.arms) > 1 and any(panel.minus for panel in group.panels)
    boxes = box("minus", f"Minus {group.baseline}, seed by seed") if differ else Markup()
    boxes += box("single", "Single seeds") if many else ""
    whole = Markup('<button type="button" class="charts-all" disabled>Whole range</button>')
    rows.append(row(boxes + whole))
    what, each = ("an arm or a seed", "all of them") if many else ("a line", "it")
    choose = f"Click {what} to see it alone, click again to see all. "
    hint = (
        f"{choose if rows[:-1] else ''}Drag over a picture to zoom into {each}, double-click to "
        "see all."
    )
    keys = "With Shift a button adds or takes away. " if rows[:-1] else ""
    keys += "Keys in a picture: arrows and Home and End move the cursor, + and − zoom, 0 shows all."
    return Markup(
        '<div class="charts-controls">\n{}\n<p class="small">{} <span class="keys">{}</span></p>\n'
        "</div>"
    ).format(Markup("\n").join(rows), hint, keys)


def chooser(what: str, content) -> Markup:
    """A button that shows one alone."""
    button = Markup('<button type="button" data-choose="{}" aria-pressed="true">{}</button>')
    return button.format(what, content)


def row(content: Markup) -> Markup:
    """A row of what can be changed."""
    return Markup('<div class="charts-row">{}</div>').format(content)


def choice(label: str, kind: str, buttons: list) -> Markup:
    """A row of buttons with its name."""
    return Markup(
        '<div class="charts-row charts-{}" role="group" aria-label="{}"><span>{}</span>\n{}\n</div>'
    ).format(kind, label, label, Markup("\n").join(buttons))


def box(name: str, label: str) -> Markup:
    """Something to tick."""
    field = Markup('<input type="checkbox" class="charts-{}" autocomplete="off">').format(name)
    return Markup("<label>{} {}</label>\n").format(field, label)


def panel_html(panel: Panel, group: Group, prefix: str) -> Markup:
    """One chart: where it is drawn, its picture for print, how to read it, and its table."""
    name, width, static = f"{prefix}-{panel.name}", window_of(panel), Markup()
    if panel.is_drawn and drawing.is_available():
        static = line_drawing.panel_svg(panel, group, name)
    thinned = f" Each point is the mean of {width} steps." if width > 1 else ""
    texts = {"panel": panel.name, "title": panel.title, "said": description(panel, group)}
    note = words.raised((panel.note + thinned).strip())
    return Markup(
        '<figure class="chart" data-panel="{panel}">\n'
        '<h3 id="{name}-h">{title}</h3>\n'
        '<div class="chart-live">\n<div class="chart-plot" tabindex="0" role="group" '
        'aria-roledescription="chart" aria-labelledby="{name}-h" aria-describedby="{name}-d">'
        '</div>\n<p class="chart-said" aria-hidden="true"></p>\n'
        '<p class="unseen" role="status"></p>\n</div>\n'
        '<div class="chart-static">{static}</div>\n'
        '<p class="unseen" id="{name}-d">{said}</p>\n'
        "<figcaption>{note}</figcaption>\n{table}\n</figure>"
    ).format(
        name=name,
        static=static,
        note=note,
        table=details("As a table", numbers(panel, group)),
        **texts,
    )


def sample(style: drawing.Style) -> Markup:
    """A piece of line, as it is drawn."""
    dashes = " ".join(f"{d * style.width:.3g}" for d in style.dashes)
    attribute = Markup(' stroke-dasharray="{}"').format(dashes) if dashes else ""
    return Markup(
        '<svg width="26" height="12" viewBox="0 0 26 12" aria-hidden="true"><path d="M1 6h24" '
        'stroke="var({})" stroke-width="{}"{}/></svg>'
    ).format(drawing.VARIABLES[style.color], min(style.width, 3.2), attribute)


def numbers(panel: Panel, group: Group) -> Markup:
    """Means over seeds at some steps, with how far they reach from the lowest to the highest."""
    steps = sorted({float(x) for line in panel.lines for x in line.x})
    columns = len(steps) if group.x_powers else ROWS
    some = np.unique(np.linspace(0, len(steps) - 1, columns).astype(int)) if steps else ()
    chosen = [steps[i] for i in some]
    rows = []
    for arm in group.arms:
        lines = [line for line in panel.lines if line.arm == arm.name]
        if lines:
            cells = [cell([at(line, step) for line in lines], panel) for step in chosen]
            rows.append([code(arm.name), *cells])
    place = words.power_text if group.x_powers else "{:,.0f}".format
    if group.places:
        place = dict(enumerate(group.places)).get
    seeds = ": mean over seeds, and from the lowest to the highest" if len(group.seeds) > 1 else ""
    return table(panel.title + seeds, [group.x, *map(place, chosen)], rows)


def at(line: Line, step: float) -> float | None:
    """The value at a step; None where there is none."""
    i = int(np.searchsorted(np.asarray(line.x), step))
    return float(line.y[i]) if i < len(line.x) and line.x[i] == step else None


def cell(values: list, panel: Panel) -> str | Markup:
    """A mean, and below it the range where there is one; NaN where a run was lost."""
    there = [v for v in values if v is not None]
    if not there:
        return "–"
    if not all(map(math.isfinite, there)):
        return "NaN"
    show = words.power_text if panel.powers else words.percent if panel.percent else words.short
    text = show(sum(there) / len(there))
    low, high = show(min(there)), show(max(there))
    spread = Markup("{}<br><small>{} to {}</small>")
    return text if low == high else spread.format(text, low, high)
