"""Exhibits of networks that are to match float32: a line of a table for each."""

import shlex
from dataclasses import asdict
from statistics import median

from minifp.lab.conclusions import prices
from minifp.lab.conclusions.scores import primary
from minifp.lab.conclusions.sentences import holds_together, look_text
from minifp.lab.exhibits import departures, spread
from minifp.lab.exhibits.catalog import UNASKED
from minifp.lab.exhibits.exhibit import facts_of, searches
from minifp.lab.exhibits.failures import LEARNED, NOTHING, failures_text
from minifp.lab.exhibits.finding import called, finding
from minifp.lab.exhibits.lines_pictures import boxes, differences
from minifp.lab.page.captions import mean_text, metric_label, metric_places, runs_there
from minifp.lab.results.origin import spec_from_here
from minifp.lab.statistics.power import seeds_needed
from minifp.report import words
from minifp.report.content import Document, Part, Section, Table

SMALLER = (
    "What does not come out as in the paper is shown as it is. Networks, pictures and training are "
    "far smaller than there: a line here says what these numbers do, not what those of the paper "
    "would."
)
ENDS = ("n", "diverged", "mean", "sd", "difference", "low", "high", "verdict", "needed")


def part(gallery) -> Document:
    """One table of all, and pictures of what they show together."""
    lines, losing = Table("Paper and laptop", [head(gallery), *rows(gallery)]), failing(gallery)
    pictures: list[Part] = [
        differences(gallery),
        *(departures.chart(*pair) for pair in losing),
        *boxes(gallery),
    ]
    looks = [
        gallery.seen[e.name].section(e.name) for e in gallery.exhibits if e.name in gallery.seen
    ]
    return Document(
        findings=findings(gallery),
        sections=[
            Section("The table", [about(gallery), lines, *price_table(gallery), *pictures]),
            *looks,
        ],
        notes=notes(gallery),
        data=data(gallery),
    )


def head(gallery) -> list[str]:
    """Of the table."""
    task, tested = gallery.comparisons[0].task, gallery.exhibits[0].tested
    percent = ", %" if task.relative else ""
    less = [f"{called(arm)} less float32{percent}" for arm in tested]
    return ["network", "paper", f"float32, {metric_label(task)}", *less, "core minutes", "command"]


def about(gallery) -> str:
    """What was trained, and what the columns are."""
    c = gallery.comparisons[0]
    published = next((e.published for e in gallery.exhibits if e.published is not None), None)
    paper = ""
    if published is not None:
        paper = f" Paper: {published.what}, {published.legend} ({published.where})."
    return (
        f"{words.plural(len(gallery.exhibits), 'exhibit')} at the scale {gallery.scale!r}, "
        f"{seeds_text(gallery.comparisons)}{runs_there(gallery.comparisons)}.{paper} "
        f"Here: {metric_label(c.task)}, mean ± standard deviation over seeds; differences of mixed "
        "precision, paired by seed, with 90% intervals; the margin is "
        f"{f'{c.task.margin:g} {c.task.difference_unit}'.strip()}. A verdict is called alone where "
        "it does not hold together with all others of the claim (Holm)."
        f"{' Ratios are tested, on logarithms.' if c.task.relative else ''}"
        f"{' Intervals hold at all looks of the budget together.' if c.budget else ''}"
    )


def seeds_text(comparisons) -> str:
    """How many there are; as a budget spent them, from the fewest to the most."""
    fewest, most = (end(len(c.seeds) for c in comparisons) for end in (min, max))
    return (
        f"{fewest} to {words.plural(most, 'seed')}" if fewest < most else words.plural(most, "seed")
    )


def rows(gallery) -> list[list[str]]:
    """A line of cells for each exhibit."""
    lines = []
    for line, c in zip(gallery.lines, gallery.comparisons):
        places = words.decimals(c.task.margin)
        numbers = line.exhibit.published
        paper = "-" if numbers is None else numbers.text
        base = mean_text(line.baseline, metric_places(c.task)) if line.baseline.n else "-"
        each = [
            difference(row, places, line.failures[arm], line.claims.get(arm), line.metric)
            for arm, row in line.tested.items()
        ]
        cells = [line.exhibit.title, paper, base, *each, f"{line.core_minutes:.1f}"]
        lines.append([*cells, command(line.exhibit, gallery.scale)])
    return lines


def command(exhibit, scale) -> str:
    """What trains this line alone; YOUR_FILE.py has an exhibit that was made in a program."""
    name = spec_from_here(exhibit.origin[0]) if exhibit.origin else f"YOUR_FILE.py:{exhibit.name}"
    return shlex.join(["minifp", "gallery", name, *([] if scale == UNASKED else [f"--{scale}"])])


def difference(row, places, failures, claim=None, metric="") -> str:
    """A difference with its interval, its verdict, what takes from it, and what became of runs that
    came to nothing."""
    parts = []
    if words.is_number(row.difference) and not row.diverged:
        parts.append(words.interval_text(row.difference, row.low, row.high, places))
    if row.verdict is not None:
        parts.append(verdict_text(row, claim, metric))
    parts += [failures_text(failures, row.n)] if failures else []
    return "; ".join(parts) or "-"


