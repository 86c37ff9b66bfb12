"""What is shown of trained weights in other formats: numbers, what changed, the pictures."""

import base64
import os
from dataclasses import asdict

from markupsafe import Markup

from minifp.lab.attachments import of_picture
from minifp.lab.inference.examples import each_change, picture_of
from minifp.lab.page.captions import metric_label, metric_places
from minifp.lab.page.precision_styles import styles_of
from minifp.report import in_notebook, words
from minifp.report.content import Document, Section, Table
from minifp.report.markup import paragraph, part
from minifp.report.rows import Mark, Row, Rows

NAME = "evaluation"  # of the files in a folder
TITLE = "Trained networks in other number formats"
CHANGED = "changed"  # the file of the examples whose prediction changed
MOST = 60  # pictures of a checkpoint in a precision
NO_PILLOW = "Pictures need Pillow: python -m pip install pillow"
STYLE = part("changed.css", __package__)

HEAD = "precision,metric,change,loss,changed,p,example,x time,weights,activ.,x memory".split(",")
RECORD = (
    "checkpoint task precision metric value change loss changed gained lost p seconds_per_example "
    "weights_bytes activations_bytes"
).split()
CHANGE = "checkpoint task precision example place true before share_before now share_now".split()


def document(inference) -> Document:
    """The numbers and the picture of them, then what changed in each checkpoint."""
    names = ("precisions", "repeats", "threads", "environment")
    head = {name: getattr(inference, name) for name in names}
    numbers = Section("The numbers", [charts(inference), numbers_table(inference)])
    return Document(
        name=NAME,
        title=TITLE,
        about=about(inference),
        sections=[numbers, *(checkpoint_section(judged, inference) for judged in inference.judged)],
        data={**head, "checkpoints": [*map(data, inference.judged)]},
        records={NAME: records(inference), CHANGED: change_records(inference)},
        style=STYLE,
    )


def numbers_table(inference) -> Table:
    """A row for each checkpoint in each precision."""
    rows = [
        [judged.trained.name, *row(judged, precision)]
        for judged in inference.judged
        for precision in inference.precisions
    ]
    head = ["checkpoint", *HEAD]
    return Table("All checkpoints", [head, *rows], text_columns=(1,), code=True, is_grouped=True)


def charts(inference) -> list[Rows]:
    """What other precisions change, take and hold; nothing for no others."""
    if not inference.others:
        return []
    labels = {metric_label(judged.trained.task) for judged in inference.judged}
    base = inference.precisions[0]
    margin = min(judged.trained.task.margin for judged in inference.judged)
    measures: tuple[tuple[str, str, dict], ...] = (
        ("change", f"Change of {labels.pop() if len(labels) == 1 else 'the metric'}", {}),
        ("seconds", f"Time, times {base}'s", {"is_bars": True, "level": 1.0}),
        ("held", f"Memory, times {base}'s", {"is_bars": True, "level": 1.0}),
    )
    styles = styles_of(inference.precisions, base)
    legend = {precision: styles[precision] for precision in inference.others}
    charts_of_all = []
    for name, title, look in measures:
        rows = [
            Row(
                judged.trained.name,
                [Mark(measured(judged, p, name), styles[p]) for p in inference.others],
            )
            for judged in inference.judged
        ]
        look = look or {"margin": margin, "x": "shaded: the margin"}
        said = f"{title}: see the table."
        charts_of_all.append(Rows(f"{NAME}-{name}", title, rows, said=said, legend=legend, **look))
    return charts_of_all


def measured(judged, precision, name) -> float | None:
    """What a precision changes, or how many times the baseline's it takes or holds."""
    if name == "change":
        return judged.difference(precision)
    mine, base = (getattr(r, name) for r in (judged.results[precision], judged.base))
    return None if mine is None or not base else mine / base


def checkpoint_section(judged, inference) -> Section:
    """What changed in one checkpoint, with pictures."""
    parts: list = [*notes(judged)]
    for precision in inference.others:
        parts += [changes(judged, precision) or f"{precision}: see the table"]
        parts += [cards(judged, precision, inference.precisions[0])]
    return Section(heading(judged), parts)


def about(inference) -> str:
    """What was done, and what the columns are."""
    threads = words.plural(inference.threads, "thread")
    return (
        f"{words.plural(len(inference.judged), 'checkpoint')} in "
        f"{words.plural(len(inference.precisions), 'precision')}, without training. Change: of the "
        f"metric, from {inference.precisions[0]}. Changed: predictions of another class than "
        f"{inference.precisions[0]}'s; p: the p value of McNemar's exact test, whose hypothesis is "
        "that both are right equally often. Example: the time of a forward pass per example, the "
        f"median when the precisions took {words.plural(inference.repeats, 'turn')}, with "
        f"{threads}. Weights and activations: "
        "bytes at the peak of one batch, without the workspace inside operations; x: times "
        f"{inference.precisions[0]}'s."
    )


def heading(judged) -> str:
    """Which checkpoint, which metric, on how much."""
    task = judged.trained.task
    unit = f" in {task.metric_unit}" if task.metric_unit else ""
    return (
        f"{judged.trained.name}: {task.metric_name}{unit}, "
        f"{words.plural(len(judged.trained.test_set), 'example')}, batch {judged.batch}"
    )


