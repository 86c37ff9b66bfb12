"""A comparison on disk: a folder that grows run by run and is readable at any moment.

    runs/<precision>,seed=<n>.json   one finished run each, with the settings it belongs to
    runs/<precision>,seed=<n>.npz    its weights and outputs at some steps: see snapshots.py
    runs/<precision>,seed=<n>.safetensors   its weights at the end, where they are kept
    runs/<precision>,seed=<n>/       what its evaluation kept: arrays, texts, pictures, sounds
    results.json                     the table, the settings, the runs without their histories
    runs.csv, history.csv            every run, and every step of every run, as plain tables
    table.tex                        the table for a paper
    reproduce.sh                     the commands that make it again

Every file is written aside and renamed, so that none is ever seen half written.
"""

import hashlib
import math
import re
from collections.abc import Iterable
from dataclasses import asdict, replace
from io import BytesIO
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from minifp.errors import ArgumentError, DataError, MinifpError
from minifp.lab import attachments, final_weights, snapshots
from minifp.lab.arms import as_arm
from minifp.lab.results import schema
from minifp.lab.results.origin import NOWHERE, Origin
from minifp.lab.results.schema import EDITED
from minifp.lab.run import COLUMNS, Run
from minifp.report.json_text import json_text
from minifp.runtime import untrusted
from minifp.saving import files

RUNS, RESULTS, REPORT = "runs", "results.json", "report.html"
RUNS_TABLE, HISTORY = "runs.csv", "history.csv"
LATEX, SCRIPT = "table.tex", "reproduce.sh"
EFFECTS = "effects"  # what the files begin with that an ablation adds
SEEDS = 2**63  # what seeds are smaller than
WHOLE = ("step", "skipped")  # columns of a history that count
LONGEST = 200  # characters of a precision in a file's name, which may have 255
NAME = re.compile(r"\w[^/\\\x00-\x1f\x7f]*")  # of an arm: part of a path, and a command's word
KEPT_FILE = re.compile(r"[\w-][\w.-]{0,254}")  # in the folder of a run: see attachments.contents
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}  # JSON has no numbers for these


def number(value):
    """A number, or None, as `json_text` wrote it."""
    return NOT_FINITE[value] if isinstance(value, str) else value


# ---- single runs ---------------------------------------------------------------------------------


def run_path(folder: Path, precision: str, seed: int) -> Path:
    """Where a run is kept; a precision of very many switches goes by its beginning and a hash, and
    its * and ?, which not every system allows in a file's name, are ~ and ^."""
    if len(precision) > LONGEST:
        digest = hashlib.sha256(precision.encode()).hexdigest()[:16]
        precision = f"{precision[: LONGEST - 20]}...-{digest}"
    precision = precision.translate(str.maketrans("*?", "~^"))
    return folder / RUNS / f"{precision},seed={seed}.json"


def save_run(folder: Path, run: Run, config: dict, origin: Origin = NOWHERE) -> None:
    """Write one finished run into its own file, and beside it its snapshots and what it keeps.

    `run.kept` has the names of the files then, seen from the folder; its weights, where it has
    them, are in a checkpoint, and no more in memory. origin: of its task.
    """
    path = run_path(folder, run.precision, run.seed)
    if run.weights:
        files.check_within(folder, weights_path(path))
        final_weights.save(weights_path(path), run, config, origin)
        run.weights = {}
    saved = kept_files(run)
    written: dict = {folder / file: content for file, content in saved.values()}
    run.kept = {name: file for name, (file, _) in saved.items()}
    if run.snapshots:
        out = BytesIO()
        arrays: Any = run.snapshots  # whose names the types of savez do not expect
        np.savez(out, **arrays)
        written[snapshots_path(path)] = out.getvalue()
    files.write_into(folder, {**written, path: text_of(run, config)})


def kept_files(run: Run) -> dict[str, tuple[str, bytes]]:
    """What a run keeps in memory, by name: its file, seen from the folder, and the content."""
    path = run_path(Path(), run.precision, run.seed)
    beside = path.with_name(path.name.removesuffix(".json"))
    saved = {name: attachments.contents(name, value) for name, value in run.kept.items()}
    return {name: ((beside / file).as_posix(), content) for name, (file, content) in saved.items()}


def text_of(run: Run, config: dict) -> str:
    """A run without its snapshots, and its settings, as JSON."""
    return json_text({"config": config, "run": asdict(replace(run, snapshots={}, weights={}))})


def beside(folder: Path, run: Run) -> list[str]:
    """The files beside that of a run that is kept in a folder, seen from there. Raises DataError
    where it names one that is not its own."""
    path = run_path(folder, run.precision, run.seed)
    own = path.relative_to(folder).with_suffix("").as_posix()
    for file in run.kept.values():
        place, _, name = str(file).rpartition("/")
        if place != own or not KEPT_FILE.fullmatch(name):
            raise DataError(f"{folder}: {file!r} is no file of the run {path.stem!r}{EDITED}")
    there = [snapshots_path(path)] * bool(run.snapshots)
    there += [weights_path(path)] * has_weights(folder, run)
    return [file.relative_to(folder).as_posix() for file in there] + list(run.kept.values())


def has_weights(folder: Path, run: Run) -> bool:
    """Whether the weights of a run are kept in a folder."""
    return weights_path(run_path(folder, run.precision, run.seed)).is_file()


