"""`sweep`: the comparison of every cell of a grid, and what they show together."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from minifp.errors import ArgumentError
from minifp.lab import registration
from minifp.lab.comparison import Comparison, opened
from minifp.lab.grids.estimate import Estimate, estimate_of
from minifp.lab.grids.grid import CELLS, PRECISIONS, SEEDS, Grid, grid_of, read_grid
from minifp.lab.grids.points import Point, points_of
from minifp.lab.results import store
from minifp.lab.results.folder import alone_in, begin
from minifp.lab.results.products import Products, products_of
from minifp.lab.settings import check_data
from minifp.lab.task import Task
from minifp.lab.workers.carry_out import carry_out
from minifp.lab.workers.engines import engine_for
from minifp.lab.workers.here import Here
from minifp.lab.workers.travel import ticket
from minifp.lab.workers.wanted import Wanted
from minifp.report.content import Document
from minifp.report.documented import Documented
from minifp.saving import files


@dataclass(repr=False)
class Sweep(Documented):
    """The result of `sweep`: a Comparison for each cell, in the order of `grid.cells()`."""

    grid: Grid
    comparisons: list[Comparison]
    out: Path | None = None

    @cached_property
    def points(self) -> list[Point]:
        """What became of each arm in each cell."""
        return points_of(self.grid, self.comparisons)

    def comparison(self, **settings: Any) -> Comparison:
        """That of the cell with these settings, such as lr=0.001. Raises ArgumentError."""
        found = [
            c
            for cell, c in zip(self.grid.cells(), self.comparisons)
            if all(cell.settings.get(name) == value for name, value in settings.items())
        ]
        if len(found) != 1:
            names = "; ".join(cell.name for cell in self.grid.cells())
            raise ArgumentError(f"{len(found)} cells have {settings}, expected one of: {names}")
        return found[0]

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
    out: str | os.PathLike | None = None,
    figures: str | None = None,
    progress: bool = True,
    device: str | None = None,
    jobs: int = 1,
    client: Any = None,
) -> Sweep:
    """Compare precisions at every point of a grid of settings, and return the Sweep.

    set: for each name its values, a list or a text: {"lr": "1e-4..1e-1:5", "loss_scale": [1, 8,
    "dynamic"]}. A name is a setting of the optimizer (lr, weight_decay, ...), a field of the task
    (batch_size, accumulate, clip_norm, epochs, steps, dial), or a switch of the precision
    (loss_scale, master_weights, reduce, ...), which float32 does not take. grid: a TOML file with
    all this, instead of the other arguments. out: a folder that keeps a folder for each cell, as
    `compare` does, and sweep.json, .csv, .md and .html; the same call resumes from there. The
    other arguments are those of `compare`.

    Raises ArgumentError for invalid settings, or settings without effect, before anything is
    trained.
    """
    whole = the_grid(task, set, precisions, seeds, grid, epochs, steps, dial)
    engine, out = engine_for(jobs, client), None if out is None else files.as_path(out)
    products = products_of(out, figures, None, None, None, False)
    with alone_in(out):
        swept, wanted = found(whole, out, device, not isinstance(engine, Here))
        begin_all(swept, products)
        title = f"{whole.task.name}, {len(swept.comparisons)} cells"
        try:
            carry_out(title, wanted, engine, progress)
        except KeyboardInterrupt:
            keep(swept, products, drawn=False)
            raise KeyboardInterrupt(interrupted(swept)) from None
        keep(swept, products)
    return swept


def the_grid(task, set, precisions, seeds, grid, epochs, steps, dial) -> Grid:
    """The Grid that arguments or a file describe. Raises ArgumentError for both, or none."""
    if grid is None:
        if task is None or set is None:
            raise ArgumentError("sweep: give a task and what to set, or grid='sweep.toml'")
        return grid_of(task, set, precisions, seeds, epochs=epochs, steps=steps, dial=dial)
    given = {"task": task, "set": set, "epochs": epochs, "steps": steps, "dial": dial}
    twice = [name for name, value in given.items() if value is not None]
    twice += [] if precisions is PRECISIONS else ["precisions"]
    twice += [] if seeds is SEEDS else ["seeds"]
    if twice:
        raise ArgumentError(
            f"{', '.join(twice)} beside grid={str(grid)!r}: the file already sets that"
        )
    return grid if isinstance(grid, Grid) else read_grid(grid)


def found(grid: Grid, out, device=None, travels=False) -> tuple[Sweep, list[Wanted]]:
    """The sweep as its folder holds it, and the runs that are missing, all cells of one seed before
    the next seed, so that the whole grid is seen early. Nothing is written."""
    data, arms = check_data(grid.base.data()), list(grid.arms())
    comparisons, wanted = [], []
    for cell in grid.cells():
        task = grid.task_of(cell)
        place = None if out is None else files.place_within(out, CELLS, cell.name)
        comparison = opened(task, data, arms, grid.seeds, place)
        sent = ticket(grid.base, {**grid.lengths, **cell.settings}, task) if travels else None
        comparisons.append(comparison)
        wanted += [
            Wanted(comparison, task, data, arm, seed, device, sent)
            for arm, seed in comparison.missing()
        ]
    wanted.sort(key=lambda one: grid.seeds.index(one.seed))
    return Sweep(grid, comparisons, out), wanted


def begin_all(swept: Sweep, products: Products) -> None:
    """Register what is asked for, and save what there is, before hours of training show that it
    cannot be saved."""
    for comparison in swept.comparisons:
        registration.register(comparison)
        if swept.out is not None:
            begin(comparison, products)
    if swept.out is not None:
        swept.save(swept.out)


def estimate(grid: Grid, out=None, device=None, jobs: int = 1) -> Estimate:
    """How many runs of a grid are missing, and about how long they take, so many at a time."""
    out = None if out is None else files.as_path(out)
    return estimate_of(grid.runs, found(grid, out, device)[1], jobs)


def keep(swept: Sweep, products: Products, drawn: bool = True) -> None:
    """Write what the cells show, and what they show together; without pictures if not `drawn`."""
    vars(swept).pop("points", None)
    if swept.out is None:
        return
    for cell, comparison in zip(swept.grid.cells(), swept.comparisons):
        place = swept.out / CELLS / cell.name
        if drawn:
            products.write(comparison, place)
        else:
            comparison.report(place / store.REPORT)
    swept.save(swept.out, products.figures if drawn else None)


def interrupted(swept: Sweep) -> str:
    """How much of a sweep is there, and where."""
    missing = sum(len(c.missing()) for c in swept.comparisons)
    told = f"{swept.grid.runs - missing} of {swept.grid.runs} runs are finished"
    if swept.out is None:
        return f"{told}. Pass out=DIR to keep finished runs."
    return f"{told} and saved in {swept.out}. Make the same call again to resume."
