"""The page of the demonstration: its experiments on one page, each with what it shows."""

from pathlib import Path

from markupsafe import Markup

from minifp.lab.page import figures, line_charts, page_tables, sections
from minifp.lab.page.page_style import STYLE
from minifp.report import chart_markup, drawing, words
from minifp.report.document import document
from minifp.report.markup import command, details, paragraph, section
from minifp.saving import files

TITLE = "Half the bits, the same result: what it takes"
INTRODUCTION = (
    "A float16 number has 1 bit for its sign, 5 for its exponent and 10 for its digits: about "
    "three decimal digits, nothing above 65,504, and nothing between 0 and 2^-24. It takes half "
    "the memory of float32, and hardware for it is several times as fast. Trained naively in it, a "
    "network can go wrong in three ways, and mixed-precision training has one technique against "
    "each: float32 master weights, loss scaling, and sums in float32.",
    "Here each technique is switched off alone, in training that would otherwise end where "
    "float32 ends. All runs of an experiment start from the same weights and see the same "
    "batches, so every difference comes from the numbers alone.",
)
CLOSING = (
    "minifp stores what a half-precision GPU would store, rounded at the same places, so the "
    "effects on training are the same. The times are not: a CPU has no fast float16 arithmetic. "
    "They were measured in these runs, on the machine below, and say nothing about a GPU.",
)


def write_story(parts, path) -> Path:
    """Write the page of the demonstration and return its path.

    parts: pairs of a part (with key, name, title, claim, look, honest: texts) and its comparison,
    which is kept in the folder `name` beside the page.
    """
    parts = list(parts)
    content = Markup("\n").join(
        [
            Markup('<header>\n<p class="kicker">minifp demo</p>\n<h1>{}</h1>').format(TITLE),
            *(paragraph(words.raised(text), "lede") for text in INTRODUCTION),
            Markup("</header>"),
            contents(parts),
            *(chapter(part, comparison) for part, comparison in parts),
            section("On a real GPU", *map(paragraph, CLOSING)),
            section("How to do it again", command("minifp demo --out runs/demo")),
            section("The machine", sections.machine(parts[0][1], shared=False)),
        ]
    )
    rules = STYLE + chart_markup.style()
    return files.write(
        path, document(f"minifp demo: {TITLE}", content, rules, chart_markup.script())
    )


def save_overview(parts, path) -> Path:
    """Write one picture of all parts, as PNG, and return its path."""
    return drawing.save(figures.overview(parts), path, "png")


def contents(parts) -> Markup:
    """A card for each part, with its result."""
    card = Markup('<li><a href="#{}"><b>{}{}</b><span>{}</span></a></li>')
    cards = Markup("\n").join(
        card.format(part.key, letter(part), part.title, sections.headline_html(comparison))
        for part, comparison in parts
    )
    return Markup(
        '<nav class="experiments" aria-label="The experiments"><ul>\n{}\n</ul></nav>'
    ).format(cards)


def letter(part) -> Markup:
    """The letter of a part, in front of its title."""
    return Markup('<span class="letter">({})</span>').format(part.key)


def chapter(part, comparison) -> Markup:
    """One experiment: what it shows, what was arranged, what came out, and where to see it."""
    prefix = f"part-{part.key}"
    dial = comparison.dial_note()
    texts = {
        "What was arranged.": part.honest,
        "The dial.": dial if dial not in part.honest else "",
    }
    labelled = Markup("<p><b>{}</b> {}</p>")
    arranged = Markup("\n").join(
        labelled.format(label, said(text, comparison)) for label, text in texts.items() if text
    )
    shown = (
        Markup("<h2>{}{}</h2>").format(letter(part), part.title),
        paragraph(said(part.claim, comparison), "lede"),
        sections.note(arranged) if arranged else "",
        line_charts.line_charts(comparison, prefix, ("loss", "metric")),
        labelled.format("Where to look.", said(part.look, comparison)),
        sections.verdict_list(comparison),
        page_tables.final_table(comparison),
        details("The loss scale, memory and time", costs(comparison, prefix)),
        Markup(
            '<p class="small">Everything about this experiment: '
            '<a href="{name}/report.html">its own page</a>, '
            '<a href="{name}/results.json">its results</a> and '
            '<a href="{name}/history.csv">every step of every run</a>.</p>'
        ).format(name=part.name),
    )
    whole = Markup("\n").join(filter(None, shown))
    return Markup('<section id="{}">\n{}\n</section>').format(part.key, whole)


def said(text, comparison) -> Markup:
    """A text as HTML, with the precisions that have switches as code."""
    names = [name for name in comparison.precisions if "," in name]
    return sections.with_code(words.raised(text), names)


def costs(comparison, prefix) -> Markup:
    """What a chapter keeps folded."""
    shown = (
        paragraph(sections.scale_note(comparison)),
        sections.figure(comparison, "scale", prefix),
        page_tables.scale_table(comparison),
        sections.figure(comparison, "memory", prefix),
        page_tables.cost_table(comparison),
    )
    return Markup("\n").join(filter(None, shown))