def verdict_text(row, claim, metric="") -> str:
    """The verdict, of which score if that is not the metric, and what takes from it."""
    told = ["weak"] * row.weak
    if claim is not None and claim.verdict and claim.score.name != metric:
        places = words.decimals(claim.score.margin)
        numbers = words.interval_text(claim.difference, claim.low, claim.high, places)
        told.append(f"by its {claim.score.name} {numbers}")
    if claim is not None and claim.verdict == row.verdict:
        told += look_text(claim)
        p = claim.contradicted_by
        if not holds_together(claim):
            told.append(f"alone, adjusted p {claim.holm_of_verdict:.2g}")
        told += [] if p is None else [f"but sign-flip p {p:.2g}"]
    return row.verdict + (f" ({'; '.join(told)})" if told else "")


def findings(gallery) -> list[str]:
    """For each exhibit, whether what the paper says came out here."""
    return [f"{line.exhibit.title}: {finding(line)}." for line in gallery.lines]


def notes(gallery) -> list[str]:
    """What must be known beside the table."""
    texts = [] if all(e.is_own for e in gallery.exhibits) else [SMALLER]
    if any(NOTHING in lost for line in gallery.lines for lost in line.failures.values()):
        texts.append(
            f"A run has {NOTHING} if it ended with less than {LEARNED:.0%} of the "
            f"{gallery.comparisons[0].task.metric_name} of float32's run with the same seed."
        )
    texts += dials(gallery)
    texts += filter(None, (departures.note(e, c) for e, c in failing(gallery)))
    both = zip(gallery.exhibits, gallery.comparisons)
    texts += filter(None, (spread.note(e, c) for e, c in both if e.is_of_spread))
    texts += budget_notes(gallery)
    texts += controls(gallery)
    compared = [
        row
        for line in gallery.lines
        for row in (line.scaled if line.exhibit.expects == "fails" else [line.without])
    ]
    sd = [row.paired.sd for row in compared if row.paired is not None]
    if sd:
        typical, task = median(sd), gallery.comparisons[0].task
        score = primary(gallery.comparisons[0])
        count = seeds_needed(typical, score.scaled_margin / 2)
        texts.append(
            f"Half of this margin would need about {count} seeds, at the median deviation of "
            f"{typical:.2f} {task.difference_unit} between paired runs."
        )
    return texts + searches(gallery.exhibits)


def budget_notes(gallery) -> list[str]:
    """What verdicts cost that a budget has not brought."""
    every = zip(gallery.exhibits, gallery.comparisons, gallery.lines)
    return [
        f"{e.title}, {text}" for e, c, line in every for text in prices.price_notes(c, line.claims)
    ]


def price_table(gallery) -> list[str | Part]:
    """What verdicts cost that the seeds have not brought; nothing where all are there."""
    priced = [
        [line.exhibit.title, called(arm), *cells]
        for c, line in zip(gallery.comparisons, gallery.lines)
        if c.budget is None
        for arm, *cells in prices.price_rows(c, line.claims)
    ]
    text = (
        "What is not decided, or not together with the others (Holm), and what it costs: with so "
        f"many seeds a verdict that holds is {prices.POWER:.0%} likely, by the differences so far."
    )
    head = ["network", *prices.HEAD]
    return [text, Table("What is not decided", [head, *priced])] if priced else []


def controls(gallery) -> list[str]:
    """What disturbing float32 does, where an exhibit has controls."""
    texts = []
    for exhibit, comparison in zip(gallery.exhibits, gallery.comparisons):
        places = words.decimals(comparison.task.margin)
        each = [
            f"{row.precision} {difference(row, places, {})}"
            for row in comparison.rows()
            if row.is_control and row.n
        ]
        if each:
            texts.append(
                f"{exhibit.title}, controls: runs that are disturbed a little differ from those "
                f"that are not by {words.listed(each)}."
            )
    return texts


def dials(gallery) -> list[str]:
    """What the exponent dial does to the exhibits that have one."""
    turned = [(e, c) for e, c in zip(gallery.exhibits, gallery.comparisons) if c.dial]
    return [f"{exhibit.title}: {comparison.dial_note()}" for exhibit, comparison in turned]


def failing(gallery) -> list[tuple]:
    """The exhibits that are to fail without loss scaling, with their comparisons."""
    both = zip(gallery.exhibits, gallery.comparisons)
    return [(e, c) for e, c in both if e.expects == "fails" and c.runs]


def data(gallery) -> list[dict]:
    """Settings and results of each exhibit."""
    exhibits = []
    for line, c, text in zip(gallery.lines, gallery.comparisons, findings(gallery)):
        e, looks = line.exhibit, gallery.seen.get(line.exhibit.name)
        exhibits.append(
            {
                **facts_of(e, c),
                "published": None if e.published is None else asdict(e.published),
                "registered": c.registered,
                "finding": text,
                "results": {str(row.precision): numbers(row, line.claims) for row in c.rows()},
                "core_minutes": line.core_minutes,
                **({} if looks is None else {"beforehand": looks.data}),
            }
        )
    return exhibits


def numbers(row, claims) -> dict:
    """What became of one arm, with the p value of its verdict for all lines of the claim."""
    told = {name: getattr(row, name) for name in (*ENDS, "skipped", "final_scale")}
    claim = claims.get(row.precision)
    return {**told, "holm": claim and claim.holm_of_verdict}
