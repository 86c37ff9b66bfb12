"""Exhibits of networks that are to match float32: as text, as numbers, in the gallery's page."""

from dataclasses import asdict
from statistics import median

from markupsafe import Markup

from minifp.lab.exhibits import parting, spread
from minifp.lab.exhibits.fates import LEARNED, NOTHING, fates_text
from minifp.lab.exhibits.finding import called, finding
from minifp.lab.exhibits.lines_drawn import boxes_html, differences_html, pictures
from minifp.lab.page.captions import metric_label
from minifp.lab.statistics.power import seeds_needed
from minifp.report import words
from minifp.report.markup import paragraph, section, table
from minifp.report.plain_text import columns, fill

__all__ = ["findings", "markdown", "notes", "pictures", "sections", "text_table", "told"]


def head(gallery) -> list[str]:
    """Of the table."""
    task, tested = gallery.comparisons[0].task, gallery.exhibits[0].tested
    less = [f"{called(arm)} less float32" for arm in tested]
    return ["network", "paper", f"float32, {metric_label(task)}", *less, "core minutes", "command"]


def about(gallery) -> str:
    """What was trained, and what the columns are."""
    c = gallery.comparisons[0]
    there = sum(len(c.done() & {*c.asked}) for c in gallery.comparisons)
    asked = sum(len(c.asked) for c in gallery.comparisons)
    left = "" if there == asked else f"; {there} of {asked} runs are there"
    published = next((e.published for e in gallery.exhibits if e.published is not None), None)
    paper = ""
    if published is not None:
        paper = f" Paper: {published.what}, {published.legend} ({published.where})."
    return (
        f"{words.plural(len(gallery.exhibits), 'exhibit')} at the scale {gallery.scale!r}, "
        f"{words.plural(len(c.seeds), 'seed')}{left}.{paper} "
        f"Here: {metric_label(c.task)}, mean ± standard deviation over seeds; differences of mixed "
        "precision, paired by seed, with 90% intervals; the margin is "
        f"{f'{c.task.margin:g} {c.task.difference_unit}'.strip()}."
    )


def rows(gallery) -> list[list[str]]:
    """A line of cells for each exhibit."""
    found = []
    for line, c in zip(gallery.lines, gallery.comparisons):
        places = words.decimals(c.task.margin)
        numbers = line.exhibit.published
        paper = "-" if numbers is None else numbers.text
        base = words.fixed(line.baseline.mean, places)
        if words.is_number(line.baseline.sd):
            base += f" ± {words.fixed(line.baseline.sd, places)}"
        each = [difference(row, places, line.fates[arm]) for arm, row in line.tested.items()]
        cells = [line.exhibit.title, paper, base, *each, f"{line.core_minutes:.1f}"]
        found.append([*cells, command(line.exhibit, gallery.scale)])
    return found


def command(exhibit, scale) -> str:
    """What trains this line alone."""
    return f"minifp gallery {exhibit.name}{'' if scale == 'evening' else f' --{scale}'}"


def typeset(cells) -> list[str]:
    """With real minus signs where there are numbers alone, behind the title."""
    return [cells[0], *map(words.typeset, cells[1:-1]), cells[-1]]


def difference(row, places, came) -> str:
    """A difference with its interval, its verdict, and what became of runs that came to nothing."""
    told = []
    if words.is_number(row.difference) and not row.diverged:
        told.append(words.signed(row.difference, places))
        if words.is_number(row.low):
            told[0] += f" [{words.signed(row.low, places)}, {words.signed(row.high, places)}]"
    if row.verdict is not None:
        told.append(f"{row.verdict}{' (weak)' if row.weak else ''}")
    told += [fates_text(came, row.n)] if came else []
    return "; ".join(told) or "-"


def findings(gallery) -> list[str]:
    """For each exhibit, whether what the paper says came out here."""
    return [f"{line.exhibit.title}: {finding(line)}." for line in gallery.lines]


def notes(gallery) -> list[str]:
    """What must be known beside the table."""
    told = [
        "What does not come out as in the paper is shown as it is. Networks, pictures and training "
        "are far smaller than there: a line here says what these numbers do, not what those of the "
        "paper would."
    ]
    if any(NOTHING in came for line in gallery.lines for came in line.fates.values()):
        told.append(
            f"A run has {NOTHING} if it ended with less than {LEARNED:.0%} of the "
            f"{gallery.comparisons[0].task.metric_name} of float32's run with the same seed."
        )
    told += dials(gallery)
    told += filter(None, (parting.note(e, c) for e, c in parting.failing(gallery)))
    both = zip(gallery.exhibits, gallery.comparisons)
    told += filter(None, (spread.note(e, c) for e, c in both if e.is_of_spread))
    told += controls(gallery)
    compared = [
        row
        for line in gallery.lines
        for row in (line.scaled if line.exhibit.expects == "fails" else [line.without])
    ]
    sd = [row.paired.sd for row in compared if row.paired is not None]
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


def controls(gallery) -> list[str]:
    """What disturbing float32 does, where an exhibit has controls."""
    found = []
    for exhibit, comparison in zip(gallery.exhibits, gallery.comparisons):
        places = words.decimals(comparison.task.margin)
        each = [
            f"{row.precision} {difference(row, places, {})}"
            for row in comparison.rows()
            if row.is_control and row.n
        ]
        if each:
            found.append(
                f"{exhibit.title}, controls: runs that are disturbed a little differ from those "
                f"that are not by {words.listed(each)}."
            )
    return found


def dials(gallery) -> list[str]:
    """What the exponent dial does to the exhibits that have one."""
    turned = [(e, c) for e, c in zip(gallery.exhibits, gallery.comparisons) if c.dial]
    return [f"{exhibit.title}: {comparison.dial_note()}" for exhibit, comparison in turned]


def text_table(gallery) -> str:
    """Everything, for a terminal."""
    lines = [head(gallery), *rows(gallery)]
    parts = [fill(about(gallery)), columns(lines)]
    parts.append("\n".join(fill(text, hang="  ") for text in findings(gallery)))
    parts.append("\n".join(fill(text, hang="  ") for text in notes(gallery)))
    parts += [fill(gallery.seen[e.name].text) for e in gallery.exhibits if e.name in gallery.seen]
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
        said["registered"] = c.registered
        whole = {"name": e.name, "title": e.title, **said, "finding": text, "results": results}
        exhibits.append(
            {**whole, "core_minutes": line.core_minutes, "seeds": c.seeds, "settings": c.config}
        )
        if e.name in gallery.seen:
            exhibits[-1]["beforehand"] = gallery.seen[e.name].told
    return exhibits


def markdown(gallery) -> str:
    """The table for a document."""
    top = head(gallery)
    lines = [top, ["---"] * len(top), *map(typeset, rows(gallery))]
    grid = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    told = "\n".join(f"- {text}" for text in [*findings(gallery), *notes(gallery)])
    return f"{about(gallery)}\n\n{grid}\n\n{told}\n"


def sections(gallery) -> Markup:
    """What the page has of them."""
    cells = [*map(typeset, rows(gallery))]
    return Markup("\n").join(
        [
            section(
                "The table",
                paragraph(about(gallery)),
                table("Paper and laptop", head(gallery), cells),
            ),
            differences_html(gallery),
            *(parting.html(e, c) for e, c in parting.failing(gallery)),
            *(paragraph(words.raised(text)) for text in notes(gallery)),
            boxes_html(gallery),
            *(gallery.seen[e.name].html for e in gallery.exhibits if e.name in gallery.seen),
        ]
    )
