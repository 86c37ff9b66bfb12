"""A gallery as one: what each kind of exhibit shows, as text, as files and as a page.

A kind is a module with text_table, findings, notes, told, markdown, sections and pictures, each of
a Gallery whose exhibits are all of that kind.
"""

from dataclasses import replace

from markupsafe import Markup

from minifp.lab.exhibits import ablation_shown, bathtub_shown, doses_shown, shown
from minifp.lab.page.page_style import STYLE
from minifp.lab.results import store
from minifp.lab.results.tidy import TIMED
from minifp.report import document, words
from minifp.report.csv_text import csv_text
from minifp.report.markup import bullets, header, link, section

NAME = "gallery"  # of the files in a folder
KINDS = {
    "lines": shown,
    "doses": doses_shown,
    "bathtub": bathtub_shown,
    "ablation": ablation_shown,
}


def parts(gallery) -> list[tuple]:
    """(kind, Gallery of the exhibits of that kind, which have one table), in the order of their
    first ones: lines are of one table where arms, seeds, metric and margin are the same."""
    kinds = [alike(e, c) for e, c in zip(gallery.exhibits, gallery.comparisons)]
    found = []
    for key in dict.fromkeys(kinds):
        kind, which = KINDS[key[0]], [i for i, other in enumerate(kinds) if other == key]
        exhibits, comparisons = gallery.exhibits, gallery.comparisons
        part = replace(
            gallery,
            exhibits=[exhibits[i] for i in which],
            comparisons=[comparisons[i] for i in which],
        )
        found.append((kind, part))
    return found


def alike(exhibit, comparison) -> tuple:
    """What exhibits in one table have in common."""
    if exhibit.kind != "lines":
        return (exhibit.kind,)
    task = comparison.task
    arms, seeds = tuple(exhibit.tested), tuple(comparison.seeds)
    return exhibit.kind, arms, seeds, task.metric_name, task.metric_unit, task.margin


def text_table(gallery) -> str:
    """Everything, for a terminal."""
    return "\n\n".join(kind.text_table(part) for kind, part in parts(gallery))


def pictures(gallery) -> dict:
    """Figures of what exhibits show together, by the names of their files."""
    return {name: f for kind, part in parts(gallery) for name, f in kind.pictures(part).items()}


def contents(gallery) -> dict[str, str]:
    """The files of a gallery, by name."""
    texts = [kind.markdown(part) for kind, part in parts(gallery)]
    return {
        f"{NAME}.json": to_json(gallery),
        f"{NAME}.csv": to_csv(gallery),
        f"{NAME}.md": "\n".join(texts),
        f"{NAME}.html": page(gallery),
    }


def to_json(gallery) -> str:
    """Settings and results of each exhibit."""
    found = parts(gallery)
    head = {
        "scale": gallery.scale,
        "environment": gallery.comparisons[0].environment,
        "notes": [text for kind, part in found for text in kind.notes(part)],
    }
    exhibits = [one for kind, part in found for one in kind.told(part)]
    return store.to_json({**head, "exhibits": exhibits}, indent=1)


def to_csv(gallery) -> str:
    """Each run: a row a run."""
    rows: list = [["exhibit", "arm", "seed", "status", "metric", "skipped", "scale", *TIMED]]
    for exhibit, c in zip(gallery.exhibits, gallery.comparisons):
        for run in sorted(c.runs, key=lambda r: (r.precision, r.seed)):
            ended = run.status, run.metric, run.skipped, run.final_scale
            took = (round(getattr(run, name), 4) for name in TIMED)
            rows.append([exhibit.name, run.precision, run.seed, *ended, *took])
    return csv_text(rows)


def page(gallery) -> Markup:
    """A page that needs no network, with links to the pages of the exhibits beside it."""
    found = parts(gallery)
    listed = bullets(text for kind, part in found for text in kind.findings(part))
    claims = words.listed(list(dict.fromkeys(e.claim for e in gallery.exhibits if e.claim)))
    content = Markup("\n").join(
        [
            header("The gallery", f"The claim: {claims}."),
            listed,
            *(kind.sections(part) for kind, part in found),
            section("Each exhibit", links(gallery)),
        ]
    )
    return document.document("The gallery: mixed precision on a laptop", content, STYLE)


def links(gallery) -> Markup:
    """To the page of each exhibit, and of what was taken apart."""
    found = []
    for e in gallery.exhibits:
        shown = link(f"{e.name}/{store.REPORT}", e.title)
        ablation = gallery.ablations.get(e.name)
        if ablation is not None and not ablation.comparison.missing():
            shown += ", " + link(f"{e.name}/{store.EFFECTS}.html", "taken apart")
        found.append(shown)
    return bullets(found)
