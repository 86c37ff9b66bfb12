"""Compare precisions: the same model, data, weights and order, once for each precision and seed."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import median

from minifp.errors import ArgumentError
from minifp.lab.environment import environment
from minifp.lab.results import store
from minifp.lab.results.folder import begin, save
from minifp.lab.results.origin import Origin, origin_of
from minifp.lab.results.summary import read
from minifp.lab.rows import Row, TaskInfo, dial_note
from minifp.lab.run import Run
from minifp.lab.settings import adjusted, canonical, check_data, seed_list, settings
from minifp.lab.statistics.moments import deviation, mean
from minifp.lab.statistics.paired import DIVERGED, LEAST_PAIRS, compare_paired
from minifp.lab.task import Task
from minifp.lab.tasks import load_task
from minifp.lab.workers.carry_out import carry_out
from minifp.lab.workers.engines import engine_for
from minifp.lab.workers.here import Here
from minifp.lab.workers.travel import ticket
from minifp.lab.workers.wanted import Wanted
from minifp.saving import files

FEW_SEEDS = 5  # below it a mean and its band say little


@dataclass(repr=False)
class Comparison:
    """The result of `compare`: all runs, and what follows from them.

    precisions: their canonical texts. baseline: "float32" if it is among them, else the first.
    asked: the (precision, seed) pairs of the last call. config: the settings that all runs share.
    origin: by what it was made. out: the folder it is kept in, if any.
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
    out: Path | None = None

    @property
    def baseline(self) -> str:
        """The precision that the others are compared with."""
        return "float32" if "float32" in self.precisions else self.precisions[0]

    def runs_of(self, precision: str) -> list[Run]:
        """The runs of one precision, by seed."""
        return sorted((r for r in self.runs if r.precision == precision), key=lambda r: r.seed)

    def done(self) -> set[tuple]:
        """The (precision, seed) pairs that are there."""
        return {(run.precision, run.seed) for run in self.runs}

    def missing(self) -> list[tuple]:
        """The (precision, seed) pairs that were asked for and are not there yet."""
        done = self.done()
        return [pair for pair in self.asked if tuple(pair) not in done]

    # ---- what follows from the runs

    def rows(self) -> list[Row]:
        """One Row for each precision, in order."""
        return [self.row(precision) for precision in self.precisions]

    def row(self, precision: str) -> Row:
        """The Row of one precision."""
        runs = self.runs_of(precision)
        if not runs:
            return Row(precision)
        ended = [r.metric for r in runs if r.finished and r.metric is not None]
        timed = [r.seconds_per_step for r in runs if r.seconds_per_step is not None]
        row = Row(
            precision,
            n=len(runs),
            diverged=len(runs) - len(ended),
            mean=mean(ended) if ended else None,
            sd=deviation(ended) if len(ended) > 1 else None,
            skipped=mean([r.skipped for r in runs]),
            final_scale=mean([r.final_scale for r in runs]),
            bytes=runs[0].bytes,
            seconds_per_step=median(timed) if timed else None,
        )
        return row if precision == self.baseline else self._compared(row, runs)

    def _compared(self, row, runs):
        """The row with its difference from the baseline, over the seeds where both finished."""
        base = {r.seed: r for r in self.runs_of(self.baseline) if _ended(r)}
        both = [(r, base[r.seed]) for r in runs if _ended(r) and r.seed in base]
        pairs = [(r.metric, b.metric) for r, b in both]
        row.pairs = len(pairs)
        if len(pairs) == 1:
            row.difference, row.needed = pairs[0][0] - pairs[0][1], LEAST_PAIRS
        elif pairs:
            values, baseline = zip(*pairs)
            row.paired = p = compare_paired(values, baseline, self.task.margin)
            row.difference, row.low, row.high = p.mean, p.low, p.high
            row.verdict, row.needed = p.verdict, p.needed
            row.too_coarse = p.verdict is not None and _tell_nothing(both)
        if sum(not _ended(r) for r in runs if r.seed in base) and len(base) > 1:
            row.verdict, row.needed = DIVERGED, None
        return row

    # ---- in words

    def dial_note(self) -> str:
        """What the exponent dial means; empty where it is 0."""
        if self.dial == 0:
            return ""
        return dial_note(self.dial)

    def verdict_sentence(self) -> str:
        """The answer in words, with the margin and the number of seeds."""
        rows = [row for row in self.rows() if row.precision != self.baseline]
        return " ".join(self._sentence(row) for row in rows) or "There is nothing to compare."

    def _sentence(self, row):
        task, unit = self.task, self.task.difference_unit
        margin = f"{task.margin:g} {unit}".strip()
        against = f"{row.precision} against {self.baseline}, {task.metric_name}"
        if row.verdict == DIVERGED:
            return f"{against}: DIVERGED in {row.diverged} of {row.n} runs."
        if row.verdict is None:
            least = f": at least {row.needed} seeds are needed" if row.needed else ""
            pairs = f"{row.pairs} pair{'s' * (row.pairs != 1)} of runs"
            return f"{against}: no verdict from {pairs}{least}."
        more = f" about {row.needed} seeds are needed;" if row.needed else ""
        coarse = f" But {self._too_coarse(row)}" if row.too_coarse else ""
        return (
            f"{against}: {row.verdict} at a margin of {margin};{more} difference "
            f"{row.difference:+.3g} {unit}, 90% interval {row.low:+.3g} to {row.high:+.3g}, "
            f"{row.pairs} paired seeds.{coarse}"
        )

    def _too_coarse(self, row):
        return (
            f"{self.task.metric_name} is exactly the same in all {row.pairs} pairs, where losses "
            "are not: it is too coarse to tell them apart. Compare the loss (metric=None), or test "
            "on more examples."
        )

    def notes(self) -> list[str]:
        """What must be known beside the table: the dial, few seeds, runs that did not finish."""
        notes = [self.dial_note()] if self.dial else []
        if len(self.seeds) < FEW_SEEDS:
            notes.append(
                f"{len(self.seeds)} seed{'s' * (len(self.seeds) != 1)} only: pictures show "
                f"intervals from {FEW_SEEDS} seeds on, and a claim should rest on 10."
            )
        for row in self.rows():
            if row.too_coarse:
                notes.append(f"{row.precision}: {self._too_coarse(row)}")
        for precision in self.precisions:
            for run in self.runs_of(precision):
                if not run.finished:
                    notes.append(f"{precision}, seed {run.seed} {run.status}: {run.note}.")
                if "repeated" in run.made:
                    why = run.made["repeated"]
                    notes.append(f"{precision}, seed {run.seed} was made twice: {why}.")
        for made, runs in self._elsewhere().items():
            notes.append(f"{runs} of {len(self.runs)} runs were made on another machine: {made}.")
        if self.missing():
            notes.append(f"{len(self.missing())} of {len(self.asked)} runs are still to be made.")
        return notes

    def _elsewhere(self):
        """How many runs were made in each environment that is not this comparison's."""
        return Counter(r.made["environment"] for r in self.runs if "environment" in r.made)

    # ---- on disk

    def save(self, folder: str | os.PathLike) -> None:
        """Write results.json, runs.csv and history.csv into a folder."""
        save(self, folder)

    @classmethod
    def load(cls, folder: str | os.PathLike) -> "Comparison":
        """Read what `save` wrote. Raises DataError if it is not there or not readable."""
        return cls(**read(folder))

    # ---- shown

    def table(self) -> str:
        """The table as plain text."""
        from minifp.lab.page.table import text_table

        return text_table(self)

    def report(self, path: str | os.PathLike) -> Path:
        """Write one HTML page that needs no network, and return its path."""
        from minifp.lab.page.comparison_page import write_page

        return write_page(self, path)

    def figures(self, folder: str | os.PathLike, format: str = "png") -> list[Path]:
        """Write the pictures as "png", "svg" or "pdf", and return their paths."""
        from minifp.lab.page.figures import save_figures

        return save_figures(self, folder, format)

    def __repr__(self):
        return self.table()

    def _repr_html_(self) -> str:
        from minifp.lab.page.comparison_page import fragment

        return fragment(self)


