"""Exhibits of all combinations of the techniques: what each of them does, as text and as pages."""

from dataclasses import asdict

from markupsafe import Markup

from minifp.lab.ablation import shown as tables
from minifp.lab.page.captions import metric_label
from minifp.report import words
from minifp.report.markup import paragraph, section
from minifp.report.plain_text import columns, fill

__all__ = ["findings", "markdown", "notes", "pictures", "sections", "text_table", "told"]


def each(gallery) -> list[tuple]:
    """(exhibit, its ablation) of those whose runs are all there."""
    both = [(e, gallery.ablations[e.name]) for e in gallery.exhibits]
    return [(e, ablation) for e, ablation in both if not ablation.comparison.missing()]


def findings(gallery) -> list[str]:
    """What each technique does, or how many runs are there."""
    whole, told = {e.name: a for e, a in each(gallery)}, []
    for exhibit, comparison in zip(gallery.exhibits, gallery.comparisons):
        ablation = whole.get(exhibit.name)
        if ablation is None:
            there = len(comparison.done() & {*comparison.asked})
            told.append(f"{exhibit.title}: {there} of {len(comparison.asked)} runs are there.")
        else:
            told += [f"{exhibit.title}: {text}" for text in tables.sentences(ablation)]
    return told


def about(exhibit, ablation) -> str:
    """What was trained, for how long, and what an effect is."""
    c = ablation.comparison
    minutes = sum(run.processor_seconds for run in c.runs) / 60
    return (
        f"{exhibit.title}: {c.config['steps']:,} steps; all runs took {minutes:.1f} minutes of a "
        f"core. {words.raised(tables.about(ablation))}"
    )


def notes(gallery) -> list[str]:
    """What must be known beside the tables."""
    searched = dict.fromkeys(e.searched for e in gallery.exhibits)
    dials = [c.dial_note() for c in gallery.comparisons if c.dial]
    return [*dials, *(f"Tried before the settings were fixed: {text}." for text in searched)]


def text_table(gallery) -> str:
    """Everything, for a terminal."""
    parts = []
    for exhibit, ablation in each(gallery):
        parts += [fill(about(exhibit, ablation)), columns(tables.effect_rows(ablation))]
        count = len(ablation.factors)
        parts.append(columns(tables.cell_rows(ablation), text_columns=(*range(count), count)))
    said = [*findings(gallery), *notes(gallery)]
    return "\n\n".join([*parts, "\n".join(fill(text, hang="  ") for text in said)])


def told(gallery) -> list[dict]:
    """The numbers of each."""
    whole = {e.name: a for e, a in each(gallery)}
    found = []
    for exhibit, comparison in zip(gallery.exhibits, gallery.comparisons):
        ablation = whole.get(exhibit.name)
        found.append(
            {
                **{name: getattr(exhibit, name) for name in ("name", "title", "claim", "searched")},
                "metric": metric_label(comparison.task),
                "effects": [] if ablation is None else [asdict(e) for e in ablation.effects],
                "combinations": [] if ablation is None else tables.cell_rows(ablation),
                "seeds": comparison.seeds,
                "settings": comparison.config,
                "registered": comparison.registered,
            }
        )
    return found


def markdown(gallery) -> str:
    """The tables for a document."""
    parts = []
    for exhibit, ablation in each(gallery):
        parts.append(about(exhibit, ablation))
        for head, *lines in (tables.effect_rows(ablation), tables.cell_rows(ablation)):
            cells = [head, ["---"] * len(head), *([*map(words.typeset, row)] for row in lines)]
            parts.append("\n".join(f"| {' | '.join(row)} |" for row in cells))
    said = [*findings(gallery), *notes(gallery)]
    return "\n\n".join([*parts, "\n".join(f"- {text}" for text in said)]) + "\n"


def sections(gallery) -> Markup:
    """What the page has of them."""
    parts = []
    for exhibit, ablation in each(gallery):
        parts.append(
            section(
                exhibit.title,
                paragraph(about(exhibit, ablation)),
                tables.drawn(ablation, f"a-{exhibit.name}"),
                tables.html_table("Effects, with 90% intervals", tables.effect_rows(ablation)),
                tables.html_table("Mean ± deviation over seeds", tables.cell_rows(ablation)),
            )
        )
    return Markup("\n").join([*parts, *(paragraph(words.raised(text)) for text in notes(gallery))])


def pictures(gallery) -> dict:
    """Figures by the names of their files."""
    return {f"{e.name}-effects": tables.picture(ablation) for e, ablation in each(gallery)}
