"""What `evaluate` found: as text, and as files of numbers."""

import csv
from dataclasses import asdict
from io import StringIO

from minifp.lab.inference.examples import class_name
from minifp.lab.results import store
from minifp.report import words
from minifp.report.plain_text import columns, fill

NAME = "evaluation"  # of the files in a folder
CHANGED = "changed"  # the file of the examples whose prediction changed
HEAD = (
    *("precision", "metric", "change", "loss", "changed", "p"),
    *("example", "x time", "weights", "activ.", "x memory"),
)


def about(found) -> str:
    """What was done, and what the columns are."""
    threads = words.plural(found.threads, "thread")
    return (
        f"{words.plural(len(found.judged), 'checkpoint')} in "
        f"{words.plural(len(found.precisions), 'precision')}, nothing trained. Change: of the "
        f"metric from {found.precisions[0]}. Changed: predictions that name another class than "
        f"{found.precisions[0]}'s; p: of being right equally often (McNemar's exact test). "
        f"Example: the time of a forward pass for one example, the median where the precisions "
        f"took {words.plural(found.repeats, 'turn')}, with {threads}. "
        "Weights and activations: bytes at the peak of one batch, without the workspace inside "
        f"operations; x: times {found.precisions[0]}'s."
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
        words.fixed(result.metrics[task.metric_name], places),
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
    told = [*judged.trained.notes]
    told += [f"left out: {text}" for text in judged.left_out]
    for precision, result in judged.results.items():
        lost = result.predictions.not_finite if result.predictions is not None else 0
        if lost:
            told.append(f"{precision}: {words.plural(lost, 'output')} not finite, which name none")
    return told


def changes(judged, precision) -> str:
    """How many predictions changed, and what became of them."""
    changed = judged.changed(precision)
    if changed is None:
        return ""
    n, rest = len(changed.places), len(changed.places) - changed.gained - changed.lost
    told = f"{precision}: {n:,} of {words.plural(changed.of, 'prediction')} changed"
    if not n:
        return told
    return (
        f"{told}: {changed.gained:,} became right, {changed.lost:,} wrong, {rest:,} from wrong to "
        "wrong"
    )


def text(found) -> str:
    """Everything, for a terminal."""
    rows = [row(judged, precision) for judged in found.judged for precision in found.precisions]
    head, line, *lines = columns([HEAD, *rows]).split("\n")
    parts = [fill(about(found)), "\n".join([head, line])]
    each = len(found.precisions)
    for i, judged in enumerate(found.judged):
        said = [changes(judged, precision) for precision in found.others]
        said = [*filter(None, said), *notes(judged)]
        parts.append(
            "\n".join(
                [
                    fill(heading(judged)),
                    *lines[i * each : (i + 1) * each],
                    *(fill(f"- {one}", hang="  ") for one in said),
                ]
            )
        )
    return "\n\n".join(parts)


# ---- files --------------------------------------------------------------------------------------


def contents(found) -> dict[str, str]:
    """The files, by name."""
    from minifp.lab.inference.page import page

    return {
        f"{NAME}.json": to_json(found),
        f"{NAME}.csv": to_csv(found),
        f"{CHANGED}.csv": changed_csv(found),
        f"{NAME}.html": page(found),
    }


def to_json(found) -> str:
    """All numbers, but the predictions that did not change."""
    about_all = {
        "precisions": found.precisions,
        "repeats": found.repeats,
        "threads": found.threads,
        "environment": found.environment,
    }
    return store.to_json({**about_all, "checkpoints": [*map(told, found.judged)]}, indent=1)


def told(judged) -> dict:
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
    run = trained.run
    return {
        "checkpoint": trained.path.name,
        "task": task.name,
        "trained": {key: run[key] for key in ("precision", "seed", "steps") if key in run},
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


def to_csv(found) -> str:
    """A row for each checkpoint in each precision."""
    rows = [
        ["checkpoint", "task", "precision", "metric", "value", "change", "loss", "changed"]
        + ["gained", "lost", "p", "seconds_per_example", "weights_bytes", "activations_bytes"]
    ]
    for judged in found.judged:
        name = judged.trained.task.metric_name
        for precision, result in judged.results.items():
            is_base = result is judged.base
            changed = None if is_base else judged.changed(precision)
            numbers = (
                [""] * 4
                if changed is None
                else [len(changed.places), changed.gained, changed.lost, changed.p]
            )
            difference = "" if is_base else judged.difference(precision)
            sizes = [result.bytes.get(kind, "") for kind in ("weights", "activations")]
            rows.append(
                [judged.trained.path.name, judged.trained.task.name, precision, name]
                + [result.metrics[name], difference, result.loss, *numbers, result.seconds, *sizes]
            )
    return lines_of(rows)


def changed_csv(found) -> str:
    """A row for each prediction that changed: where, and what both precisions name how surely."""
    rows = [
        ["checkpoint", "task", "precision", "example", "place", "true", "before", "share_before"]
        + ["now", "share_now"]
    ]
    for judged in found.judged:
        for precision in found.others:
            for change in each_change(judged, precision):
                names = [judged.trained.path.name, judged.trained.task.name, precision]
                rows.append([*names, *change])
    return lines_of(rows)


def each_change(judged, precision):
    """(example, place in it, true class, class and share before, class and share now) of each."""
    changed, dataset = judged.changed(precision), judged.trained.test_set
    base, other = judged.base.predictions, judged.results[precision].predictions
    for place in () if changed is None else changed.places:
        at = tuple(place)
        yield [
            int(place[0]),
            "/".join(map(str, place[1:])),
            class_name(dataset, int(base.targets[at])),
            class_name(dataset, int(base.classes[at])),
            round(float(base.shares[at]), 6),
            class_name(dataset, int(other.classes[at])),
            round(float(other.shares[at]), 6),
        ]


def lines_of(rows) -> str:
    """Rows as CSV."""
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
