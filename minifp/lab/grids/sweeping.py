"""`sweep`: the comparison of every cell of a grid, and what they show together."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from minifp.data.downloads import planned
from minifp.errors import ArgumentError
from minifp.lab.budget import seeds_within
from minifp.lab.comparison import Comparison, opened, requests_of
from minifp.lab.grids.estimate import Estimate, estimate_of
from minifp.lab.grids.grid import CELLS, PRECISIONS, SEEDS, Grid, grid_of, read_grid
from minifp.lab.grids.points import Point, points_of
from minifp.lab.results.folder import alone_in
from minifp.lab.settings import check_data
from minifp.lab.study import Study
from minifp.lab.task import Task
from minifp.lab.where import Where, where_of
from minifp.lab.workers.request import Request
from minifp.lab.workers.travel import ticket
from minifp.report.content import Document


@dataclass(repr=False)
class Sweep(Study):
    """The result of `sweep`: a Comparison for each cell, in the order of `grid.cells()`."""

    grid: Grid
    comparisons: list[Comparison]
    out: Path | None = None
    cached = ("points",)

    @cached_property
    def points(self) -> list[Point]:
        """What became of each arm in each cell."""
        return points_of(self.grid, self.comparisons)

    def comparison(self, **settings: Any) -> Comparison:
        """That of the cell with these settings, such as lr=0.001. Raises ArgumentError."""
        cells = self.grid.cells()
        which = [i for i, cell in enumerate(cells) if settings.items() <= cell.settings.items()]
        if len(which) != 1:
            names = "; ".join(cell.name for cell in cells)
            raise ArgumentError(f"{len(which)} cells have {settings}, expected one of: {names}")
        return self.comparisons[which[0]]

    def document(self) -> Document:
        """All that is shown of it: see minifp/report/content.py."""
        from minifp.lab.grids.tables import document

        return document(self)


def sweep(
    task: Task | str | None = None,
    set: Mapping[str, Any] | None = None,
    precisions: Iterable = PRECISIONS,
    seeds: int | Iterable[int] = SEEDS,
    *,
    grid: str | os.PathLike | Grid | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    dial: int | None = None,
    budget: str | float | None = None,
    **where: Any,
) -> Sweep:
    """Compare precisions at every point of a grid of settings, and return the Sweep.

    set: for each name its values, a list or a text: {"lr": "1e-4..1e-1:5", "loss_scale": [1, 8,
    "dynamic"]}. A name is a setting of the optimizer (lr, weight_decay, ...), a field of the task
    (batch_size, accumulate, clip_norm, epochs, steps, dial), or a switch of the precision
    (loss_scale, master_weights, reduce, ...), which float32 does not take. grid: a TOML file with
    all this, instead of the other arguments. epochs, steps, dial, budget: as in `compare`; a budget
    is for all cells together. where: as in `fp.lab.Where`; `out` keeps a folder for each cell, as
    `compare` writes it, and sweep.json, .csv, .md and .html.

    Raises ArgumentError for invalid settings, or settings without effect, before anything is
    trained.
    """
    lengths = {"epochs": epochs, "steps": steps, "dial": dial}
    whole = the_grid(task, set, precisions, seeds, grid, lengths)
    at = where_of("sweep", where)
    with alone_in(at.folder):
        swept, requests = read_sweep(whole, at)
        swept.budget = seeds_within(budget, whole.seeds, SEEDS)[1]
        swept.begin(at)
        swept.train(f"{whole.task.name}, {len(swept.comparisons)} cells", requests, at)
    return swept


def the_grid(task, set, precisions, seeds, grid, lengths) -> Grid:
    """The Grid that arguments or a file describe. Raises ArgumentError for both, or none."""
    if grid is None:
        if task is None or set is None:
            raise ArgumentError("sweep: give a task and what to set, or grid='sweep.toml'")
        return grid_of(task, set, precisions, seeds, **lengths)
    arguments = {"task": task, "set": set, **lengths}
    twice = [name for name, value in arguments.items() if value is not None]
    twice += [] if precisions is PRECISIONS else ["precisions"]
    twice += [] if seeds is SEEDS else ["seeds"]
    if twice:
        names = ", ".join(twice)
        raise ArgumentError(f"{names} beside grid={str(grid)!r}: the file already sets that")
    return grid if isinstance(grid, Grid) else read_grid(grid)


def read_sweep(grid: Grid, where: Where) -> tuple[Sweep, list[Request]]:
    """The sweep as its folder holds it, and the runs that are missing, all cells of one seed before
    the next seed, so that the whole grid is seen early. Nothing is written."""
    data, arms = check_data(grid.base.data()), list(grid.arms())
    comparisons, requests = [], []
    for cell in grid.cells():
        task = grid.task_of(cell)
        place, changes = where.place(CELLS, cell.name), {**grid.lengths, **cell.settings}
        comparison = opened(task, data, arms, grid.seeds, place, where.keep_weights)
        sent = ticket(grid.base, changes, task) if where.is_elsewhere else None
        comparisons.append(comparison)
        requests += requests_of(comparison, task, data, where.device, sent)
    requests.sort(key=lambda one: grid.seeds.index(one.seed))
    return Sweep(grid, comparisons, where.folder), requests


@planned()
def estimate(grid: Grid, where: Where, budget=None) -> Estimate:
    """How many runs of a grid are missing, and about how long they take, so many at a time."""
    limit = seeds_within(budget, grid.seeds, 1)[1]
    return estimate_of(grid.runs, read_sweep(grid, where)[1], where.jobs, limit)
