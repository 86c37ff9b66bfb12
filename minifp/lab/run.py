"""Train one arm with one seed, and write down what happened.

Everything random comes from the seed and from counters, and a skipped step consumes its batch, so
two runs with the same seed see the same initial weights, batches and dropout masks, whatever their
precision. Nothing here changes numbers: the precision does, inside the operations.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from statistics import median
from typing import Any

import numpy as np

from minifp.data import DataLoader
from minifp.errors import ArgumentError, CaptureError, TrainingError
from minifp.lab.arms import as_arm
from minifp.lab.averaging import Averages
from minifp.lab.batches import called, checked
from minifp.lab.evaluation import count, evaluate
from minifp.lab.memory import measure_bytes
from minifp.lab.metrics import AVERAGED, TEST_LOSS
from minifp.lab.snapshots import Snapshots, is_due
from minifp.lab.state import State, results_of
from minifp.lab.task import Task
from minifp.runtime import random
from minifp.runtime.cpu.blas import one_thread
from minifp.runtime.device import device_of
from minifp.training.graphs import capture

FINISHED, DIVERGED, STOPPED = "finished", "diverged", "stopped"

COLUMNS = ("step", "loss", "grad_norm", "scale", "skipped")  # of a run's history
MOST_EVALUATIONS = 20  # over one run, about
READ_AFTER = 20  # steps on a GPU, which are waited for together
LAST_STEPS = 10  # whose mean loss is compared with the first step's
TOLERANCE = 0.05  # how far, relatively, that mean may lie above the first step's loss


@dataclass
class Run:
    """One arm, one seed: what was measured while it trained.

    precision: the text of the arm: a precision, perhaps with a control (see arms.py).
    status: "finished", "diverged" (the loss is not finite, or higher than at the start), or
        "stopped" (training gave up: too many skipped steps in a row). note: why, if not finished,
        or that it was stopped early.
    metric: at the end, on the test set; None where it is not finite.
    history: a list for each of COLUMNS, with an entry a step: the training loss; the norm of all
        gradients, unscaled; the loss scale before the step; whether it was skipped (0 or 1); and
        for whatever else the task's own step returns.
    evaluations: (step, metric, test loss), about once an epoch; the last is the final one.
    metrics: of each metric by its name, the primary first, the value at each evaluation; behind
        "averaged " that of averaged weights, and their test loss.
    kept: what the task's own `evaluate` returned beside numbers, by name: of each name the last; of
        a run that was read from a folder, the names of the files.
    snapshots: weights and outputs after some steps, for distances: see snapshots.py; {} where they
        were not asked for.
    weights: those at its end, unrounded, and buffers, by name, for each model by its name, and of
        averages behind "averaged "; {} where they were not asked for.
    bytes: held at the peak of one step, by kind.
    seconds_per_step: the median; seconds: of the whole run, evaluations included;
    processor_seconds: that all threads of the process computed meanwhile, which is about what a
    run takes where nothing else keeps the processor busy.
    made: what is to be known of the process that made it, in words: "repeated", if it had died
        before; "environment", where that is another than the comparison's.
    """

    precision: str
    seed: int
    status: str = FINISHED
    note: str = ""
    metric: float | None = None
    history: dict[str, list] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    evaluations: list[tuple] = field(default_factory=list)
    metrics: dict[str, list] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    snapshots: dict[str, np.ndarray] = field(default_factory=dict, repr=False, compare=False)
    weights: dict[str, dict] = field(default_factory=dict, repr=False, compare=False)
    steps: int = 0
    skipped: int = 0
    final_scale: float = 1.0
    seconds_per_step: float | None = None
    seconds: float = 0.0
    processor_seconds: float = 0.0
    bytes: dict[str, int] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def finished(self) -> bool:
        """Whether it trained to the end without diverging."""
        return self.status == FINISHED


def train(
    task: Task,
    precision,
    seed: int,
    data=None,
    on_step: Callable | None = None,
    checkpoints=None,
    graph: bool | None = None,
    *,
    snapshots: bool = False,
    weights: bool = False,
) -> Run:
    """Train `task` once and return its Run. Divergence is a result, not an error.

    precision: as `fp.precision` takes it, or an arm such as "float32@order". data: what
    `task.data()` returned, if it was called before. on_step(run): called after each step.
    checkpoints: see resume.py. graph: on a GPU, whether steps are captured as a CUDA graph; None:
    where the step allows it. snapshots: whether weights and outputs are noted at some steps.
    weights: whether all of those at the end are. BLAS has one thread meanwhile, so that the numbers
    do not depend on how many cores there are. Raises DataError for NaN in the data, naming the
    batch. Leaves the global seed and precision as they were.
    """
    arm, before = as_arm(precision), random.get_state()
    try:
        random.manual_seed(seed)
        with one_thread(), arm.active():
            data = data or task.data()
            training = Training(task, Run(str(arm), seed), data, graph, snapshots)
            run = training.to_the_end(on_step, checkpoints)
            run.weights = training.weights() if weights else {}
            return run
    finally:
        random.set_state(before)


class Training:
    """A run that is under way."""

    def __init__(self, task, run, data, graph=None, snapshots=False):
        self.task, self.run = task, run
        self.train_set, self.test_set = data
        self.loader = self.new_loader()
        check_whole(task, self.train_set, self.loader)
        self.total = total_steps(task, self.train_set)
        self.epoch = epoch_steps(task, self.train_set)
        self.state = State(task, as_arm(run.precision), run.seed)
        by_step = task.schedule_by == "step"
        self.state.schedule(self.total if by_step else -(-self.total // self.epoch))
        if task.step is None and [*self.state.models] + [*self.state.optimizers] != ["", ""]:
            raise ArgumentError(
                f"task {task.name!r} builds several models or optimizers: give it a `step` that "
                "trains them"
            )
        self.averages = Averages(task, self.state, self.total) if task.average else None
        self.snapshots = Snapshots(task, self.state, self.test_set) if snapshots else None
        self.seconds = []
        self.pending = []  # (step, what it returned, its result) of steps not read yet
        self.since = time.perf_counter()
        self.on_device = device_of(self.state.parameters()[0].array) != "cpu"
        captures = graph is not False and self.on_device and task.step is None
        self.repeated: Any = capture(lambda *batch: self.update([batch])) if captures else None
        self.graph, self.refusal = graph, None  # why there is no graph

    def new_loader(self):
        """A loader of the training set, from its first epoch on."""
        task, size = self.task, self.task.batch_size
        sampler = None if task.sampler is None else task.sampler(self.train_set, size)
        order: Any = {"shuffle": sampler is None, "sampler": sampler}
        order["seed"] = as_arm(self.run.precision).order_seed(self.run.seed)
        changes: Any = {"collate_fn": task.collate, "transform": task.transform}
        return DataLoader(self.train_set, size, **order, **changes)

    @property
    def model(self):
        """The model, or several by name."""
        return self.state.model

    @property
    def optimizer(self):
        """The MixedOptimizer, or several by name."""
        return self.state.optimizer

    def parts(self):
        """What has a state, by the names that `fp.save` and `fp.load` have for it."""
        return {**self.state.parts(), "loader": self.loader}

    # ---- the loop

    def to_the_end(self, on_step, checkpoints=None):
        """Train all steps, or until training gives up, and return the Run."""
        if checkpoints is not None:
            checkpoints.begin(self)
        clock = Clock(self.run)
        due = evaluation_steps(self.total, self.epoch)
        try:
            for batches in self.batches():
                self.step(batches)
                if self.averages:
                    self.averages.update()
                if self.run.steps in due:
                    self.read()
                    self.evaluate()
                if self.snapshots and (self.run.steps in due or is_due(self.run.steps)):
                    self.snapshots.take(self.run.steps)
                clock.read()
                if checkpoints is not None:
                    checkpoints.after_step(self)
                if on_step is not None:
                    on_step(self.run)
                if self.is_stopped_early():
                    break
            self.read()
        except TrainingError as error:
            self.run.status, self.run.note = STOPPED, str(error)
            self.evaluate()
        if not self.run.evaluations or self.run.evaluations[-1][0] != self.run.steps:
            self.evaluate()  # as of a checkpoint between evaluations that is where the run ends
        clock.read()
        return self.judged()

    def batches(self):
        """The batches of each step, epoch after epoch."""
        while self.run.steps < self.total:
            batches = checked(self.loader, f"epoch {self.loader.epoch} of the training set")
            while together := list(islice(batches, self.task.accumulate)):
                if self.run.steps == self.total:
                    return
                self.state.epoch = self.loader.epoch - 1
                yield together

    def step(self, batches):
        """One step; the bytes that it holds are measured once."""
        if not self.run.bytes and self.run.steps >= min(1, self.total - 1):  # not the first, which
            with measure_bytes(self.state, self.state) as self.run.bytes:  # makes state and caches
                self.one_step(batches)
        else:
            self.one_step(batches)

    def one_step(self, batches):
        """Forward, backward, update: the task's own, or as a graph on a GPU, or `update`."""
        self.run.steps += 1
        self.state.steps, self.loss = self.run.steps, None
        try:
            if self.task.step is not None:
                numbers, result = self.own_step(*batches)
            elif self.repeated and len(batches) == 1 and type(batches[0]) is tuple:
                numbers, result = self.repeat(batches)
            else:
                numbers, result = self.update(batches)
        except TrainingError:  # this step was skipped too, and is the last
            self.read()
            loss = math.nan if self.loss is None else self.loss.item()
            scale = next(iter(self.state.optimizers.values())).scale
            self.record(self.run.steps, {"loss": loss}, math.nan, scale, skipped=1)
            raise
        self.pending.append((self.run.steps, numbers, result))
        self.advance(result)
        if len(self.pending) >= (READ_AFTER if self.on_device else 1):
            self.read()

    def update(self, batches):
        """What a step does: the gradient of the mean over all its batches, and the update."""
        optimizer = self.state.optimizer
        optimizer.zero_grad()
        total = sum(count(batch) for batch in batches) if len(batches) > 1 else 0
        losses = []
        for batch in batches:
            outputs, targets = called(self.state.model, batch)
            self.loss = self.task.loss(outputs, targets)
            if total:
                self.loss = self.loss * (count(batch) / total)
            optimizer.backward(self.loss)
            losses.append(self.loss.detach())
        result = optimizer.step()
        return {"loss": sum(losses[1:], losses[0])}, result

    def own_step(self, batch):
        """The task's own step, and what its optimizers did in it."""
        with results_of(self.state) as results:
            numbers = self.task.step(self.state, batch)
        numbers = dict(numbers) if isinstance(numbers, Mapping) else {"loss": numbers}
        if numbers.get("loss") is None:
            raise ArgumentError(
                f"task {self.task.name!r}: step returned {', '.join(map(repr, numbers))}, expected "
                "the loss, or a dict with 'loss' and other numbers"
            )
        return numbers, results

    def repeat(self, batches):
        """The step as a graph. A task whose step cannot be one goes on without, unless told."""
        try:
            return self.repeated(*batches[0])
        except CaptureError as error:
            if self.graph:
                raise
            self.repeated, self.refusal = None, str(error)
            return self.update(batches)

    def advance(self, result):
        """Let the schedules go on: after each step that was not skipped, or after each epoch."""
        if self.task.schedule_by == "epoch":
            if self.run.steps % self.epoch == 0:
                self.state.advance(set(self.state.optimizers))
        elif self.state.schedulers:
            own, all_of_them = getattr(result, "by_name", None), set(self.state.optimizers)
            self.state.advance(own if own is not None else all_of_them if result.stepped else set())

    # ---- what is written down

    def read(self):
        """Write down the numbers of the steps since: on a GPU this waits for them."""
        if not self.pending:
            return
        for step, numbers, result in self.pending:
            skipped = int(not result.stepped)
            self.record(step, numbers, result.grad_norm, result.scale_before, skipped)
        now = time.perf_counter()
        self.seconds += [(now - self.since) / len(self.pending)] * len(self.pending)
        self.pending, self.since = [], now

    def record(self, step, numbers, grad_norm, scale, skipped):
        """The line of one step in the history."""
        self.run.skipped += skipped
        numbers = {n: float(v.item() if hasattr(v, "item") else v) for n, v in numbers.items()}
        loss = numbers.pop("loss")
        line = dict(zip(COLUMNS, (step, loss, float(grad_norm), float(scale), skipped)))
        before = len(self.run.history["step"])
        for name in numbers:
            self.run.history.setdefault(name, [math.nan] * before)
        for name, column in self.run.history.items():
            column.append({**numbers, **line}.get(name, math.nan))

    def evaluate(self):
        """The metrics and the mean loss over the test set, in the model's own precision."""
        result = evaluate(self.task, self.state, self.test_set)
        metric = result.metrics[self.task.metric_name]
        self.run.evaluations.append((self.run.steps, metric, result.loss))
        for name, value in result.metrics.items():
            self.run.metrics.setdefault(name, []).append(value)
        self.run.kept = {**self.run.kept, **result.kept}
        if self.averages:
            result = self.averages.evaluate(self.test_set, self.new_loader)
            is_metric = self.task.metric is None and self.task.evaluate is None
            losses = {} if is_metric else {TEST_LOSS: result.loss}
            for name, value in {**result.metrics, **losses}.items():
                self.note(AVERAGED + name, value)

    def note(self, name, value):
        """Write down what averages reached at the last evaluation, from the first number on."""
        if value is not None or name in self.run.metrics:
            column = self.run.metrics.setdefault(name, [])
            column += [None] * (len(self.run.evaluations) - 1 - len(column)) + [value]

    def weights(self):
        """All of them, and the averages: see `Run.weights`."""
        averages = self.averages.weights() if self.averages else {}
        named = {AVERAGED + name: arrays for name, arrays in averages.items()}
        return {**self.state.weights(), **named}

    def is_stopped_early(self) -> bool:
        """Whether the metric has not become better for long enough; says so in the note."""
        stopping, at = self.task.early_stopping, self.run.evaluations[-1:]
        if stopping is None or not at or at[0][0] != self.run.steps or self.run.steps == self.total:
            return False
        if not stopping.is_over([e[1] for e in self.run.evaluations], self.task.goal):
            return False
        self.run.note = (
            f"stopped early at step {self.run.steps} of {self.total}: no better "
            f"{self.task.metric_name} in {stopping.patience} evaluations"
        )
        return True

    def judged(self) -> Run:
        """The Run, with what is known at its end."""
        run = self.run
        run.final_scale = float(next(iter(self.state.optimizers.values())).scale)
        run.metric = run.evaluations[-1][1]
        measured = self.seconds[2:] or self.seconds
        run.seconds_per_step = median(measured) if measured else run.seconds_per_step
        run.snapshots = {} if self.snapshots is None else self.snapshots.arrays()
        if run.finished:
            status, note = judge(run, self.task)
            run.status, run.note = status, note or run.note
        return run


