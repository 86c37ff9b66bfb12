"""Trained weights in a file, and the task that they are of."""

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minifp.data import Subset
from minifp.errors import ArgumentError, CheckpointError
from minifp.lab.results.origin import seen_from_here
from minifp.lab.resume import checked_extra
from minifp.lab.settings import check_data, data_text
from minifp.lab.task import Task
from minifp.lab.tasks import is_own, load_task
from minifp.saving import files, tensor_file

ENDING = ".safetensors"
SETTINGS = {"minifp": "minifp", "task file": "the task's file", "test data": "the test data"}


@dataclass
class Trained:
    """One checkpoint. test_set: of its task. run: what was written down while it was trained; {}
    of weights alone. notes: what is not as it was then. averaged: the averages of its weights, by
    name, for each model by its name, which are judged in their place; {} of weights."""

    path: Path
    task: Task
    test_set: Any
    run: dict = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    averaged: dict[str, dict] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """What was trained, and how, as far as is known."""
        how = f"{self.run['precision']}, seed {self.run['seed']}" if self.run else self.path.stem
        return f"{self.task.name} ({how}{', averaged' if self.averaged else ''})"


def open_all(
    places: Any, task: Any = None, data: str | None = None, examples: int | None = None
) -> list[Trained]:
    """The checkpoints in files and folders, with averages of weights behind the weights.

    task, data: as `load_task` takes them, where files do not tell of which task they are, or name
    one that is not minifp's own. examples:
    how many of the test set, the first ones; None for all.
    Raises ArgumentError for no checkpoint, and CheckpointError for a file that is none, is of
    another task, or does not tell of which.
    """
    loaded: dict[Any, tuple] = {}
    checkpoints = [one for path in paths_of(places) for one in opened(path, task, data, loaded)]
    for trained in checkpoints if examples is not None else ():
        count = min(examples or 0, len(trained.test_set))
        trained.test_set = Subset(trained.test_set, range(count))
    names = [trained.name for trained in checkpoints]
    for trained in checkpoints:
        if names.count(trained.name) > 1:
            trained.notes.append(f"read from {seen_from_here(trained.path.absolute())}")
    return checkpoints


def paths_of(places: Any) -> list[Path]:
    """The files that are named, and all below a folder that is named, each once."""
    single = isinstance(places, (str, os.PathLike))
    each = [places] if single else list(places) if isinstance(places, Iterable) else []
    paths: dict[Path, None] = {}
    for place in map(files.as_path, each):
        inside = sorted(place.rglob(f"*{ENDING}")) if place.is_dir() else [place]
        if not inside:
            raise ArgumentError(
                f"no checkpoint in the folder {place}: write checkpoints with `minifp compare "
                f"--keep-weights --out {place}` or `minifp train --save`"
            )
        paths |= dict.fromkeys(inside)
    if not paths:
        raise ArgumentError(f"checkpoints={places!r}: expected at least one file")
    return [*paths]


def opened(path: Path, task: Any, data: str | None, loaded: dict) -> list[Trained]:
    """Those of one file. loaded: tasks with their test sets, by name, for those of the same."""
    tree = tensor_file.read(path)[1]
    extra: Any = tree.get("extra") if isinstance(tree, dict) else None
    ours = isinstance(extra, dict) and "run" in extra
    told_by_file = checked_extra(path, tree) if ours else {"run": {}, "settings": {}, "origin": {}}
    name, its_data = (task, None) if task is not None else spec_of(path, told_by_file, ours)
    spec = name, its_data if data is None else data
    key = spec if isinstance(spec[0], str) else id(spec[0])
    if key not in loaded:
        one = load_task(*spec)
        loaded[key] = one, check_data(one.data())[1]
    one, test_set = loaded[key]
    notes = changes(path, told_by_file["settings"], one, test_set)
    averaged = told_by_file.get("averaged")
    each = [{}, averaged] if averaged else [{}]
    return [Trained(path, one, test_set, told_by_file["run"], [*notes], a) for a in each]


def spec_of(path: Path, told_by_file: dict, ours: bool) -> tuple:
    """By what the task of a file is found. Raises CheckpointError where the file does not tell, or
    names what would have to be imported: that, only whoever calls may name."""
    origin = told_by_file["origin"]
    named = origin.get("task")
    if is_own(named):
        return named, origin.get("data")
    if named:
        raise CheckpointError(
            f"checkpoint {str(path)!r} is of the task {named!r}, Python code that would run, and a "
            "file may name any code: if you trust it, name it yourself, with --task "
            f"{shlex.quote(str(named))} or task={named!r}"
        )
    if ours:
        name = told_by_file["settings"].get("task")
        why = f"its task {name!r} was created in a program, and has no name to find it by"
    else:
        why = "it holds weights, but does not name their task"
    hint = "name it, as with --task lenet or --task FILE.py:NAME"
    raise CheckpointError(f"checkpoint {str(path)!r}: {why}: {hint}")


def changes(path: Path, settings: dict, task: Task, test_set: Any) -> list[str]:
    """What is not as it was when it was trained, in words. Raises CheckpointError for weights of
    another task."""
    if not settings:
        return []
    if settings.get("task") != task.name:
        raise CheckpointError(
            f"checkpoint {str(path)!r} is of the task {settings.get('task')!r}, not of "
            f"{task.name!r}: leave the task out, or name that one"
        )
    from minifp.lab.environment import installed

    now = {
        "minifp": installed("minifp"),
        "task file": task.source,
        "test data": data_text(test_set, task.collate),
    }
    return [
        f"{what} was {settings[key]!r} when it was trained, and is {now[key]!r} now"
        for key, what in SETTINGS.items()
        if key in settings and settings[key] != now[key]
    ]