def _ended(run):
    return run.finished and run.metric is not None


def _tell_nothing(pairs):
    """Whether all metrics are equal, pair by pair, of runs that are not."""
    if any(one.metric != other.metric for one, other in pairs):
        return False
    return any(one.history["loss"] != other.history["loss"] for one, other in pairs)


# ---- comparing -----------------------------------------------------------------------------------


def compare(
    task: Task | str,
    precisions: Iterable = ("float32", "mixed"),
    seeds: int | Iterable[int] = 5,
    epochs: int | None = None,
    steps: int | None = None,
    dial: int | None = None,
    out: str | os.PathLike | None = None,
    figures: str | None = None,
    progress: bool = True,
    device: str | None = None,
    jobs: int = 1,
    client=None,
) -> Comparison:
    """Train a task in several precisions with several seeds, and return the Comparison.

    task: a Task, or what `load_task` takes. precisions: names, texts such as "mixed,loss_scale=off"
    or Precision objects. seeds: how many (0, 1, ...) or which. epochs, steps, dial: instead of the
    task's own. out: a folder that every finished run is written to at once; called again with the
    same folder, only what is missing is trained, also for more seeds or precisions. figures:
    "png", "svg" or "pdf" writes the pictures there too. An interrupt (Ctrl-C) leaves in the folder
    what was finished. device: "cpu" or "cuda", by default MINIFP_DEVICE's; on a GPU steps are
    captured as CUDA graphs where they allow it. jobs: how many runs at a time, each in a process of
    its own with one thread, for the same results to the last bit. client: a `distributed.Client`,
    on whose workers to train (see docs/comparing.md).

    Raises ArgumentError for arguments that cannot be, and for a folder with runs of other settings.
    """
    out = None if out is None else files.as_path(out)
    engine, base = engine_for(jobs, client), load_task(task)
    changes = {"epochs": epochs, "steps": steps, "dial": dial}
    task = adjusted(base, **changes)
    travels = None if isinstance(engine, Here) else ticket(base, changes, task)
    precisions, seeds = canonical(precisions), seed_list(seeds)
    if figures is not None and out is None:
        raise ArgumentError(f"figures={figures!r} without out: say in which folder to put them")
    if figures is not None:  # before training, not after it
        from minifp.lab.page.figures import check

        check(figures)
    data = check_data(task.data())
    comparison = opened(task, data, precisions, seeds, out)
    if out is not None:
        comparison.origin = origin_of(base, device)
        begin(comparison, figures)
    try:
        train_missing(comparison, task, data, progress, device, engine, travels)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(interrupted(comparison)) from None
    if out is not None:
        comparison.report(out / store.REPORT)
        if figures is not None:
            comparison.figures(out, figures)
    return comparison


