"""Exhibits with doses: as text, as numbers, as a picture and in the page of the gallery."""

from dataclasses import asdict
from typing import Any

from markupsafe import Markup

from minifp.lab.exhibits.doses import finding, percent, responses, slope, slope_text
from minifp.lab.exhibits.exhibit import Exhibit
from minifp.lab.page.captions import mean_text, metric_label
from minifp.report import drawing, words
from minifp.report.markup import paragraph, section, table, wide
from minifp.report.plain_text import columns, fill


def each(gallery) -> list[tuple[Exhibit, Any]]:
    """The exhibits with their comparisons."""
    return [*zip(gallery.exhibits, gallery.comparisons)]


def about(exhibit, comparison) -> str:
    """What was trained, and what the columns are."""
    c, task = comparison, comparison.task
    there = len(c.done() & {*c.asked})
    left = "" if there == len(c.asked) else f"; {there} of {len(c.asked)} runs are there"
    return (
        f"{exhibit.title}. The claim: {exhibit.claim}. {task.name}, {c.config['steps']:,} steps, "
        f"{words.plural(len(c.seeds), 'seed')}{left}. {task.metric_name} in {task.metric_unit}, "
        "mean ± standard deviation over seeds; differences from float32, paired by seed, with 90% "
        f"intervals; the margin is {task.margin:g} {task.difference_unit}."
    )


def head(exhibit, comparison) -> list[str]:
    """Of the table."""
    task = comparison.task
    return [exhibit.dose, "skipped", metric_label(task), f"less {comparison.baseline}", "verdict"]


def rows(exhibit, comparison) -> list[list[str]]:
    """The baseline and controls, then a line for each dose."""
    places = words.decimals(comparison.task.margin)
    found = [
        [row.precision, "", mean_text(row, places), difference(row, places), ""]
        for row in comparison.rows()
        if row.precision not in exhibit.doses
    ]
    for r in responses(exhibit, comparison):
        verdict = (r.row.verdict or "-") + (" (weak)" if r.row.weak else "")
        cells = mean_text(r.row, places), difference(r.row, places), verdict
        found.append([f"{r.dose:,g}", percent(r.share), *cells])
    return found


def difference(row, places) -> str:
    """A difference with its interval."""
    if not words.is_number(row.difference):
        return ""
    text = words.signed(row.difference, places)
    if words.is_number(row.low):
        text += f" [{words.signed(row.low, places)}, {words.signed(row.high, places)}]"
    return text


def findings(gallery) -> list[str]:
    """What came out of each."""
    told = []
    for exhibit, comparison in each(gallery):
        told.append(f"{exhibit.title}: {finding(exhibit, comparison)}.")
        told += filter(None, [slope_text(exhibit, comparison)])
    return told


def notes(gallery) -> list[str]:
    """What must be known beside the tables."""
    searched = dict.fromkeys(exhibit.searched for exhibit, _ in each(gallery))
    return [f"Tried before the settings were fixed: {text}." for text in searched]


def text_table(gallery) -> str:
    """Everything, for a terminal."""
    parts = []
    for exhibit, comparison in each(gallery):
        parts.append(fill(about(exhibit, comparison)))
        parts.append(columns([head(exhibit, comparison), *rows(exhibit, comparison)]))
    said = [*findings(gallery), *notes(gallery)]
    parts.append("\n".join(fill(text, hang="  ") for text in said))
    return "\n\n".join(parts)


def told(gallery) -> list[dict]:
    """The numbers of each."""
    found = []
    for exhibit, comparison in each(gallery):
        trend = slope(exhibit, comparison)
        found.append(
            {
                "name": exhibit.name,
                "title": exhibit.title,
                "claim": exhibit.claim,
                "searched": exhibit.searched,
                "finding": finding(exhibit, comparison),
                "dose": exhibit.dose,
                "responses": [response_told(r) for r in responses(exhibit, comparison)],
                "slope": None if trend is None else asdict(trend),
                "seeds": comparison.seeds,
                "settings": comparison.config,
            }
        )
    return found


def response_told(response) -> dict:
    """One dose as plain numbers."""
    row = response.row
    names = ("n", "diverged", "mean", "sd", "difference", "low", "high", "verdict", "needed")
    shares = {"skipped": response.share, "skipped_least": response.low}
    shares |= {"skipped_most": response.high, "arm": row.precision}
    return {"dose": response.dose, **shares, **{name: getattr(row, name) for name in names}}


