"""results.json: all of a comparison but the histories, as results.schema.json describes it."""

from dataclasses import asdict, replace
from textwrap import shorten

from minifp.errors import DataError
from minifp.lab import divergence
from minifp.lab.results import origin, store, tidy
from minifp.lab.results import schema as published
from minifp.lab.task_info import TaskInfo
from minifp.saving import files

SCHEMA = "urn:minifp:results:1"  # the "$id" of that file, raised where readers must change
KEPT = ("dial", "precisions", "seeds", "config", "environment")  # fields that are taken up again


def schema() -> dict:
    """The JSON schema (draft 2020-12) that results.json follows."""
    return published.published()


def summary(comparison) -> dict:
    """What results.json holds; numbers that are not finite are still floats here."""
    return {
        "schema": SCHEMA,
        "task": asdict(comparison.task),
        "notes": comparison.notes(),
        "verdict": comparison.verdict_sentence(),
        "special": comparison.answer_sentences(),
        "baseline": comparison.baseline,
        "asked": comparison.asked,
        "origin": asdict(comparison.origin),
        "registered": comparison.registered,
        **{name: getattr(comparison, name) for name in KEPT},
        "rows": [asdict(row) for row in comparison.rows()],
        "scores": [claim.told() for claim in comparison.claims()],
        "controls": [answer.told() for answer in comparison.answers()],
        "divergence": [divergence.facts_of(d, comparison.baseline) for d in comparison.distances()],
        "not_repeatable": comparison.unrepeatable(),
        "runs": [facts_of(run, comparison.out is None) for run in comparison.runs],
    }


def facts_of(run, in_memory: bool) -> dict:
    """A run without its history, snapshots and weights; of what it keeps the names of the files."""
    left_out: dict = {"history": {}, "snapshots": {}, "weights": {}}
    names = {n: file for n, (file, _) in store.kept_files(run).items()} if in_memory else run.kept
    small = replace(run, **left_out, kept=names)
    return {k: v for k, v in asdict(small).items() if k not in left_out}


def read(folder) -> dict:
    """The fields of the Comparison that is kept in a folder.

    Raises DataError if there is none, or none of this version, or it cannot be read.
    """
    folder = files.as_path(folder)
    path = folder / store.RESULTS
    if not path.is_file():
        raise DataError(f"no {store.RESULTS} in {folder}: expected a folder that compare wrote")
    held = store.read_json(folder, path)
    published.check(held, published.RESULTS, path)
    try:
        runs = [store.run_from(r, path) for r in held["runs"]]
        fields = {
            "task": TaskInfo(**held["task"]),
            "runs": runs,
            "asked": [tuple(pair) for pair in held["asked"]],
            "origin": origin.read(held["origin"]),
            "registered": held["registered"],
            "out": folder,
            **{name: held[name] for name in KEPT},
        }
        if len({(run.precision, run.seed) for run in runs}) < len(runs):
            raise ValueError("a run is there twice")
        store.check_arms(path, fields["asked"])
        store.check_arms(path, [(precision, 0) for precision in fields["precisions"]])
        store.check_arms(path, [("float32", seed) for seed in fields["seeds"]])
        others = (name for run in runs for name in run.metrics)
        metrics = dict.fromkeys([fields["task"].metric_name, *others])
        histories = tidy.read_history(folder, list(metrics))
        for run in runs:
            run.history = histories.get((run.precision, run.seed), run.history)
            run.snapshots = store.read_snapshots(store.run_path(folder, run.precision, run.seed))
    except DataError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = shorten(repr(error), 160)
        raise DataError(f"{path} holds no comparison of this version: {reason}") from error
    return fields
