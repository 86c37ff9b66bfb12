"""Train one precision with one seed, and write down what happened.

Everything random comes from the seed and from counters, and a skipped step consumes its batch, so
two runs with the same seed see the same initial weights, batches and dropout masks, whatever their
precision. Nothing here changes numbers: the precision does, inside the operations.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from minifp.autograd.grad_mode import no_grad
from minifp.data import DataLoader
from minifp.errors import CaptureError, DataError, TrainingError
from minifp.lab.memory import measure_bytes
from minifp.lab.task import Task
from minifp.numerics import policy
from minifp.runtime import random
from minifp.runtime.cpu.blas import one_thread
from minifp.runtime.device import device_of
from minifp.training.graphs import capture
from minifp.training.mixed import MixedOptimizer

FINISHED, DIVERGED, STOPPED = "finished", "diverged", "stopped"

COLUMNS = ("step", "loss", "grad_norm", "scale", "skipped")  # of a run's history
MOST_EVALUATIONS = 20  # over one run, about
READ_AFTER = 20  # steps on a GPU, which are waited for together
LAST_STEPS = 10  # whose mean loss is compared with the first step's
TOLERANCE = 0.05  # how far, relatively, that mean may lie above the first step's loss


@dataclass
class Run:
    """One precision, one seed: what was measured while it trained.

    status: "finished", "diverged" (the loss is not finite, or higher than at the start), or
        "stopped" (training gave up: too many skipped steps in a row). note: why, if not finished.
    metric: at the end, on the test set; None where it is not finite.
    history: a list for each of COLUMNS, with an entry a step: the training loss; the norm of all
        gradients, unscaled; the loss scale before the step; whether it was skipped (0 or 1).
    evaluations: (step, metric, test loss), about once an epoch; the last is the final one.
    bytes: held at the peak of one step, by kind.
    seconds_per_step: the median; seconds: of the whole run, evaluations included.
    """

    precision: str
    seed: int
    status: str = FINISHED
    note: str = ""
    metric: float | None = None
    history: dict[str, list] = field(default_factory=lambda: {name: [] for name in COLUMNS})
    evaluations: list[tuple] = field(default_factory=list)
    steps: int = 0
    skipped: int = 0
    final_scale: float = 1.0
    seconds_per_step: float | None = None
    seconds: float = 0.0
    bytes: dict[str, int] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether it trained to the end without diverging."""
        return self.status == FINISHED


def train(
    task: Task, precision: str, seed: int, data=None, on_step: Callable | None = None,
    checkpoints=None, graph: bool | None = None,
) -> Run:  # fmt: skip
    """Train `task` once and return its Run. Divergence is a result, not an error.

    precision: as `fp.precision` takes it. data: what `task.data()` returned, if it was called
    before. on_step(run): called after each step. checkpoints: see resume.py. graph: on a GPU,
    whether steps are captured as a CUDA graph; None: where the step allows it. BLAS has one thread
    meanwhile, so that the numbers do not depend on how many cores there are. Raises DataError for
    NaN in the data, naming the batch. Leaves the global seed and precision as they were.
    """
    before = random.get_state()
    try:
        random.manual_seed(seed)
        with one_thread(), policy.precision(precision) as active:
            training = Training(task, Run(str(active), seed), data or task.data(), graph)
            return training.to_the_end(on_step, checkpoints)
    finally:
        random.set_state(before)


