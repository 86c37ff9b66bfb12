"""Compare precisions: the same model, data, weights and order, once for each precision and seed."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from minifp.errors import ArgumentError
from minifp.lab import divergence, registration
from minifp.lab.arms import is_control
from minifp.lab.budget import Budget, seeds_within
from minifp.lab.conclusions import controls, notes, sentences, special
from minifp.lab.conclusions.claims import Claim, claims_of, decisive_of
from minifp.lab.conclusions.controls import Answer
from minifp.lab.conclusions.rows import Row, rows_of
from minifp.lab.divergence import Distances
from minifp.lab.environment import environment
from minifp.lab.results import store
from minifp.lab.results.folder import alone_in, begin, save
from minifp.lab.results.origin import Origin, origin_of
from minifp.lab.results.products import save_figures
from minifp.lab.results.summary import read
from minifp.lab.run import Run
from minifp.lab.settings import adjusted, canonical, check_data, settings
from minifp.lab.spending import spend
from minifp.lab.task import Task
from minifp.lab.task_info import TaskInfo, dial_note
from minifp.lab.tasks import load_task
from minifp.lab.where import Where, where_of
from minifp.lab.workers.request import Request
from minifp.lab.workers.travel import ticket
from minifp.report import rendering
from minifp.report.content import Document
from minifp.report.documented import Shown
from minifp.report.look import look_of
from minifp.saving import files


@dataclass(repr=False)
class Comparison(Shown):
    """The result of `compare`: all runs and the conclusions.

    precisions: their canonical texts. baseline: "float32" if it is among them, else the first.
    asked: the (precision, seed) pairs of the last call. config: the settings that all runs share.
    origin: where it comes from. registered: claims made before the runs: see registration.py.
    out: its folder, if any. keeps_weights: whether the weights of each run are saved there.
    known_distances: see divergence.py. where: of the call that made it.
    """

    task: TaskInfo
    dial: int
    precisions: list[str]
    seeds: list[int]
    runs: list[Run]
    config: dict
    environment: dict[str, str]
    asked: list[tuple] = field(default_factory=list)
    origin: Origin = Origin()
    registered: list[dict] = field(default_factory=list)
    out: Path | None = None
    keeps_weights: bool = False
    known_distances: dict = field(default_factory=dict, compare=False)
    where: Where = field(default_factory=Where, compare=False)

    @property
    def baseline(self) -> str:
        """The precision that the others are compared with."""
        plain = [arm for arm in self.precisions if not is_control(arm)] or self.precisions
        return "float32" if "float32" in plain else plain[0]

    def runs_of(self, precision: str) -> list[Run]:
        """The runs of one precision, by seed."""
        return sorted((r for r in self.runs if r.precision == precision), key=lambda r: r.seed)

    @property
    def budget(self) -> Budget | None:
        """The one that is registered, whose looks count; None where none was."""
        return registration.planned(self.registered)

    def done(self) -> set[tuple]:
        """The (precision, seed) pairs that are there."""
        return {(run.precision, run.seed) for run in self.runs}

    def missing(self) -> list[tuple]:
        """The (precision, seed) pairs that were asked for and are not there yet."""
        done = self.done()
        return [pair for pair in self.asked if tuple(pair) not in done]

    # ---- what follows from the runs

    def rows(self) -> list[Row]:
        """One Row for each arm, in order."""
        return rows_of(self)

    def row(self, precision: str) -> Row:
        """The Row of one arm."""
        return next(row for row in self.rows() if row.precision == precision)

    def claims(self) -> list[Claim]:
        """Each arm's difference in each score, with its tests: see conclusions/claims.py."""
        return claims_of(self)

    def answers(self) -> list[Answer]:
        """Of each arm, whether its difference is special, or what controls do as well."""
        return controls.answers_of(self)

    def unrepeatable(self) -> list[str]:
        """What was not the same to the last bit when `@repeat` did it again, in words."""
        return controls.unrepeatable(self)

    def distances(self) -> list[Distances]:
        """How far each run is from its partner, step by step."""
        return divergence.of(self)

    # ---- in words

    def dial_note(self) -> str:
        """What the exponent dial means; empty where it is 0."""
        return dial_note(self.dial) if self.dial else ""

    def verdict_sentence(self) -> str:
        """The answer in words, with the margin and the number of seeds."""
        return sentences.verdict_sentence(self)

    def answer_sentences(self) -> list[str]:
        """Of each arm, whether it is special, in words; none where there are no controls."""
        return special.answer_sentences(self)

    def notes(self) -> list[str]:
        """What must be known beside the table, worst first."""
        return special.warnings(self) + notes.notes(self)

    # ---- on disk

    def save(self, folder: str | os.PathLike) -> None:
        """Write all tables into a folder: results.json, runs.csv, history.csv, table.tex, and
        what else follows from the runs (see docs/comparing.md)."""
        save(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike) -> "Comparison":
        """Read what `save` wrote. Raises DataError if it is not there or not readable."""
        return cls(**read(folder))

    # ---- shown

    def document(self) -> Document:
        """All that is shown of it: see minifp/report/content.py."""
        from minifp.lab.page.comparison_document import document

        return document(self)

    def report(self, path: str | os.PathLike) -> Path:
        """Write one HTML page that needs no network, and return its path."""
        return files.write(path, rendering.page(self.document()))

    def figures(
        self,
        folder: str | os.PathLike,
        format: str = "png",
        style: str | None = None,
        width: str | float | None = None,
        font: str | None = None,
    ) -> list[Path]:
        """Write the pictures as "png", "svg" or "pdf", and return their paths.

        style: "screen", or "paper", whose captions are in captions.txt. width: of a whole figure,
        as "3.25in" or "85mm"; font: a family that is installed. Raises ArgumentError for others.
        """
        rendering.check_format(format)
        return save_figures(self, files.as_path(folder), format, look_of(style, width, font))


