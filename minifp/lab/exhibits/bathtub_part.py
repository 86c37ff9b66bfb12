"""Exhibits over constant loss scales: a cliff, a flat floor, a wall.

Below the floor gradients are flushed to zero, above it they overflow and all steps are skipped
(Micikevicius et al. 2018, section 3.2).
"""

from minifp.lab.exhibits.doses import Response, responses
from minifp.lab.exhibits.exhibit import facts_of, section_each
from minifp.lab.exhibits.failures import LEARNED, NOTHING, failures_text
from minifp.lab.page.captions import mean_text, metric_label, runs_there
from minifp.report import drawing, words
from minifp.report.content import Document, Picture, Section, Table

NUMBERS = ("n", "diverged", "mean", "sd", "difference")


def places(exhibit, comparison) -> list[Response]:
    """One for each loss scale that has runs, the smallest first."""
    return [r for r in responses(exhibit, comparison) if r.share is not None]


def floor(scales: list[Response]) -> list[Response]:
    """The longest stretch of scales at which no run came to nothing."""
    stretches: list[list[Response]] = [[]]
    for place in scales:
        if place.failures:
            stretches.append([])
        else:
            stretches[-1].append(place)
    return max(stretches, key=len)


def finding(exhibit, comparison) -> str:
    """Where the floor is, and what happens beside it."""
    scales = places(exhibit, comparison)
    if not scales:
        return "nothing was trained yet"
    flat = floor(scales)
    if not flat:
        return "no loss scale that was tried is good"
    low, high = (words.power_text(place.power) for place in (flat[0], flat[-1]))
    which = f"every S from {low} to {high}" if len(flat) > 1 else f"of the tried, S = {low}"
    lowest = min(p.row.mean for p in flat if p.row.mean is not None)
    task, digits = comparison.task, words.decimals(comparison.task.margin)
    text = (
        f"{which} trains, to {task.metric_name} of at least "
        f"{words.fixed(lowest, digits)} {task.metric_unit}".rstrip()
    )
    beside = [("below", [p for p in scales if p.power < flat[0].power])]
    beside.append(("above", [p for p in scales if p.power > flat[-1].power]))
    for where, there in beside:
        hows = dict.fromkeys(how for place in there for how in place.failures)
        text += f"; {where}: {words.listed(list(hows))}" if hows else ""
    return text


def about(exhibit, comparison) -> str:
    """What was trained, and what the columns are."""
    c, task = comparison, comparison.task
    return (
        f"{task.name}, {c.config['steps']:,} steps, "
        f"{words.plural(len(c.seeds), 'seed')}{runs_there([c])}, at constant loss scales S. "
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
    lines = [[base.precision, mean_text(base, digits), "", ""]]
    for p in places(exhibit, comparison):
        skipped, lost = f"{100 * (p.share or 0):.0f}%", failures_text(p.failures, p.row.n)
        lines.append([words.power_text(p.power), mean_text(p.row, digits), skipped, lost])
    return lines


def part(gallery) -> Document:
    """A section for each."""
    return section_each(gallery, lambda *pair: [f"{finding(*pair)}."], section, data)


def section(exhibit, comparison) -> Section:
    """What was trained, the picture, the table."""
    said = finding(exhibit, comparison)
    drawn = Picture(exhibit.name, exhibit.title, said, lambda look: figure(exhibit, comparison))
    lines = [head(comparison), *rows(exhibit, comparison)]
    table = Table(exhibit.title, lines, text_columns=(3,))
    return Section(exhibit.title, [about(exhibit, comparison), drawn, table])


def data(exhibit, comparison) -> dict:
    """The numbers of one."""
    scales = [
        {"log2_scale": p.power, "arm": p.row.precision, "skipped": p.share,
         **{name: getattr(p.row, name) for name in NUMBERS}, "came_to_nothing": dict(p.failures)}
        for p in places(exhibit, comparison)
    ]  # fmt: skip
    said = finding(exhibit, comparison)
    return {**facts_of(exhibit, comparison), "finding": said, "scales": scales}


# ---- as a picture -------------------------------------------------------------------------------


def figure(exhibit, comparison):
    """A matplotlib Figure: the metric over log2 of the scale, float32's as a line, and the share of
    skipped steps below."""
    scales = places(exhibit, comparison)
    shape = {"sharex": True, "height_ratios": [3, 1]}
    with drawing.canvas(7.2, 4.0, 2, 1, **shape) as (picture, (upper, lower)):
        draw_metric(upper, scales, comparison)
        style = drawing.STYLES[2]
        lower.bar(
            [p.power for p in scales], [100 * (p.share or 0) for p in scales], color=style.color
        )
        lower.set_ylabel("skipped (%)")
        lower.set_ylim(0, 105)
        lower.set_xlabel("log2 of the loss scale S")
    return picture


def draw_metric(axes, scales, comparison):
    """A mark for each run, a line through the means; a cross at 0 for runs without a metric."""
    style, base = drawing.STYLES[1], drawing.STYLES[0]
    level = [r.metric for r in comparison.runs_of(comparison.baseline) if r.metric is not None]
    for i, value in enumerate(level):
        label = comparison.baseline if i == 0 else None
        axes.axhline(value, color=base.color, linewidth=base.width / 2, label=label, zorder=1)
    known = [p for p in scales if p.row.mean is not None]
    line = {"color": style.color, "linewidth": style.width, "label": "mixed, S constant"}
    axes.plot([p.power for p in known], [p.row.mean for p in known], **line)
    for p in scales:
        for run in comparison.runs_of(p.row.precision):
            lost = run.metric is None
            mark = {"color": style.color, "marker": "x" if lost else style.marker, "markersize": 4}
            axes.plot([p.power], [0.0 if lost else run.metric], linestyle="none", **mark)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(metric_label(comparison.task))
    axes.set_title(f"{comparison.task.name}: what each loss scale comes to")
    axes.legend(fontsize=8)
