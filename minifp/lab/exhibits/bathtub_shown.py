"""Exhibits over constant loss scales: a cliff, a flat floor, a wall. As text, numbers, picture.

Below the floor gradients are flushed to zero, above it they overflow and all steps are skipped
(Micikevicius et al. 2018, section 3.2).
"""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from minifp.lab.conclusions.rows import Row
from minifp.lab.exhibits.doses_shown import each, notes
from minifp.lab.exhibits.fates import LEARNED, NOTHING, fates, fates_text
from minifp.lab.page.captions import mean_text, metric_label
from minifp.report import drawing, words
from minifp.report.markup import paragraph, section, table
from minifp.report.plain_text import columns, fill

__all__ = ["findings", "markdown", "notes", "pictures", "sections", "text_table", "told"]


@dataclass(frozen=True)
class Place:
    """One loss scale: log2 of it, its row, how many runs came to nothing, by how, and the share of
    steps that were skipped."""

    power: float
    row: Row
    came: Counter
    skipped: float


def places(exhibit, comparison) -> list[Place]:
    """One for each loss scale that has runs, the smallest first."""
    rows = {row.precision: row for row in comparison.rows()}
    found = []
    for arm, scale in sorted(exhibit.doses.items(), key=lambda pair: pair[1]):
        runs = [run for run in comparison.runs_of(arm) if run.steps]
        if runs:
            skipped = sum(run.skipped for run in runs) / sum(run.steps for run in runs)
            found.append(Place(math.log2(scale), rows[arm], fates(comparison, arm), skipped))
    return found


def floor(found: list[Place]) -> list[Place]:
    """The longest stretch of scales at which no run came to nothing."""
    stretches: list[list[Place]] = [[]]
    for place in found:
        if place.came:
            stretches.append([])
        else:
            stretches[-1].append(place)
    return max(stretches, key=len)


def finding(exhibit, comparison) -> str:
    """Where the floor is, and what happens beside it."""
    found = places(exhibit, comparison)
    if not found:
        return "nothing was trained yet"
    flat = floor(found)
    if not flat:
        return "no loss scale that was tried is good"
    low, high = (words.power_text(place.power) for place in (flat[0], flat[-1]))
    which = f"every S from {low} to {high}" if len(flat) > 1 else f"of the tried, S = {low}"
    lowest = min(p.row.mean for p in flat if p.row.mean is not None)
    task, places_ = comparison.task, words.decimals(comparison.task.margin)
    text = (
        f"{which} trains, to {task.metric_name} of at least "
        f"{words.fixed(lowest, places_)} {task.metric_unit}".rstrip()
    )
    beside = [("below", [p for p in found if p.power < flat[0].power])]
    beside.append(("above", [p for p in found if p.power > flat[-1].power]))
    for where, there in beside:
        hows = dict.fromkeys(how for place in there for how in place.came)
        text += f"; {where}: {words.listed(list(hows))}" if hows else ""
    return text


def about(exhibit, comparison) -> str:
    """What was trained, and what the columns are."""
    c, task = comparison, comparison.task
    there = len(c.done() & {*c.asked})
    left = "" if there == len(c.asked) else f"; {there} of {len(c.asked)} runs are there"
    return (
        f"{exhibit.title}. {task.name}, {c.config['steps']:,} steps, "
        f"{words.plural(len(c.seeds), 'seed')}{left}, at constant loss scales S. "
        f"{metric_label(task)}: mean over seeds. {NOTHING[:1].upper() + NOTHING[1:]}: less than "
        f"{LEARNED:.0%} of float32's. "
        f"{c.dial_note()}"
    ).rstrip()


def head(comparison) -> list[str]:
    """Of the table."""
    return ["S", metric_label(comparison.task), "skipped", ""]


def rows(exhibit, comparison) -> list[list[str]]:
    """The baseline, then a line for each scale."""
    digits = words.decimals(comparison.task.margin)
    base = next(row for row in comparison.rows() if row.precision == comparison.baseline)
    found = [[base.precision, mean_text(base, digits), "", ""]]
    for p in places(exhibit, comparison):
        skipped = f"{100 * p.skipped:.0f}%"
        came = fates_text(p.came, p.row.n)
        found.append([words.power_text(p.power), mean_text(p.row, digits), skipped, came])
    return found


def findings(gallery) -> list[str]:
    """What came out of each."""
    return [f"{exhibit.title}: {finding(exhibit, c)}." for exhibit, c in each(gallery)]