class Training:
    """A run that is under way."""

    def __init__(self, task, run, data, graph=None):
        self.task, self.run = task, run
        self.train_set, self.test_set = data
        self.loader = DataLoader(self.train_set, batch_size=task.batch_size, shuffle=True)
        self.total = total_steps(task, self.train_set)
        self.model = task.model()
        optimizer = task.optimizer(self.model.parameters())
        self.optimizer = MixedOptimizer(optimizer, dial=task.dial, clip_norm=task.clip_norm)
        self.scheduler = task.schedule(optimizer, self.total) if task.schedule else None
        self.seconds = []
        self.pending = []  # (loss, result) of steps whose numbers have not been read
        self.since = time.perf_counter()
        self.on_device = device_of(self.model.parameters()[0].array) != "cpu"
        self.repeated: Any = capture(self.update) if graph is not False and self.on_device else None
        self.graph, self.refusal = graph, None  # why there is no graph

    def parts(self):
        """What has a state, by the names that `fp.save` and `fp.load` have for it."""
        parts = {"model": self.model, "optimizer": self.optimizer, "loader": self.loader}
        return parts if self.scheduler is None else {**parts, "scheduler": self.scheduler}

    def to_the_end(self, on_step, checkpoints=None):
        """Train all steps, or until training gives up, and return the Run."""
        if checkpoints is not None:
            checkpoints.begin(self)
        started, due = time.perf_counter(), evaluation_steps(self.total, len(self.loader))
        before = self.run.seconds
        try:
            for inputs, targets in self.batches():
                self.step(inputs, targets)
                if self.run.steps in due:
                    self.read()
                    self.evaluate()
                self.run.seconds = before + time.perf_counter() - started
                if checkpoints is not None:
                    checkpoints.after_step(self)
                if on_step is not None:
                    on_step(self.run)
            self.read()
        except TrainingError as error:
            self.run.status, self.run.note = STOPPED, str(error)
            self.evaluate()
        if not self.run.evaluations or self.run.evaluations[-1][0] != self.run.steps:
            self.evaluate()  # as of a checkpoint between evaluations that is where the run ends
        self.run.final_scale = float(self.optimizer.scale)
        self.run.metric = self.run.evaluations[-1][1]
        measured = self.seconds[2:] or self.seconds
        self.run.seconds_per_step = median(measured) if measured else self.run.seconds_per_step
        self.run.seconds = before + time.perf_counter() - started
        if self.run.finished:
            self.run.status, self.run.note = judge(self.run)
        return self.run

    def batches(self):
        """The batches of all steps, epoch after epoch."""
        while True:
            epoch = self.loader.epoch
            for batch in checked(self.loader, f"epoch {epoch} of the training set"):
                if self.run.steps == self.total:
                    return
                yield batch

    def step(self, inputs, targets):
        """One step; the bytes that it holds are measured once."""
        if not self.run.bytes and self.run.steps >= min(
            1, self.total - 1
        ):  # not the first: it makes state and caches
            with measure_bytes(self.model, self.optimizer) as self.run.bytes:
                self.one_step(inputs, targets)
        else:
            self.one_step(inputs, targets)

    def one_step(self, inputs, targets):
        """Forward, backward, update; as a graph on a GPU, where the step allows it."""
        self.run.steps += 1
        try:
            loss, result = (self.repeat if self.repeated else self.update)(inputs, targets)
        except TrainingError:  # this step was skipped too, and is the last
            self.read()
            scale = self.optimizer.scale
            self.record(self.run.steps, self.loss.item(), math.nan, scale, skipped=1)
            raise
        self.pending.append((self.run.steps, loss, result))
        if self.scheduler is not None and result.stepped:
            self.scheduler.step()
        if len(self.pending) >= (READ_AFTER if self.on_device else 1):
            self.read()

    def update(self, inputs, targets):
        """What a step does."""
        self.optimizer.zero_grad()
        self.loss = self.task.loss(self.model(inputs), targets)
        self.optimizer.backward(self.loss)
        return self.loss.detach(), self.optimizer.step()

    def repeat(self, inputs, targets):
        """The step as a graph. A task whose step cannot be one goes on without, unless told."""
        try:
            return self.repeated(inputs, targets)
        except CaptureError as error:
            if self.graph:
                raise
            self.repeated, self.refusal = None, str(error)
            return self.update(inputs, targets)

    def read(self):
        """Write down the numbers of the steps since: on a GPU this waits for them."""
        if not self.pending:
            return
        for step, loss, result in self.pending:
            skipped = int(not result.stepped)
            self.record(step, loss.item(), result.grad_norm, result.scale_before, skipped)
        now = time.perf_counter()
        self.seconds += [(now - self.since) / len(self.pending)] * len(self.pending)
        self.pending, self.since = [], now

    def record(self, step, loss, grad_norm, scale, skipped):
        """The line of one step in the history."""
        self.run.skipped += skipped
        line = (step, float(loss), float(grad_norm), float(scale), skipped)
        for name, value in zip(COLUMNS, line):
            self.run.history[name].append(value)

    def evaluate(self):
        """The metric and the mean loss over the test set, in the model's own precision."""
        metric, loss = evaluate(self.task, self.model, self.test_set)
        self.run.evaluations.append((self.run.steps, metric, loss))