# ---- comparing -----------------------------------------------------------------------------------


def compare(
    task: Task | str,
    precisions: Iterable = ("float32", "mixed"),
    seeds: int | Iterable[int] | None = None,
    epochs: int | None = None,
    steps: int | None = None,
    dial: int | None = None,
    *,
    pilot: bool = False,
    budget: str | float | None = None,
    **where: Any,
) -> Comparison:
    """Train a task in several precisions with several seeds, and return the Comparison.

    task: a Task, or an argument of `load_task`. precisions: names, texts such as
    "mixed,loss_scale=off" or Precision objects. seeds: how many (0, 1, ...) or which; 5. epochs,
    steps, dial: replace the task's own. pilot: whether these runs plan more of them, as in `plan`;
    the request is recorded before the first run. budget: of time for all runs in the folder, such
    as "2h" or so many seconds: up to `seeds` seeds (32) are spent where a verdict is cheapest,
    which is read at planned looks (see docs/comparing.md). where: out, figures, jobs, device, and
    what else `fp.lab.Where` has.

    Raises ArgumentError for invalid arguments, and for a folder with runs of other settings.
    """
    at, base = where_of("compare", where), load_task(task)
    changes = {"epochs": epochs, "steps": steps, "dial": dial}
    task = adjusted(base, **changes)
    sent = ticket(base, changes, task) if at.is_elsewhere else None
    precisions, (seeds, limit) = canonical(precisions), seeds_within(budget, seeds, 5)
    if limit and pilot:
        raise ArgumentError("pilot=True and a budget: a budget plans by its own first looks")
    data = check_data(task.data())
    with alone_in(at.folder):
        comparison = opened(task, data, precisions, seeds, at.folder, at.keep_weights)
        comparison.where = replace(at, client=None)  # which cannot be pickled
        registration.register(comparison, pilot, limit)
        if at.folder is not None:
            comparison.origin = origin_of(base, at.device)
            begin(comparison, at.products)
        try:
            train_missing(comparison, task, data, at, sent, limit)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(interrupted([comparison], at.folder)) from None
        if at.folder is not None:
            at.products.write(comparison, at.folder)
    return comparison


def opened(task, data, precisions, seeds, out, keep_weights=False) -> Comparison:
    """The comparison as its folder holds it, or an empty one, with what is asked for added.

    keep_weights: whether runs whose weights are not in the folder count as missing.
    """
    config = settings(task, data)
    runs = store.load_runs(out, config) if out is not None else []
    known = store.environment_of(out) if runs else None
    if keep_weights:
        runs = [run for run in runs if store.has_weights(out, run)]
    return Comparison(
        TaskInfo.of(task, data[1]),
        task.dial,
        precisions=list(dict.fromkeys([*precisions, *(r.precision for r in runs)])),
        seeds=sorted({*seeds, *(r.seed for r in runs)}),
        runs=runs,
        config=config,
        environment=known or environment(),
        asked=[(precision, seed) for seed in seeds for precision in precisions],
        registered=registration.read(out) if out is not None else [],
        out=out,
        keeps_weights=keep_weights,
    )


def train_missing(comparison, task, data, where: Where, ticket=None, budget=None) -> None:
    """Train what is missing, all precisions of one seed before the next, saving after each run; of
    a budget, what it is enough for. ticket: how the task gets to other processes."""

    def decisive():
        return [decisive_of(comparison)]

    requests = requests_of(comparison, task, data, where.device, ticket)
    spend(task.name, [comparison], requests, where.engine, where.progress, budget, decisive)


def requests_of(comparison, task, data, device=None, ticket=None) -> list[Request]:
    """The runs that are missing."""
    pairs = comparison.missing()
    return [Request(comparison, task, data, arm, seed, device, ticket) for arm, seed in pairs]


def interrupted(comparisons, out) -> str:
    """What is said after an interrupt: how many runs are there, and where."""
    asked = sum(len(c.asked) for c in comparisons)
    there = asked - sum(len(c.missing()) for c in comparisons)
    finished = f"{there} of {asked} runs are finished"
    if out is None:
        return f"{finished}. Pass out=DIR to keep finished runs."
    return f"{finished} and saved in {out}. Make the same call again to resume."
