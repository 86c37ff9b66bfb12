"""What is shown of a gallery: what each kind of exhibit has to show, as one.

A kind is a module with `part`: the Document of a Gallery whose exhibits are all of that kind.
"""

from dataclasses import replace
from itertools import chain

from minifp.data import cifar, packed
from minifp.lab.exhibits import lines_part, responses_part, techniques_part
from minifp.lab.results.first_losses import STEPS
from minifp.lab.results.store import EFFECTS, REPORT
from minifp.lab.results.tidy import TIMED
from minifp.report import words
from minifp.report.content import Document, Links, Section

NAME, COURSES = "gallery", "courses"  # of the files in a folder
KINDS = {
    "lines": lines_part,
    "doses": responses_part,
    "bathtub": responses_part,
    "ablation": techniques_part,
}


def document(gallery) -> Document:
    """All parts together, and links to the pages of the exhibits beside its own."""
    each = parts(gallery)
    findings, sections, notes, exhibits = (
        [*chain.from_iterable(getattr(part, name) for part in each)]
        for name in ("findings", "sections", "notes", "data")
    )
    claims = words.listed(dict.fromkeys(e.claim for e in gallery.exhibits if e.claim))
    notes = [*dict.fromkeys(notes)]
    pages = [links(gallery, exhibit) for exhibit in gallery.exhibits]
    made_by = {"environment": gallery.comparisons[0].environment, "commit": commit(gallery)}
    head = {"scale": gallery.scale, **made_by, "published data": published(gallery), "notes": notes}
    return Document(
        name=NAME,
        title="The gallery: mixed precision on a laptop",
        about=f"The claim: {claims}." if claims else "",
        findings=findings,
        sections=[*sections, Section("Notes", notes), Section("Each exhibit", [Links(pages)])],
        data={**head, "exhibits": exhibits},
        records={NAME: runs(gallery), COURSES: courses(gallery)},
    )


def parts(gallery) -> list[Document]:
    """One of the exhibits of each kind, in the order of their first ones; lines are of one table
    where arms, seeds, metric and margin are the same."""
    kinds = [alike(e, c) for e, c in zip(gallery.exhibits, gallery.comparisons)]
    documents = []
    for key in dict.fromkeys(kinds):
        places = [i for i, other in enumerate(kinds) if other == key]
        exhibits, comparisons = gallery.exhibits, gallery.comparisons
        some = replace(
            gallery,
            exhibits=[exhibits[i] for i in places],
            comparisons=[comparisons[i] for i in places],
        )
        if some.exhibits[0].kind == "lines":
            some.lines = [gallery.lines[i] for i in places]  # with p values for all
        documents.append(KINDS[key[0]].part(some))
    return documents


def alike(exhibit, comparison) -> tuple:
    """What exhibits in one table have in common."""
    if exhibit.kind != "lines":
        return (exhibit.kind,)
    task = comparison.task
    budget = comparison.budget
    arms, seeds = tuple(exhibit.tested), budget.seeds if budget else tuple(comparison.seeds)
    return exhibit.kind, arms, seeds, task.metric_name, task.metric_unit, task.margin


def runs(gallery) -> list[list]:
    """Each run: a row a run."""
    rows: list = [["exhibit", "arm", "seed", "status", "metric", "skipped", "scale", *TIMED]]
    for exhibit, c in zip(gallery.exhibits, gallery.comparisons):
        for run in sorted(c.runs, key=lambda r: (r.precision, r.seed)):
            ended = run.status, run.metric, run.skipped, run.final_scale
            took = (round(getattr(run, name), 4) for name in TIMED)
            rows.append([exhibit.name, run.precision, run.seed, *ended, *took])
    return rows


def courses(gallery) -> list[list]:
    """Of each run the losses of its first steps, and metric and test loss at each evaluation: a row
    a step."""
    rows: list = [["exhibit", "arm", "seed", "step", "loss", "metric", "test_loss"]]
    for exhibit, c in zip(gallery.exhibits, gallery.comparisons):
        for run in sorted(c.runs, key=lambda r: (r.precision, r.seed)):
            tests = {step: ends for step, *ends in run.evaluations}
            losses = dict(zip(run.history.get("step", ()), run.history["loss"]))
            for step in sorted({*tests, *(step for step in losses if step <= STEPS)}):
                ends = losses.get(step), *tests.get(step, (None, None))
                rows.append([exhibit.name, run.precision, run.seed, step, *ends])
    return rows


def commit(gallery) -> str:
    """The commit with which it was made, as the folders of its exhibits tell."""
    return words.listed(dict.fromkeys(c.origin.commit for c in gallery.comparisons))


def published(gallery) -> dict[str, str]:
    """What was published in place of data that are not quite the published ones: its name, and the
    archive with its hash."""
    of, told = cifar.CIFAR10, [c.config["training data"] for c in gallery.comparisons]
    is_packed = any(text.startswith(packed.NAME) for text in told)
    return {of.name: f"{of.archive}, sha256 {of.checksum}"} if is_packed else {}


def links(gallery, exhibit) -> list[tuple[str, str]]:
    """To the page of an exhibit, and of what was taken apart."""
    ablation = gallery.ablations.get(exhibit.name)
    is_apart = ablation is not None and not ablation.comparison.missing()
    apart = [(f"{exhibit.name}/{EFFECTS}.html", "taken apart")] if is_apart else []
    return [(f"{exhibit.name}/{REPORT}", exhibit.title), *apart]