def row(judged, precision) -> list[str]:
    """The cells of one checkpoint in one precision."""
    task, result, base = judged.trained.task, judged.results[precision], judged.base
    places = words.decimals(task.margin)
    changed = None if result is base else judged.changed(precision)
    difference = None if result is base else judged.difference(precision)
    return [
        precision,
        words.fixed(result.metrics[task.metric_name], metric_places(task)),
        words.signed(difference, places) if result is not base else "",
        words.fixed(result.loss, 4),
        "" if changed is None else f"{len(changed.places):,}",
        "" if changed is None else f"{changed.p:.2g}",
        words.seconds_text(result.seconds),
        ratio(result.seconds, base.seconds),
        *(words.bytes_text(result.bytes.get(kind)) for kind in ("weights", "activations")),
        ratio(result.held, base.held),
    ]


def ratio(value, base) -> str:
    """How many times the baseline's."""
    return f"{value / base:.2f}" if value is not None and base else "-"


def notes(judged) -> list[str]:
    """What must be known of one checkpoint beside its numbers."""
    texts = [*judged.trained.notes]
    texts += [f"left out: {text}" for text in judged.left_out]
    for precision, result in judged.results.items():
        lost = result.predictions.not_finite if result.predictions is not None else 0
        if lost:
            texts.append(f"{precision}: {words.plural(lost, 'output')} not finite, which name none")
    return texts


def changes(judged, precision) -> str:
    """How many predictions changed, and what became of them."""
    changed = judged.changed(precision)
    if changed is None:
        return ""
    n, rest = len(changed.places), len(changed.places) - changed.gained - changed.lost
    text = f"{precision}: {n:,} of {words.plural(changed.of, 'prediction')} changed"
    if not n:
        return text
    return (
        f"{text}: {changed.gained:,} became right, {changed.lost:,} wrong, {rest:,} from wrong to "
        "wrong"
    )


# ---- numbers ------------------------------------------------------------------------------------


def data(judged) -> dict:
    """One checkpoint."""
    trained, task = judged.trained, judged.trained.task
    results = {}
    for precision, result in judged.results.items():
        changed = None if result is judged.base else judged.changed(precision)
        results[precision] = {
            "metrics": result.metrics,
            "loss": result.loss,
            "seconds_per_example": result.seconds,
            "times": result.times,
            "bytes": result.bytes,
            "changed": None if changed is None else summary(changed),
        }
    return {
        "checkpoint": trained.path.name,
        "task": task.name,
        "trained": {k: trained.run[k] for k in ("precision", "seed", "steps") if k in trained.run},
        "averaged": bool(trained.averaged),
        "metric": task.metric_name,
        "examples": len(trained.test_set),
        "batch": judged.batch,
        "notes": notes(judged),
        "results": results,
    }


def summary(changed) -> dict:
    """The numbers of what changed."""
    known = {k: v for k, v in asdict(changed).items() if k != "places"}
    return {"count": len(changed.places), **known}


def records(inference) -> list:
    """A row for each checkpoint in each precision."""
    rows: list = [RECORD]
    for judged, path in zip(inference.judged, names_of(inference)):
        whole = data(judged)
        for precision, result in whole["results"].items():
            changed = result["changed"] or {}
            is_base = precision == judged.base.precision
            value = result["metrics"][whole["metric"]]
            row = [path, whole["task"], precision, whole["metric"], value]
            row += ["" if is_base else judged.difference(precision), result["loss"]]
            row += [changed.get(name, "") for name in ("count", "gained", "lost", "p")]
            row.append(result["seconds_per_example"])
            rows.append([*row, *(result["bytes"].get(k, "") for k in ("weights", "activations"))])
    return rows


def change_records(inference) -> list:
    """A row for each prediction that changed: where, and what both precisions name how surely."""
    return [CHANGE] + [
        [path, judged.trained.task.name, precision, *change]
        for judged, path in zip(inference.judged, names_of(inference))
        for precision in inference.others
        for change in each_change(judged, precision)
    ]


def names_of(inference) -> list[str]:
    """The file of each checkpoint, seen from the innermost folder that holds them all; of averages
    of its weights, with that word."""
    paths = [judged.trained.path.resolve() for judged in inference.judged]
    root = os.path.commonpath([path.parent for path in paths])
    words = [", averaged" * bool(judged.trained.averaged) for judged in inference.judged]
    return [path.relative_to(root).as_posix() + word for path, word in zip(paths, words)]


# ---- pictures -----------------------------------------------------------------------------------


def cards(judged, precision, base) -> Markup:
    """A card for each picture whose prediction changed; nothing where examples are no pictures."""
    changed = [*each_change(judged, precision)]
    items, missing = [], Markup()
    for example, _, true, before, share, now, share_now in changed[:MOST]:
        seen = picture_of(judged.trained.test_set, example)
        if seen is None:
            return Markup()
        content = of_picture(seen)
        if content is None:
            missing = paragraph(NO_PILLOW)
        names = [(base, before, share), (precision, now, share_now)]
        lines = Markup().join(line(*named, true) for named in names)
        drawn = image(content, f"example {example}, {true}")
        item = Markup("<li>{}<span>{} (example {})</span>{}</li>")
        items.append(item.format(drawn, true, example, lines))
    left = len(changed) - len(items)
    more = paragraph(f"{left:,} more in changed.csv.") if left > 0 else Markup()
    listed = Markup('<ul class="changed">{}</ul>').format(Markup().join(items))
    return missing + listed + more if items else Markup()


def line(precision, named, share, true) -> Markup:
    """What a precision names, and how surely."""
    kind = Markup(' class="right"') if named == true else ""
    return Markup("<span{}>{}: {}, {:.0%}</span>").format(kind, precision, named, share)


def image(content, said) -> Markup:
    """A picture inside of the page."""
    if content is None:
        return Markup()
    return in_notebook.picture(base64.b64encode(content).decode(), said)