def weights_path(path: Path) -> Path:
    """Where the weights of a run in `path` are."""
    return path.with_name(path.name.removesuffix(".json") + ".safetensors")


def snapshots_path(path: Path) -> Path:
    """Where the snapshots of a run in `path` are."""
    return path.with_suffix(".npz")


def read_snapshots(path: Path) -> dict:
    """The snapshots of a run in `path`; none where there is no file, or one that is damaged."""
    place = snapshots_path(path)
    try:
        files.check_within(path.parents[1], place)
        arrays = untrusted.arrays_of(untrusted.content(place), place)
        return arrays if snapshots.are_whole(arrays) else {}
    except DataError:
        return {}


def load_runs(folder: Path, config: dict) -> list[Run]:
    """All runs in a folder. Raises ArgumentError if one was made with other settings."""
    runs = []
    for path in sorted((folder / RUNS).glob("*.json")):
        held = read_json(folder, path)
        schema.check(held, schema.RUN_FILE, path)
        if changed := differing(held["config"], config):
            raise ArgumentError(_mixing(folder, held["config"], config, changed))
        run = run_from(held["run"], path)
        if run_path(folder, run.precision, run.seed) != path:
            raise DataError(f"{path} is of {run.precision}, seed {run.seed}{EDITED}")
        beside(folder, run)
        run.snapshots = read_snapshots(path)
        runs.append(run)
    return runs


def differing(one: dict, other: dict) -> list[str]:
    """The names of the settings in which two differ; one that is not there is None."""
    return [k for k in dict.fromkeys([*one, *other]) if one.get(k) != other.get(k)]


def _mixing(folder, held, config, changed):
    changes = "; ".join(
        f"{k} was {shorten(repr(held.get(k)), 60)} and is now {shorten(repr(config.get(k)), 60)}"
        for k in changed
    )
    return (
        f"{folder} holds runs of other settings: {changes}. Runs of different settings do not "
        "belong in one comparison: give another folder, or delete this one"
    )


def read_json(folder: Path, path: Path):
    """The content of a JSON file in a folder. Raises DataError if it cannot be read as one."""
    files.check_within(folder, path)
    try:
        return untrusted.json_of(path)
    except DataError as error:
        raise DataError(f"{error}. Delete it and compare again: the run is made anew") from error


def runs_shown(folder: Path) -> set | None:
    """The (precision, seed) pairs that results.json tells of; None where there is no such file."""
    path = folder / RESULTS
    if not path.is_file():
        return None
    try:
        return {(run["precision"], run["seed"]) for run in read_json(folder, path)["runs"]}
    except (DataError, KeyError, TypeError):
        return set()


def environment_of(folder: Path) -> dict[str, str] | None:
    """On what the runs in a folder were made, but for those that tell themselves; None where no
    results.json is there, or a damaged one."""
    try:
        held = read_json(folder, folder / RESULTS)
        schema.check(held, schema.RESULTS, folder / RESULTS)
        return held["environment"]
    except DataError:
        return None


def check_arms(path: Path, pairs: Iterable[tuple[Any, Any]]) -> None:
    """Raise DataError for a precision, as `path` names it, that is not the text of an arm, or for
    what is no seed."""
    for precision, seed in pairs:
        if not (isinstance(precision, str) and NAME.fullmatch(precision) and is_arm(precision)):
            text = shorten(repr(precision), 60)
            raise DataError(f"{path}: {text} is no name of a precision{EDITED}")
        if type(seed) is not int or not 0 <= seed < SEEDS:
            raise DataError(f"{path}: {seed!r} is no seed{EDITED}")


def is_arm(text: str) -> bool:
    """Whether a text is the one that an arm has."""
    try:
        return str(as_arm(text)) == text
    except MinifpError:
        return False


def run_from(fields: dict, path: Path) -> Run:
    """The Run that `asdict` and `json_text` wrote, of what `schema.check` has taken. Raises
    DataError if it is none."""
    try:
        run = Run(**fields)
        check_arms(path, [(run.precision, run.seed)])
        run.history = {name: [number(v) for v in column] for name, column in run.history.items()}
        check_history(run.history)
        run.evaluations = [(step, *map(number, values)) for step, *values in run.evaluations]
        run.metric, run.final_scale = number(run.metric), number(run.final_scale)
        run.metrics = {name: [number(v) for v in column] for name, column in run.metrics.items()}
        for name in ("seconds_per_step", "seconds", "processor_seconds"):
            setattr(run, name, number(getattr(run, name)))
    except DataError:
        raise
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        reason = shorten(str(error), 160)
        raise DataError(f"{path} holds no run of this version of minifp: {reason}") from error
    return run


def check_history(history: dict) -> None:
    """Raise ValueError for columns that are missing, not as long as the others, or no numbers."""
    lengths = {name: len(column) for name, column in history.items()}
    if not {*COLUMNS} <= {*history} or len({*lengths.values()}) > 1:
        raise ValueError(f"its history has columns of {lengths}, expected {', '.join(COLUMNS)}")
    for name, column in history.items():
        if not {*map(type, column)} <= ({int} if name in WHOLE else {int, float}):
            raise ValueError(f"its history has what is no number in {name!r}")
