"""Exhibits of networks that are to match float32: as text, as numbers, in the gallery's page."""

from dataclasses import asdict
from html import escape
from statistics import median

from minifp.lab.statistics.paired import DIFFERENT, DIVERGED, EQUIVALENT
from minifp.lab.statistics.power import seeds_needed
from minifp.report import words
from minifp.report.markup import paragraph, section, table
from minifp.report.plain_text import columns, fill

HEAD = (
    "network", "paper", "float32", "S = 1 less float32", "dynamic less float32", "core minutes",
)  # fmt: skip
PUBLISHED = "float32 / mixed"


def about(gallery) -> str:
    """What was trained, and what the columns are."""
    c = gallery.comparisons[0]
    there = sum(len(c.done() & {*c.asked}) for c in gallery.comparisons)
    asked = sum(len(c.asked) for c in gallery.comparisons)
    left = "" if there == asked else f"; {there} of {asked} runs are there"
    published = next((e.published for e in gallery.exhibits if e.published is not None), None)
    paper = ""
    if published is not None:
        paper = f" Paper: {published.what}, {PUBLISHED} ({published.where})."
    return (
        f"{words.plural(len(gallery.exhibits), 'exhibit')} at the scale {gallery.scale!r}, "
        f"{words.plural(len(c.seeds), 'seed')}{left}.{paper} "
        f"Here: {c.task.metric_name} in {c.task.metric_unit}, "
        "mean ± standard deviation over seeds; differences of mixed precision, paired by seed, "
        f"with 90% intervals; the margin is {c.task.margin:g} {c.task.difference_unit}."
    )


def rows(gallery) -> list[list[str]]:
    """A line of cells for each exhibit."""
    found = []
    for line, c in zip(gallery.lines, gallery.comparisons):
        places = words.decimals(c.task.margin)
        numbers = line.exhibit.published
        paper = "-" if numbers is None else f"{numbers.float32:.2f} / {numbers.mixed:.2f}"
        base = words.fixed(line.baseline.mean, places)
        if words.is_number(line.baseline.sd):
            base += f" ± {words.fixed(line.baseline.sd, places)}"
        both = [difference(row, places) for row in (line.without, line.with_scaling)]
        found.append([line.exhibit.title, paper, base, *both, f"{line.core_minutes:.1f}"])
    return found


def typeset(cells) -> list[str]:
    """With real minus signs where there are numbers alone, behind the title."""
    return [cells[0], *map(words.typeset, cells[1:])]


def difference(row, places) -> str:
    """A difference with its interval, or what became of the runs."""
    if row.diverged:
        return f"{row.diverged} of {row.n} diverged"
    if not words.is_number(row.difference):
        return "-"
    text = words.signed(row.difference, places)
    if words.is_number(row.low):
        text += f" [{words.signed(row.low, places)}, {words.signed(row.high, places)}]"
    return text


def findings(gallery) -> list[str]:
    """For each exhibit, whether what the paper says came out here."""
    return [f"{line.exhibit.title}: {finding(line)}." for line in gallery.lines]


def finding(line) -> str:
    """What follows for the claim that no loss scaling is needed."""
    without, scaled = line.without.verdict, line.with_scaling.verdict
    if without == EQUIVALENT:
        return "as in the paper, mixed precision matches float32 without loss scaling"
    if without in (DIFFERENT, DIVERGED):
        more = "with a dynamic scale it does" if scaled == EQUIVALENT else "nor, so far, with it"
        return f"not as in the paper: without loss scaling it does not match float32; {more}"
    if line.without.n == 0:
        return "nothing was trained yet"
    needed = line.without.needed
    seeds = f": about {needed} seeds would decide" if needed else ""
    also = "; with a dynamic scale it matches" if scaled == EQUIVALENT else ""
    return f"undecided without loss scaling{seeds}{also}"


def notes(gallery) -> list[str]:
    """What must be known beside the table."""
    told = [
        "What does not come out as in the paper is shown as it is. Networks, pictures and training "
        "are far smaller than there: a line here says what these numbers do, not what ImageNet's "
        "would."
    ]
    sd = [line.without.paired.sd for line in gallery.lines if line.without.paired is not None]
    if sd:
        typical, task = median(sd), gallery.comparisons[0].task
        count = seeds_needed(typical, task.margin / 2)
        told.append(
            f"Half of this margin would need about {count} seeds, at the median deviation of "
            f"{typical:.2f} {task.difference_unit} between paired runs."
        )
    searched = dict.fromkeys(e.searched for e in gallery.exhibits)
    told += [f"Tried before the settings were fixed: {text}." for text in searched]
    return told


def text_table(gallery) -> str:
    """Everything, for a terminal."""
    lines = [HEAD, *rows(gallery)]
    parts = [fill(about(gallery)), columns(lines)]
    parts.append("\n".join(fill(text, hang="  ") for text in findings(gallery)))
    parts.append("\n".join(fill(text, hang="  ") for text in notes(gallery)))
    for name, ablation in gallery.ablations.items():
        if not ablation.comparison.missing():
            parts.append(f"Taken apart: {name}\n\n{ablation.table()}")
    return "\n\n".join(parts)


# ---- files and page -----------------------------------------------------------------------------


def told(gallery) -> list[dict]:
    """Settings and results of each exhibit."""
    exhibits = []
    for line, c, text in zip(gallery.lines, gallery.comparisons, findings(gallery)):
        e = line.exhibit
        results = {
            str(row.precision): {
                **{name: getattr(row, name) for name in ("n", "diverged", "mean", "sd")},
                **{name: getattr(row, name) for name in ("difference", "low", "high", "verdict")},
                **{name: getattr(row, name) for name in ("needed", "skipped", "final_scale")},
            }
            for row in c.rows()
        }
        published = None if e.published is None else asdict(e.published)
        said = {"claim": e.claim, "published": published, "searched": e.searched}
        whole = {"name": e.name, "title": e.title, **said, "finding": text, "results": results}
        exhibits.append(
            {**whole, "core_minutes": line.core_minutes, "seeds": c.seeds, "settings": c.config}
        )
    return exhibits


def markdown(gallery) -> str:
    """The table for a document."""
    lines = [HEAD, ["---"] * len(HEAD), *map(typeset, rows(gallery))]
    grid = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    told = "\n".join(f"- {text}" for text in [*findings(gallery), *notes(gallery)])
    return f"{about(gallery)}\n\n{grid}\n\n{told}\n"


def sections(gallery) -> str:
    """What the page has of them."""
    html = [[escape(cell) for cell in typeset(row)] for row in rows(gallery)]
    return "\n".join(
        [
            section("The table", paragraph(about(gallery)), table("Paper and laptop", HEAD, html)),
            *(paragraph(text) for text in notes(gallery)),
        ]
    )


def pictures(gallery) -> dict:
    """Figures by the names of their files: there are none beside those of the comparisons."""
    return {}