def evaluate(task: Task, model, test_set) -> tuple:
    """(metric, mean loss) of a model over a test set; None for each that is not finite."""
    loader = DataLoader(test_set, batch_size=4 * task.batch_size)
    losses, outputs, targets = [], [], []
    was_training = model.training
    model.eval()
    with no_grad():
        for x, t in checked(loader, "the test set"):
            y = model(x)
            losses.append((len(t), float(task.loss(y, t).item())))
            if task.metric is not None:
                outputs.append(y.numpy().astype(np.float32))
                targets.append(t.numpy())
    model.train(was_training)
    loss = sum(n * l for n, l in losses) / sum(n for n, _ in losses)
    metric = loss if task.metric is None else _metric(task, outputs, targets)
    return tuple(v if math.isfinite(v) else None for v in (metric, loss))


def _metric(task, outputs, targets):
    outputs = np.concatenate(outputs)
    if not np.isfinite(outputs).all():
        return math.nan  # the largest of NaNs is the first class: an accuracy that means nothing
    return float(task.metric(outputs, np.concatenate(targets)))


def checked(loader, where: str):
    """The batches of one epoch as Tensors. Raises DataError for NaN or Inf, naming the batch."""
    for number, arrays in enumerate(loader.arrays()):
        if len(arrays) != 2:
            raise DataError(
                f"batch {number} of {where} has {len(arrays)} fields, expected two: inputs, targets"
            )
        for name, values in zip(("inputs", "targets"), arrays):
            bad = ~np.isfinite(values).reshape(len(values), -1)
            if bad.any():
                raise DataError(
                    f"NaN or Inf in the {name} of batch {number} of {where}: {bad.sum()} of "
                    f"{bad.size} values, in {bad.any(axis=1).sum()} of {len(bad)} examples, first "
                    f"in example {bad.any(axis=1).argmax()} of the batch; expected numbers: remove "
                    "or replace what is missing before training"
                )
        yield loader.placed(arrays)


def total_steps(task: Task, train_set) -> int:
    """How many steps a run of this task takes."""
    return task.steps or task.epochs * -(-len(train_set) // task.batch_size)


def evaluation_steps(total: int, epoch: int) -> set:
    """After which steps to evaluate: at ends of epochs, not much more than MOST_EVALUATIONS."""
    every = epoch * max(1, -(-(total // epoch) // MOST_EVALUATIONS))
    return {*range(every, total, every), total}


def judge(run: Run) -> tuple[str, str]:
    """(status, note) of a run that was trained to its end."""
    losses = run.history["loss"]
    first, last = losses[0], losses[-LAST_STEPS:]
    if not all(math.isfinite(l) for l in last) or run.evaluations[-1][2] is None:
        return DIVERGED, "the loss is not finite at the end"
    mean = sum(last) / len(last)
    if math.isfinite(first) and mean > first + TOLERANCE * abs(first):
        return DIVERGED, (
            f"the training loss ended at {mean:.3g} (mean of the last {len(last)} steps), above "
            f"the {first:.3g} of the first step"
        )
    return FINISHED, ""
