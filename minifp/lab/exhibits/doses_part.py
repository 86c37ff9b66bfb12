"""Exhibits with doses: a table of the responses and their picture."""

from dataclasses import asdict

from minifp.lab.exhibits.doses import finding, percent, responses, slope, slope_text
from minifp.lab.exhibits.exhibit import facts_of, section_each
from minifp.lab.page.captions import mean_text, metric_label, runs_there
from minifp.report import drawing, words
from minifp.report.content import Document, Picture, Section, Table

NUMBERS = ("n", "diverged", "mean", "sd", "difference", "low", "high", "verdict", "needed")


def part(gallery) -> Document:
    """A section for each."""
    return section_each(gallery, findings, section, data)


def findings(exhibit, comparison) -> list[str]:
    """What came out, and the slope where there is one."""
    texts = f"{finding(exhibit, comparison)}.", slope_text(exhibit, comparison)
    return [*filter(None, texts)]


def section(exhibit, comparison) -> Section:
    """What was trained, the picture, the table."""
    said = " ".join(findings(exhibit, comparison))
    drawn = Picture(exhibit.name, exhibit.title, said, lambda look: figure(exhibit, comparison))
    table = Table(exhibit.title, [head(exhibit, comparison), *rows(exhibit, comparison)])
    return Section(exhibit.title, [about(exhibit, comparison), drawn, table])


def about(exhibit, comparison) -> str:
    """What was trained, and what the columns are."""
    c, task = comparison, comparison.task
    return (
        f"The claim: {exhibit.claim}. {task.name}, {c.config['steps']:,} steps, "
        f"{words.plural(len(c.seeds), 'seed')}{runs_there([c])}. {task.metric_name} in "
        f"{task.metric_unit}, mean ± standard deviation over seeds; differences from float32, "
        "paired by seed, with 90% intervals; the margin is "
        f"{task.margin:g} {task.difference_unit}."
    )


def head(exhibit, comparison) -> list[str]:
    """Of the table."""
    task = comparison.task
    return [exhibit.dose, "skipped", metric_label(task), f"less {comparison.baseline}", "verdict"]


def rows(exhibit, comparison) -> list[list[str]]:
    """The baseline and what else has no dose, then a line for each dose."""
    places = words.decimals(comparison.task.margin)

    def cells(row):
        difference = words.interval_text(row.difference, row.low, row.high, places)
        return [mean_text(row, places), difference]

    others = [row for row in comparison.rows() if row.precision not in exhibit.doses]
    lines = [[row.precision, "", *cells(row), ""] for row in others]
    for r in responses(exhibit, comparison):
        verdict = (r.row.verdict or "-") + (" (weak)" if r.row.weak else "")
        lines.append([f"{r.dose:,g}", percent(r.share), *cells(r.row), verdict])
    return lines


def data(exhibit, comparison) -> dict:
    """The numbers of one."""
    trend = slope(exhibit, comparison)
    return {
        **facts_of(exhibit, comparison),
        "finding": finding(exhibit, comparison),
        "dose": exhibit.dose,
        "responses": [response_data(r) for r in responses(exhibit, comparison)],
        "slope": None if trend is None else asdict(trend),
    }


def response_data(response) -> dict:
    """One dose as plain numbers."""
    row = response.row
    shares = {"skipped": response.share, "skipped_least": response.low}
    shares |= {"skipped_most": response.high, "arm": row.precision}
    return {"dose": response.dose, **shares, **{name: getattr(row, name) for name in NUMBERS}}


# ---- as a picture -------------------------------------------------------------------------------


def figure(exhibit, comparison):
    """A matplotlib Figure over the doses: the share of skipped steps, and the difference from the
    baseline with its intervals and the margin."""
    known = [r for r in responses(exhibit, comparison) if r.row.n]
    with drawing.canvas(9.2, 3.4, 1, 2) as (picture, (skipped, differs)):
        draw_shares(skipped, known)
        draw_differences(differs, known, comparison)
        for axes in (skipped, differs):
            axes.set_xscale("log")
            axes.set_xticks([r.dose for r in known], [f"{r.dose:,g}" for r in known])
            axes.set_xticks([], minor=True)
            axes.set_xlabel(f"{exhibit.dose}, in steps")
    return picture


def draw_shares(axes, doses):
    """The share of steps that were skipped: the mean, over seeds, and one step in (dose + 1)."""
    style, known = drawing.STYLES[1], [r for r in doses if r.share]
    expected = {"color": drawing.MUTED, "linestyle": (0, (4, 2)), "linewidth": 1}
    at = [r.dose for r in doses]
    axes.plot(at, [100 / (d + 1) for d in at], label="one in (interval + 1)", **expected)
    ends = [[100 * (r.share - r.low) for r in known], [100 * (r.high - r.share) for r in known]]
    look = {"color": style.color, "marker": style.marker, "markersize": 5, "linestyle": "none"}
    at = [r.dose for r in known], [100 * r.share for r in known]
    axes.errorbar(*at, yerr=ends, elinewidth=1.4, label="mean, and range over seeds", **look)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_title("Skipped steps (%)")
    axes.legend(fontsize=8)


def draw_differences(axes, doses, comparison):
    """The difference from the baseline with its interval; shaded: the margin."""
    task, style = comparison.task, drawing.STYLES[1]
    axes.axhspan(-task.margin, task.margin, color=drawing.GRID, alpha=0.45, linewidth=0)
    axes.axhline(0, color=drawing.MUTED, linewidth=0.8)
    known = [r for r in doses if words.is_number(r.row.difference)]
    for r in known:
        if words.is_number(r.row.low):
            axes.vlines(r.dose, r.row.low, r.row.high, color=style.color, linewidth=1.8)
    at = [r.dose for r in known], [r.row.difference for r in known]
    axes.plot(*at, style.marker, color=style.color, markersize=6)
    axes.set_title(f"{metric_label(task)} less {comparison.baseline}'s; shaded: the margin")
