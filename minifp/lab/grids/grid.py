"""A grid: what is trained, and the values that some of its settings take.

Settings of the task and its optimizer make cells: each is a comparison of its own, in a folder of
its own. Switches of the precision make arms within each cell, where float32 stays as it is, as what
all of them are compared with.
"""

import hashlib
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from minifp.errors import ArgumentError
from minifp.lab.changes import PRECISION, as_text, changed, is_plain, switched
from minifp.lab.grids.axes import check_axes, values_of
from minifp.lab.settings import adjusted, canonical, seed_list
from minifp.lab.task import Task
from minifp.lab.tasks import load_task
from minifp.runtime.nearest import nearest
from minifp.saving import files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PRECISIONS, SEEDS = ("float32", "mixed"), 5
MOST = 10_000  # cells, and arms of each: more is a slip of the keyboard
CELLS, ONLY = "cells", "as it is"  # the folder of all cells; that of one without settings


@dataclass(frozen=True)
class Cell:
    """One comparison of a grid: the settings that its task has."""

    settings: dict[str, Any]

    @property
    def name(self) -> str:
        """Its folder's name, such as "lr=0.001,batch_size=32"."""
        return ",".join(f"{k}={as_text(v)}" for k, v in self.settings.items()) or ONLY


@dataclass(frozen=True)
class Grid:
    """What is swept.

    base: the task without any of the changes; lengths: epochs, steps and dial that were given for
    it. axes: the values of each name. source: of the file that it was read from, its name and
    SHA-256. Raises ArgumentError, or PrecisionError, for what cannot be.
    """

    base: Task
    axes: dict[str, list]
    precisions: list[str]
    seeds: list[int]
    lengths: dict[str, int | None] = field(default_factory=dict)
    source: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(init=False)

    def __post_init__(self):
        if not self.axes:
            hint = "give at least one name with its values, such as lr"
            raise ArgumentError(f"nothing to vary: {hint}")
        count = math.prod(map(len, self.axes.values()))
        if count > MOST:
            sizes = " · ".join(f"{len(values):,} of {name}" for name, values in self.axes.items())
            raise ArgumentError(f"{sizes}: a grid of {count:,} points, expected at most {MOST:,}")
        places = check_axes(self.task, self.precisions, self.axes)
        object.__setattr__(self, "places", places)
        self.cells()

    @property
    def task(self) -> Task:
        """The task without the changes of any cell."""
        return adjusted(self.base, **self.lengths)

    def axes_of(self, of_precision: bool) -> dict[str, list]:
        """The axes that make arms, or those that make cells."""
        return {k: v for k, v in self.axes.items() if (self.places[k] == PRECISION) == of_precision}

    def cells(self) -> list[Cell]:
        """All cells, the last name changing fastest."""
        axes = self.axes_of(False)
        return [Cell(dict(zip(axes, values))) for values in product(*axes.values())]

    def task_of(self, cell: Cell) -> Task:
        """The task of a cell."""
        return changed(self.task, cell.settings)

    def arms(self) -> dict[str, list[tuple[str, dict[str, Any]]]]:
        """The arms of each cell, by their canonical texts: the precision that each is made of, and
        its switches; {} for one that stays as it is."""
        axes = self.axes_of(True)
        origins: dict[str, list] = {}
        for precision in self.precisions:
            if is_plain(precision) or not axes:
                origins.setdefault(precision, []).append((precision, {}))
                continue
            for values in product(*axes.values()):
                switches = dict(zip(axes, values))
                origins.setdefault(switched(precision, switches), []).append((precision, switches))
        return origins

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return len(self.cells()) * len(self.arms()) * len(self.seeds)

    def described(self) -> dict:
        """What it is, as JSON holds it."""
        return {
            "task": self.task.name,
            "set": self.axes,
            "precision": self.precisions,
            "seeds": self.seeds,
            **{name: value for name, value in self.lengths.items() if value is not None},
            **({"file": self.source} if self.source else {}),
        }


LENGTHS = ("epochs", "steps", "dial")


def grid_of(
    task, set: Mapping, precisions=PRECISIONS, seeds=SEEDS, data=None, source=None, **lengths
) -> Grid:
    """The grid of what `sweep` is called with. data: of a built-in task. source: of a grid that was
    read. lengths: see LENGTHS. Raises ArgumentError."""
    if not isinstance(set, Mapping):
        raise ArgumentError(f"set={set!r}: expected a dict such as {{'lr': '1e-4..1e-1:5'}}")
    axes = {name: values_of(name, values) for name, values in set.items()}
    twice = [name for name, value in lengths.items() if value is not None and name in axes]
    if twice or {"epochs", "steps"} <= axes.keys():
        names = " and ".join(twice or ("epochs", "steps"))
        raise ArgumentError(f"{names}: give it once, as an argument or in set")
    base, arms, which = load_task(task, data), canonical(precisions), seed_list(seeds)
    return Grid(base, axes, arms, which, lengths, source or {})


# ---- from a file ---------------------------------------------------------------------------------

KEYS = ("task", "data", "precision", "seeds", *LENGTHS, "set")


def read_grid(path) -> Grid:
    """The grid in a TOML file, which knows the hash of that file.

        task = "lenet"                          # or "mytask.py:task", seen from this file
        precision = ["float32", "mixed"]
        seeds = 5
        [set]
        lr = "1e-4..1e-1:5"
        loss_scale = [1, 8, 128, "dynamic"]

    Also `data`, `epochs`, `steps` and `dial`. Raises ArgumentError for a file that is none.
    """
    path = files.as_path(path)
    try:
        content = path.read_bytes()
        table = tomllib.loads(content.decode("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{path} cannot be read as a grid in TOML: {error}") from error
    for name in table:
        if name not in KEYS:
            near = " or ".join(nearest(name, KEYS)) or ", ".join(KEYS)
            raise ArgumentError(f"{path}: no key {name!r}, expected {near}")
    missing = [name for name in ("task", "set") if name not in table]
    if missing:
        raise ArgumentError(f"{path}: {' and '.join(missing)} is missing: see minifp sweep --help")
    spec = table.pop("task")
    if isinstance(spec, str) and ".py" in spec and not Path(spec).is_absolute():
        spec = str(path.parent / spec)
    source = {"name": path.name, "sha256": hashlib.sha256(content).hexdigest()}
    precisions = table.pop("precision", PRECISIONS)
    return grid_of(spec, precisions=precisions, source=source, **table)