def opened(task, data, precisions, seeds, out) -> Comparison:
    """The comparison as its folder holds it, or an empty one, with what is asked for added."""
    config = settings(task, data)
    runs = store.load_runs(out, config) if out is not None else []
    info = TaskInfo(**{f.name: getattr(task, f.name) for f in fields(TaskInfo)})
    return Comparison(
        info,
        task.dial,
        precisions=list(dict.fromkeys([*precisions, *(r.precision for r in runs)])),
        seeds=sorted({*seeds, *(r.seed for r in runs)}),
        runs=runs,
        config=config,
        environment=environment(),
        asked=[(precision, seed) for seed in seeds for precision in precisions],
        out=out,
    )


def train_missing(comparison, task, data, progress, device=None, engine=None, ticket=None) -> None:
    """Train what is missing, all precisions of one seed before the next, saving after each run.

    engine: who trains, this process by default; ticket: how the task gets to another.
    """
    wanted = [
        Wanted(comparison, task, data, arm, seed, device, ticket)
        for arm, seed in comparison.missing()
    ]
    carry_out(task.name, wanted, engine or Here(), progress)


def interrupted(comparison) -> str:
    """What an interrupted comparison says: how much of it is there, and where."""
    there = len(comparison.asked) - len(comparison.missing())
    told = f"{there} of {len(comparison.asked)} runs are finished"
    if comparison.out is None:
        return f"{told}. With a folder (out) they would have been kept."
    return f"{told}, and kept in {comparison.out}; the same call goes on from there."