def text_table(gallery) -> str:
    """Everything, for a terminal."""
    parts = []
    for exhibit, comparison in each(gallery):
        parts.append(fill(about(exhibit, comparison)))
        lines = [head(comparison), *rows(exhibit, comparison)]
        parts.append(columns(lines, text_columns=(0, 3)))
    said = [*findings(gallery), *notes(gallery)]
    return "\n\n".join([*parts, "\n".join(fill(text, hang="  ") for text in said)])


def told(gallery) -> list[dict]:
    """The numbers of each."""
    found = []
    for exhibit, comparison in each(gallery):
        names = ("n", "diverged", "mean", "sd", "difference")
        numbers = [
            {"log2_scale": p.power, "arm": p.row.precision, "skipped": p.skipped,
             **{name: getattr(p.row, name) for name in names}, "came_to_nothing": dict(p.came)}
            for p in places(exhibit, comparison)
        ]  # fmt: skip
        said: dict[str, Any] = {"claim": exhibit.claim, "searched": exhibit.searched}
        said |= {"finding": finding(exhibit, comparison), "scales": numbers}
        ran = {"seeds": comparison.seeds, "settings": comparison.config}
        found.append({"name": exhibit.name, "title": exhibit.title, **said, **ran})
    return found


def markdown(gallery) -> str:
    """The tables for a document."""
    parts = []
    for exhibit, comparison in each(gallery):
        top = head(comparison)
        lines = [top, ["---"] * len(top), *rows(exhibit, comparison)]
        parts.append(about(exhibit, comparison))
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    parts.append("\n".join(f"- {text}" for text in [*findings(gallery), *notes(gallery)]))
    return "\n\n".join(parts) + "\n"


def sections(gallery) -> Markup:
    """What the page has of them."""
    parts = []
    for exhibit, comparison in each(gallery):
        lines = rows(exhibit, comparison)
        drawn = table(exhibit.title, head(comparison), lines, text_columns=(3,))
        said = paragraph(about(exhibit, comparison))
        parts.append(section(exhibit.title, said, picture_html(exhibit, comparison), drawn))
    return Markup("\n").join([*parts, *(paragraph(text) for text in notes(gallery))])


def picture_html(exhibit, comparison) -> Markup:
    """The picture inside of the page, where matplotlib is."""
    if not drawing.is_available():
        return paragraph(drawing.HOW_TO_GET)
    said = finding(exhibit, comparison)
    drawn = picture(exhibit, comparison)
    return drawing.inline_svg(drawn, f"b-{exhibit.name}", exhibit.title, said)


def pictures(gallery) -> dict:
    """A figure for each exhibit, by the name of its file."""
    return {exhibit.name: picture(exhibit, c) for exhibit, c in each(gallery)}


def picture(exhibit, comparison):
    """A matplotlib Figure: the metric over log2 of the scale, float32's as a line, and the share of
    skipped steps below."""
    from matplotlib.figure import Figure

    found = places(exhibit, comparison)
    with drawing.settings():
        made = Figure(figsize=(7.2, 4.0))
        made.set_layout_engine("constrained")
        upper, lower = made.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        draw_metric(upper, found, comparison)
        style = drawing.STYLES[2]
        lower.bar([p.power for p in found], [100 * p.skipped for p in found], color=style.color)
        lower.set_ylabel("skipped (%)")
        lower.set_ylim(0, 105)
        lower.set_xlabel("log2 of the loss scale S")
        drawing.settle(made)
    return made


def draw_metric(axes, found, comparison):
    """A mark for each run, a line through the means; a cross at 0 for runs without a metric."""
    style, base = drawing.STYLES[1], drawing.STYLES[0]
    level = [r.metric for r in comparison.runs_of(comparison.baseline) if r.metric is not None]
    for i, value in enumerate(level):
        label = comparison.baseline if i == 0 else None
        axes.axhline(value, color=base.color, linewidth=base.width / 2, label=label, zorder=1)
    known = [p for p in found if p.row.mean is not None]
    line = {"color": style.color, "linewidth": style.width, "label": "mixed, S constant"}
    axes.plot([p.power for p in known], [p.row.mean for p in known], **line)
    for p in found:
        for run in comparison.runs_of(p.row.precision):
            lost = run.metric is None
            mark = {"color": style.color, "marker": "x" if lost else style.marker, "markersize": 4}
            axes.plot([p.power], [0.0 if lost else run.metric], linestyle="none", **mark)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(metric_label(comparison.task))
    axes.set_title(f"{comparison.task.name}: what each loss scale comes to")
    axes.legend(fontsize=8)
