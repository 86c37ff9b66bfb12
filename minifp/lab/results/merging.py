"""Folders of one comparison that were made apart, on several machines say, put together."""

import math
import os
from dataclasses import asdict, fields, replace
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from minifp.errors import ArgumentError
from minifp.lab.comparison import Comparison
from minifp.lab.results import store
from minifp.lab.results.folder import save
from minifp.lab.run import Run
from minifp.lab.where import PRODUCTS, where_of
from minifp.lab.workers import carry_out
from minifp.report.json_text import json_text
from minifp.saving import files

# What may differ between two runs that have the same bits, or is looked at by itself.
MEASURED = "seconds processor_seconds seconds_per_step bytes made snapshots weights kept".split()
TOLD = ("description", "epochs", "steps", "batch_size", "clip_norm")  # of tasks: settings have it
SHOWN = 5  # of what differs


def merge(
    *folders: str | os.PathLike,
    out: str | os.PathLike | None = None,
    **where: Any,
) -> Comparison:
    """Put the runs of several folders together, and return the Comparison of all of them.

    folders: at least two that `compare` wrote. out: a new folder for the result, which is there as
    a whole or not at all; None only looks whether they fit. where: figures, style, width, font and
    tensorboard, as in `fp.lab.Where`.

    Raises ArgumentError, naming what differs, for folders of other settings, data, task or margin;
    for a run that two folders have with different results (times may differ, bits may not); and for
    a folder `out` that holds something already.
    """
    at = where_of("merge", {"out": out, **where}, ("out", *PRODUCTS))
    paths = [files.as_path(folder) for folder in folders]
    if len({path.resolve() for path in paths}) < max(2, len(paths)):
        raise ArgumentError(
            f"merge of {', '.join(map(str, paths)) or 'nothing'}: expected two folders or more, "
            "each once"
        )
    parts = [(path, Comparison.load(path)) for path in paths]
    for path, part in parts[1:]:
        check_settings(paths[0], parts[0][1], path, part)
    places: dict[tuple, tuple[Path, Run]] = {}
    for path, part in parts:
        for run in store.load_runs(path, part.config):
            before = places.setdefault((run.precision, run.seed), (path, run))
            check_same(*before, path, run)
    for path, run in places.values():
        tell_machine(run, parts[0][1], dict(parts)[path])
    whole = united([part for _, part in parts], [run for _, run in places.values()])
    if out is None:  # files that runs keep lie in several folders
        whole.runs = [replace(run, kept={}) for run in whole.runs]
        return whole
    with files.new_folder(out) as folder:
        whole.out = folder
        contents: dict = {}
        for path, run in places.values():
            named = store.run_path(folder, run.precision, run.seed)
            contents[named] = store.text_of(run, whole.config)
            contents |= {folder / n: files.read_within(path, n) for n in store.beside(path, run)}
        save(whole, folder, contents)
        at.products.write(whole, folder)
    whole.out = files.as_path(out)
    return whole


def check_settings(first, one, second, other) -> None:
    """Refuse comparisons whose runs cannot stand side by side."""
    settings, of_other = (
        {**{k: v for k, v in asdict(c.task).items() if k not in TOLD}, **c.config}
        for c in (one, other)
    )
    differing = store.differing(settings, of_other)
    if differing:
        changes = "; ".join(
            f"{name} is {shorten(repr(settings.get(name)), 60)} in {first} and "
            f"{shorten(repr(of_other.get(name)), 60)} in {second}"
            for name in differing
        )
        raise ArgumentError(
            f"{first} and {second} cannot be merged: {changes}. Only runs of the same settings, "
            "data and margin belong in one comparison"
        )


def check_same(first, one, second, other) -> None:
    """Refuse two runs of one arm and seed that are not the same to the last bit."""
    names = [] if one is other else differences(first, one, second, other)
    if names:
        name = store.run_path(Path(), one.precision, one.seed)
        raise ArgumentError(
            f"{one.precision}, seed {one.seed} is in {first} and in {second}, with other results: "
            f"{', '.join(names[:SHOWN])} differ. The same settings give the same bits on one "
            f"machine with one version of each library; keep one, and delete {name} in the other "
            "folder, or that folder"
        )


def differences(first, one, second, other) -> list[str]:
    """In what two runs differ beside times, the most telling first."""
    names = [f.name for f in fields(Run) if f.name not in MEASURED]
    different = [n for n in names if json_text(getattr(one, n)) != json_text(getattr(other, n))]
    arrays, of_other = one.snapshots, other.snapshots
    if arrays and of_other:  # which are not there where they were not asked for, or lost
        same = arrays.keys() == of_other.keys() and all(
            np.array_equal(a, of_other[k], equal_nan=True) for k, a in arrays.items()
        )
        different += [] if same else ["weights and outputs"]
    for name in sorted({*one.kept, *other.kept}):
        places = [(first, one.kept.get(name)), (second, other.kept.get(name))]
        held = [None if file is None else files.read_within(path, file) for path, file in places]
        different += [] if held[0] == held[1] else [name]
    return different


def tell_machine(run, first, part) -> None:
    """Note that a run was made on another machine than those of the first folder."""
    other = carry_out.differences(first.environment, part.environment)
    machines = [run.made.get("environment"), other]
    if any(machines):
        run.made["environment"] = "; ".join(filter(None, machines))


def united(parts, runs) -> Comparison:
    """One comparison of all of these runs, on the machine of the first part."""
    first = parts[0]
    precisions = list(dict.fromkeys(p for part in parts for p in part.precisions))
    entries = {entry["sha256"]: entry for part in parts for entry in part.registered}
    order = {precision: i for i, precision in enumerate(precisions)}
    return replace(
        first,
        precisions=precisions,
        seeds=sorted({seed for part in parts for seed in part.seeds}),
        runs=sorted(runs, key=lambda run: (run.seed, order.get(run.precision, math.inf))),
        asked=list(dict.fromkeys(pair for part in parts for pair in part.asked)),
        registered=sorted(entries.values(), key=lambda entry: entry["at"]),
        out=None,
    )
