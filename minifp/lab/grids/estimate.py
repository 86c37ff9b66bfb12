"""How many runs a sweep has, and about how long they take: measured by a few real steps."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from minifp.lab.budget import Budget
from minifp.lab.compile_ahead import compile_for
from minifp.lab.run import epoch_steps, evaluation_steps, train
from minifp.lab.statistics.looks import bounds, decisive_spread
from minifp.lab.workers.progress import spoken
from minifp.lab.workers.request import Request
from minifp.report import words
from minifp.report.plain_text import columns, fill
from minifp.runtime.cpu.threads import get_num_threads, set_num_threads
from minifp.runtime.device import default_device

STEPS = 6  # that are measured of each kind of run, before an evaluation
MORE = 24  # where all of these are skipped
LOOKS_HEAD = ("seeds", "bound of t", "SD, in margins", "time until there")
LOOKS = (
    "{}. At each, the interval is mean ± bound x SD / sqrt(seeds) of the differences, and holds at "
    "all looks together. An arm whose differences spread by at most this SD, in margins, is "
    "EQUIVALENT there with a chance of 80%, if there is truly no difference, and takes no more "
    "time. Time: if all arms go on until there."
)


@dataclass(frozen=True)
class Cost:
    """What one kind of run takes: seconds of a step, and of an evaluation."""

    step: float
    evaluation: float

    def of(self, one: Request) -> float:
        """Seconds of a run."""
        epoch = epoch_steps(one.task, one.data[0])
        return one.steps * self.step + len(evaluation_steps(one.steps, epoch)) * self.evaluation


@dataclass(frozen=True)
class Estimate:
    """The runs that are missing of all, and what each kind of them costs. budget: what they are to
    be made within, if anything."""

    runs: int
    missing: Sequence[Request]
    costs: dict[tuple, Cost]
    jobs: int
    budget: Budget | None = None

    @property
    def seconds(self) -> float:
        """How long all of them take, about, so many at a time."""
        return self.seconds_of(self.missing)

    def seconds_of(self, some: Sequence[Request]) -> float:
        """The same of some of them."""
        takes = [self.costs[kind(one)].of(one) for one in some]
        return max(sum(takes) / self.jobs, max(takes, default=0.0))

    def text(self) -> str:
        """In words, with a line for each kind of run."""
        there = self.runs - len(self.missing)
        saved = f", {there} of which are there" if there else ""
        at_a_time = f" with {self.jobs} at a time" if self.jobs > 1 else ""
        first = fill(
            f"{words.plural(self.runs, 'run')}{saved}: about {spoken(self.seconds)}{at_a_time} on "
            "this machine, as it is now. Measured by a few steps of each kind of run; runs that "
            "diverge may be shorter."
        )
        rows = [["task", "arm", "batch", "runs", "steps", "ms a step", "ms an evaluation", "each"]]
        for key, cost in self.costs.items():
            alike = [one for one in self.missing if kind(one) == key]
            steps = sorted({one.steps for one in alike})
            range_ = f"{steps[0]:,}" + (f" to {steps[-1]:,}" if len(steps) > 1 else "")
            ms = (f"{1000 * s:.1f}" for s in (cost.step, cost.evaluation))
            each = spoken(sum(cost.of(one) for one in alike) / len(alike))
            rows.append([key[0], key[1], str(key[2]), str(len(alike)), range_, *ms, each])
        if len({key[0] for key in self.costs}) == 1:
            rows = [row[1:] for row in rows]
        table = columns(rows, text_columns=(0, 1) if rows[0][0] == "task" else (0,))
        return "\n\n".join([first, *[table] * bool(self.missing), *self.looks()])

    def looks(self) -> list[str]:
        """What a budget plans: its looks, what decides there, and how long it takes until there."""
        budget = self.budget
        if budget is None:
            return []
        until = [[o for o in self.missing if o.seed in budget.seeds[:n]] for n in budget.looks]
        rows = [
            (str(n), f"{c:.2f}", f"{decisive_spread(n, c):.2f}", spoken(self.seconds_of(some)))
            for n, c, some in zip(budget.looks, bounds(budget.looks), until)
        ]
        return [fill(LOOKS.format(str(budget).capitalize())), columns([LOOKS_HEAD, *rows])]


def estimate_of(
    runs: int, requests: Sequence[Request], jobs: int = 1, budget: Budget | None = None
) -> Estimate:
    """Measure each kind of run once, with one thread where several are to be made at a time."""
    before = get_num_threads()
    try:
        if jobs > 1:
            set_num_threads(1)
        compile_for(requests)
        kinds = {kind(one): one for one in requests}
        costs = {key: measured(one) for key, one in kinds.items()}
        return Estimate(runs, requests, costs, jobs, budget)
    finally:
        set_num_threads(before)


def kind(one: Request) -> tuple:
    """What takes equally long a step, and an evaluation."""
    task = one.task
    return task.name, one.arm, task.batch_size, task.accumulate, len(one.data[1])


def measured(one: Request) -> Cost:
    """A run of STEPS, whose last one is followed by an evaluation. A step that overflows is done
    again to find out why, and takes longer: it does not count, and where all do, MORE are made."""
    for steps in (STEPS, MORE):
        took, skipped = _timed(one, steps)
        usual = [t for t, skip in zip(took[2:-1], skipped[2:-1]) if not skip]
        if usual:
            break
    step = median(usual or took[2:-1] or took)
    return Cost(step, max(0.0, took[-1] - (median(took[2:-1] or took) if skipped[-1] else step)))


def _timed(one, steps):
    """The seconds of each of so many steps, and whether it was skipped."""
    at = [time.perf_counter()]
    task, tick = replace(one.task, steps=steps, early_stopping=None), time.perf_counter
    with default_device(one.device):
        run = train(task, one.arm, one.seed, one.data, lambda run: at.append(tick()))
    return [b - a for a, b in zip(at, at[1:])], run.history["skipped"]
