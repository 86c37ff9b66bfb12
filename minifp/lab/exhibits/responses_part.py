"""Exhibits with doses, loss scales among them: a table of the responses to each, and a chart."""

import math
from dataclasses import asdict

from minifp.lab.conclusions.claims import metric_differences
from minifp.lab.exhibits import bathtub, doses
from minifp.lab.exhibits.doses import Response, percent, responses
from minifp.lab.exhibits.exhibit import facts_of, section_each
from minifp.lab.exhibits.failures import LEARNED, NOTHING, failures_text
from minifp.lab.exhibits.lines_part import ENDS
from minifp.lab.page import line_charts
from minifp.lab.page.captions import mean_text, metric_label, metric_title, runs_there
from minifp.lab.page.row_charts import DIFFERENCE
from minifp.report import drawing, words
from minifp.report.charts import Arm, Group, Line, Panel
from minifp.report.content import Document, Section, Table
from minifp.report.rows import Mark, Row, Rows

MIXED = "mixed, S constant"


def part(gallery) -> Document:
    """A section for each."""
    return section_each(gallery, findings, section, data)


def is_of_scales(exhibit) -> bool:
    """Whether the doses are loss scales."""
    return exhibit.kind == "bathtub"


def findings(exhibit, comparison) -> list[str]:
    """What came out, and the slope where there is one."""
    if is_of_scales(exhibit):
        return [f"{bathtub.finding(exhibit, comparison)}."]
    slope = doses.slope_text(exhibit, comparison)
    return [f"{doses.finding(exhibit, comparison)}.", *([slope] if slope else [])]


def section(exhibit, comparison) -> Section:
    """What was trained, the chart, the table."""
    chart = scales_group if is_of_scales(exhibit) else differences
    shown = [about(exhibit, comparison), chart(exhibit, comparison), table(exhibit, comparison)]
    return Section(exhibit.title, shown)


def about(exhibit, comparison) -> str:
    """What was trained, and what the columns are."""
    c, task = comparison, comparison.task
    return (
        f"The claim: {exhibit.claim}. {task.name}, {c.config['steps']:,} steps, "
        f"{words.plural(len(c.seeds), 'seed')}{runs_there([c])}. {metric_label(task)}: mean ± "
        f"standard deviation over seeds; differences from {c.baseline}, paired by seed, with 90% "
        f"intervals; the margin is {task.margin:g} {task.difference_unit}. {NOTHING.capitalize()}: "
        f"less than {LEARNED:.0%} of float32's. {c.dial_note()}"
    ).rstrip()


def table(exhibit, comparison) -> Table:
    """The baseline and what else has no dose, then a line for each dose."""
    task, places = comparison.task, words.decimals(comparison.task.margin)

    def cells(row):
        difference = words.interval_text(row.difference, row.low, row.high, places)
        return [mean_text(row, places), difference]

    head = [exhibit.dose, "skipped", metric_label(task), f"less {comparison.baseline}", "verdict"]
    others = [row for row in comparison.rows() if row.precision not in exhibit.doses]
    lines = [[row.precision, "", *cells(row), "", ""] for row in others]
    for r in responses(exhibit, comparison):
        verdict = (r.row.verdict or "-") + (" (weak)" if r.row.weak else "")
        ended = [verdict, failures_text(r.failures, r.row.n)]
        lines.append([name_of(exhibit, r), percent(r.share), *cells(r.row), *ended])
    return Table(exhibit.title, [[*head, ""], *lines], text_columns=(4, 5))


def name_of(exhibit, response: Response) -> str:
    """A dose in words."""
    if is_of_scales(exhibit):
        return words.power_text(response.power)
    return f"{response.dose:,g}"


def data(exhibit, comparison) -> dict:
    """The numbers of one."""
    facts = facts_of(exhibit, comparison)
    if is_of_scales(exhibit):
        scales = [
            {"log2_scale": r.power, "arm": r.row.precision, "skipped": r.share, **numbers(r)}
            for r in bathtub.places(exhibit, comparison)
        ]
        return {**facts, "finding": bathtub.finding(exhibit, comparison), "scales": scales}
    slope = doses.slope(exhibit, comparison)
    shares = [
        {"dose": r.dose, "skipped": r.share, "skipped_least": r.low, "skipped_most": r.high}
        | {"arm": r.row.precision, **numbers(r)}
        for r in responses(exhibit, comparison)
    ]
    told = {"finding": doses.finding(exhibit, comparison), "dose": exhibit.dose}
    trend = None if slope is None else asdict(slope)
    return {**facts, **told, "responses": shares, "slope": trend}


def numbers(response: Response) -> dict:
    """What became of the runs with one dose."""
    known = {name: getattr(response.row, name) for name in ENDS}
    return {**known, "came_to_nothing": dict(response.failures)}


# ---- as charts -----------------------------------------------------------------------------------


def differences(exhibit, comparison) -> Rows:
    """The difference from the baseline at each dose, and the margin."""
    task, rows = comparison.task, []
    for r in responses(exhibit, comparison):
        each = metric_differences(comparison, r.row.precision)
        mark = Mark(r.row.difference, drawing.STYLES[1], r.row.low, r.row.high, each)
        name = f"{exhibit.dose} {name_of(exhibit, r)}"
        rows.append(Row(name, [mark], f"{percent(r.share)} skipped"))
    x = f"{metric_label(task)} less {comparison.baseline}'s; shaded: the margin"
    said = " ".join(findings(exhibit, comparison))
    look: dict = {"note": DIFFERENCE, "margin": task.margin}
    return Rows(exhibit.name, exhibit.title, rows, x, said, **look)


def scales_group(exhibit, comparison) -> Group:
    """The metric over log2 of the scale, and float32's; and the share of skipped steps."""
    base, lost = comparison.baseline, []
    powers = {r.row.precision: round(r.power) for r in bathtub.places(exhibit, comparison)}
    metrics: dict[tuple, dict] = {}
    skipped: dict[tuple, dict] = {}
    for arm, power in powers.items():
        for run in comparison.runs_of(arm):
            is_lost = run.metric is None
            metrics.setdefault((MIXED, run.seed), {})[power] = math.nan if is_lost else run.metric
            skipped.setdefault((MIXED, run.seed), {})[power] = run.skipped / max(run.steps, 1)
            lost += [(MIXED, run.seed, [power])] if is_lost else []
    for run in comparison.runs_of(base) if powers else ():
        if run.metric is not None:
            metrics[base, run.seed] = dict.fromkeys(powers.values(), run.metric)
    note = "Ticks at the bottom: runs that ended without a metric." if lost else ""
    said = " ".join(findings(exhibit, comparison))
    title = metric_title(comparison.task)
    panels = [Panel(exhibit.name, title, lines_of(metrics), said, note, points=True, marks=lost)]
    shares: dict = {"points": True, "percent": True, "minus": False}
    panels += [Panel(f"{exhibit.name}-skipped", "Skipped steps", lines_of(skipped), **shares)]
    arms = [Arm(base, drawing.STYLES[0]), Arm(MIXED, drawing.STYLES[1])]
    names: dict = {"x": exhibit.dose, "x_powers": True, "title": exhibit.title}
    names |= {"name": exhibit.name, "baseline": base, **line_charts.seeds_of(comparison)}
    return Group(panels if powers else [], arms, **names)


def lines_of(curves: dict[tuple, dict]) -> list[Line]:
    """A line for each arm and seed, of its values by their places."""
    return [
        Line(arm, seed, [*values], [*values.values()]) for (arm, seed), values in curves.items()
    ]
