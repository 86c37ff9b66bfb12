"""What `evaluate` found, as files of numbers."""

import os
from dataclasses import asdict

from minifp.lab.inference.shown import each_change, notes
from minifp.lab.results import store
from minifp.report.csv_text import csv_text


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
    for judged, path in zip(found.judged, names_of(found)):
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
                [path, judged.trained.task.name, precision, name]
                + [result.metrics[name], difference, result.loss, *numbers, result.seconds, *sizes]
            )
    return csv_text(rows)


def changed_csv(found) -> str:
    """A row for each prediction that changed: where, and what both precisions name how surely."""
    rows = [
        ["checkpoint", "task", "precision", "example", "place", "true", "before", "share_before"]
        + ["now", "share_now"]
    ]
    for judged, path in zip(found.judged, names_of(found)):
        for precision in found.others:
            for change in each_change(judged, precision):
                names = [path, judged.trained.task.name, precision]
                rows.append([*names, *change])
    return csv_text(rows)


def names_of(found) -> list[str]:
    """The file of each checkpoint, seen from the innermost folder that holds them all."""
    paths = [judged.trained.path.resolve() for judged in found.judged]
    root = os.path.commonpath([path.parent for path in paths])
    return [path.relative_to(root).as_posix() for path in paths]