class Clock:
    """Keeps the times of a Run, which may have taken some before it was taken up again."""

    def __init__(self, run: Run):
        self.run = run
        self.seconds = run.seconds - time.perf_counter()
        self.processor_seconds = run.processor_seconds - time.process_time()

    def read(self):
        """Write down what it took until now."""
        self.run.seconds = self.seconds + time.perf_counter()
        self.run.processor_seconds = self.processor_seconds + time.process_time()


def total_steps(task: Task, train_set) -> int:
    """How many steps a run of this task takes."""
    return task.steps or task.epochs * epoch_steps(task, train_set)


def epoch_steps(task: Task, train_set) -> int:
    """How many steps an epoch takes."""
    return -(-len(train_set) // (task.batch_size * task.accumulate))


def check_whole(task: Task, train_set, loader) -> None:
    """Raise ArgumentError where a task's sampler does not take each item of an epoch once."""
    expected, count = -(-len(train_set) // task.batch_size), len(loader)
    if count != expected:
        raise ArgumentError(
            f"task {task.name!r}: its sampler makes {count} batches of an epoch, expected "
            f"{expected}: the sampler must order all {len(train_set)} items of the training set"
        )


def evaluation_steps(total: int, epoch: int) -> set:
    """After which steps to evaluate: at ends of epochs, not much more than MOST_EVALUATIONS."""
    every = epoch * max(1, -(-(total // epoch) // MOST_EVALUATIONS))
    return {*range(every, total, every), total}


def judge(run: Run, task: Task) -> tuple[str, str]:
    """(status, note) of a run that was trained to its end."""
    losses = run.history["loss"]
    first, last = losses[0], losses[-LAST_STEPS:]
    lost = run.evaluations[-1][2 if task.evaluate is None else 1]
    if not all(math.isfinite(l) for l in last) or lost is None:
        return DIVERGED, "the loss is not finite at the end"
    mean = sum(last) / len(last)
    if task.step is None and math.isfinite(first) and mean > first + TOLERANCE * abs(first):
        return DIVERGED, (
            f"the training loss ended at {mean:.3g} (mean of the last {len(last)} steps), above "
            f"the {first:.3g} of the first step"
        )
    return FINISHED, ""