def markdown(gallery) -> str:
    """The tables for a document."""
    parts = []
    for exhibit, comparison in each(gallery):
        top = head(exhibit, comparison)
        lines = [top, ["---"] * len(top)]
        lines += [[cells[0], *map(words.typeset, cells[1:])] for cells in rows(exhibit, comparison)]
        parts.append(about(exhibit, comparison))
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    said = [*findings(gallery), *notes(gallery)]
    parts.append("\n".join(f"- {words.typeset(text)}" for text in said))
    return "\n\n".join(parts) + "\n"


def sections(gallery) -> Markup:
    """What the page has of them."""
    parts = []
    for exhibit, comparison in each(gallery):
        cells = [[first, *map(words.typeset, rest)] for first, *rest in rows(exhibit, comparison)]
        parts.append(
            section(
                exhibit.title,
                paragraph(about(exhibit, comparison)),
                drawn(exhibit, comparison),
                table(exhibit.title, head(exhibit, comparison), cells),
            )
        )
    return Markup("\n").join([*parts, *(paragraph(text) for text in notes(gallery))])


# ---- as a picture -------------------------------------------------------------------------------


def drawn(exhibit, comparison) -> Markup:
    """The picture inside of the page, where matplotlib is."""
    if not drawing.is_available():
        return paragraph(drawing.HOW_TO_GET)
    said = f"{finding(exhibit, comparison)}. {slope_text(exhibit, comparison)}"
    figure = picture(exhibit, comparison)
    return wide(drawing.inline_svg(figure, f"d-{exhibit.name}", exhibit.title, said))


def pictures(gallery) -> dict:
    """A figure for each exhibit, by the name of its file."""
    return {exhibit.name: picture(exhibit, c) for exhibit, c in each(gallery)}


def picture(exhibit, comparison):
    """A matplotlib Figure over the doses: the share of skipped steps, and the difference from the
    baseline with its intervals and the margin."""
    from matplotlib.figure import Figure

    found = [r for r in responses(exhibit, comparison) if r.row.n]
    with drawing.settings():
        made = Figure(figsize=(9.2, 3.4))
        made.set_layout_engine("constrained", w_pad=0.12)
        skipped, differs = made.subplots(1, 2)
        draw_shares(skipped, found)
        draw_differences(differs, found, comparison)
        for axes in (skipped, differs):
            axes.set_xscale("log")
            axes.set_xticks([r.dose for r in found], [f"{r.dose:,g}" for r in found])
            axes.set_xticks([], minor=True)
            axes.set_xlabel(f"{exhibit.dose}, in steps")
        drawing.settle(made)
    return made


def draw_shares(axes, found):
    """The share of steps that were skipped: the mean, over seeds, and one step in (dose + 1)."""
    style, known = drawing.STYLES[1], [r for r in found if r.share]
    doses = [r.dose for r in found]
    expected = {"color": drawing.MUTED, "linestyle": (0, (4, 2)), "linewidth": 1}
    axes.plot(doses, [100 / (d + 1) for d in doses], label="one in (interval + 1)", **expected)
    ends = [[100 * (r.share - r.low) for r in known], [100 * (r.high - r.share) for r in known]]
    look = {"color": style.color, "marker": style.marker, "markersize": 5, "linestyle": "none"}
    at = [r.dose for r in known], [100 * r.share for r in known]
    axes.errorbar(*at, yerr=ends, elinewidth=1.4, label="mean, and range over seeds", **look)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_title("Skipped steps (%)")
    axes.legend(fontsize=8)


def draw_differences(axes, found, comparison):
    """The difference from the baseline with its interval; shaded: the margin."""
    task, style = comparison.task, drawing.STYLES[1]
    axes.axhspan(-task.margin, task.margin, color=drawing.GRID, alpha=0.45, linewidth=0)
    axes.axhline(0, color=drawing.MUTED, linewidth=0.8)
    known = [r for r in found if words.is_number(r.row.difference)]
    for r in known:
        if words.is_number(r.row.low):
            axes.vlines(r.dose, r.row.low, r.row.high, color=style.color, linewidth=1.8)
    at = [r.dose for r in known], [r.row.difference for r in known]
    axes.plot(*at, style.marker, color=style.color, markersize=6)
    axes.set_title(f"{metric_label(task)} less {comparison.baseline}'s; shaded: the margin")
