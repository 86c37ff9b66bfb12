"""Exhibits of all combinations of the techniques: what each of them does."""

from minifp.lab.ablation.ablation_document import about, cell_table, chart, effect_table, sentences
from minifp.lab.exhibits.exhibit import facts_of, searches
from minifp.lab.page.captions import metric_label
from minifp.report.content import Document, Section


def part(gallery) -> Document:
    """A section for each whose runs are all there; of the others, how many are."""
    findings, sections, data, notes = [], [], [], []
    for exhibit, comparison in zip(gallery.exhibits, gallery.comparisons):
        ablation = gallery.ablations[exhibit.name]
        is_whole = not comparison.missing()
        notes += [comparison.dial_note()] if comparison.dial else []
        data.append(
            {
                **facts_of(exhibit, comparison),
                "metric": metric_label(comparison.task),
                "effects": [effect.told() for effect in ablation.effects] if is_whole else [],
                "combinations": cell_table(ablation).rows if is_whole else [],
                "registered": comparison.registered,
            }
        )
        if is_whole:
            findings += [f"{exhibit.title}: {text}" for text in sentences(ablation)]
            sections.append(section(exhibit, ablation))
        else:
            there = len(comparison.done() & {*comparison.asked})
            findings.append(f"{exhibit.title}: {there} of {len(comparison.asked)} runs are there.")
    notes += searches(gallery.exhibits)
    return Document(findings=findings, sections=sections, notes=notes, data=data)


def section(exhibit, ablation) -> Section:
    """What was trained, for how long, the effects and the combinations."""
    c = ablation.comparison
    minutes = sum(run.processor_seconds for run in c.runs) / 60
    text = (
        f"{c.config['steps']:,} steps; all runs took {minutes:.1f} minutes of a "
        f"core. {about(ablation)}"
    )
    effects = chart(ablation, f"{exhibit.name}-effects")
    return Section(exhibit.title, [text, effects, effect_table(ablation), cell_table(ablation)])
