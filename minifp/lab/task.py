"""A Task: everything that is trained and judged, without saying in which precision.

The command line, `compare` and the microscope all take one. It holds functions, not built objects,
because each run builds its model anew, under its own precision and seed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from minifp.errors import ArgumentError
from minifp.lab.metrics import AVERAGED, TEST_LOSS, Metric, accuracy, is_finite, is_positive

# Functions that may be None.
OPTIONAL = "metric schedule step evaluate collate transform sampler".split()
CHOICES = {"goal": ("max", "min"), "schedule_by": ("step", "epoch"), "skip": ("each", "together")}


@dataclass(frozen=True)
class EarlyStopping:
    """End a run where its primary metric has not become better for `patience` evaluations.

    least: by how much it must be better, in its unit. What is looked at is the test set: where that
    is also what is reported, the result is better than on new data, for every precision alike.
    """

    patience: int = 3
    least: float = 0.0

    def __post_init__(self):
        if not _is_integer(self.patience) or self.patience < 1:
            raise ArgumentError(f"EarlyStopping: patience={self.patience!r}: expected at least 1")
        if self.least != 0 and not is_positive(self.least):
            raise ArgumentError(f"EarlyStopping: least is {self.least!r}, expected 0 or more")

    def is_over(self, values: Sequence[float | None], goal: str) -> bool:
        """Whether a run with these values of its metric, in their order, is to end."""
        best, since = None, 0
        for value in values:
            sign = 1 if goal == "max" else -1
            better = value is not None and (best is None or sign * (value - best) > self.least)
            best, since = (value, 0) if better else (best, since + 1)
        return since >= self.patience


@dataclass(frozen=True)
class Task:
    """What to train and how to judge it.

    name: a short name, for tables and folders.
    model: builds the model; called once per run, under its precision and seed. For several models,
        return a dict.
    data: returns the pair (training set, test set); called once per comparison. A set has a length
        and returns an item (input, target) for an index, as for a `DataLoader`; or, if its class
        sets `takes_arrays = True`, arrays of inputs and targets for an array of indices.
    loss: loss(model(inputs), targets), a scalar Tensor: the mean over the batch. A batch may be a
        longer tuple, whose fields except the last are the model's arguments, or a dict with an
        entry "targets", whose other entries are its keywords. None if the task has `step` and
        `evaluate`.
    optimizer: builds the optimizer from the model's parameters. With several models, it gets their
        dict and builds a dict of optimizers by name, or one optimizer. A list of optimizers shares
        one loss scale.
    metric: metric(outputs, targets) of the whole test set as NumPy arrays (outputs in float32), or
        lists of batches if shapes differ; None: the mean test loss, which needs no outputs, or the
        result of `evaluate` named metric_name.
    metric_name, metric_unit, goal: how to write the metric, and whether "max" or "min" is better.
    margin: the largest difference of the metric, in its unit, that still counts as equal; fix it
        before training. 0.5 by default if the unit is "%".
    relative: whether ratios of the metric count, and not differences; the margin is then in
        percent, and always to be given: see Metric.
    schedule: schedule(optimizer, steps) builds a scheduler (for a dict of optimizers, a dict); it
        steps after each successful step. schedule_by="epoch": it gets the number of epochs, and
        steps after each epoch.
    batch_size, epochs: of training. steps: if given, how long to train, instead of epochs.
    clip_norm: the largest norm of all gradients together; None does not clip.
    dial: the exponent dial k: gradients are 2^k times smaller while they are in float16.
    metrics: further metrics, beside the primary one.
    step: step(state, batch), your own training step (see state.State). It uses the optimizers in
        `state` and returns the loss, or a dict with "loss" and other numbers, which become columns
        of the history.
    evaluate: evaluate(state, test set) returns a dict: a number for each metric by its name,
        optionally "loss", and results to save with the run: arrays, texts, `Picture`s and `Audio`.
    collate: makes a batch of a list of items, such as `fp.data.default_collate`.
    transform: changes the training batches, as in the loader, such as
        `fp.data.transforms.RandomCrop(32, padding=4)`, alike in every precision. With collate, it
        changes the items first.
    sampler: sampler(training set, batch_size) returns the loader's `sampler`: an order of the
        items, such as a BucketSampler, instead of a shuffled one.
    skip: for a list of optimizers, whether "each" skips a step alone or all skip "together".
    accumulate: how many batches are added up to one step.
    early_stopping: an EarlyStopping, or None to train to the end.
    target: a value of the metric; the comparison then reports the steps until a run first reaches
        it, as in MLPerf.
    loss_margin: the margin of the test loss, which decides if the metric is too coarse for its
        margin; by default what follows from the baseline's runs: see conclusions/loss_margin.py.
    average: if given, averages of the weights over steps are judged too, at each evaluation: each
        metric and the test loss, by names that begin with "averaged ", with the same margins. It is
        the share of the run that the average remembers, above 0, at most 1: see averaging.py.
    decides: which score's verdict counts, declared before training: a metric by its name, "test
        loss", or one of the averages, such as "averaged test loss"; by default metric_name.

    `origin` is not a field: it is the (name, data set) with which `load_task` found the task, so
    that another process finds it too. A changed copy has none.

    Raises ArgumentError for a field of the wrong kind, naming it.
    """

    name: str
    model: Callable
    data: Callable
    loss: Callable | None
    optimizer: Callable
    metric: Callable | None = accuracy
    metric_name: str = "accuracy"
    metric_unit: str = "%"
    goal: str = "max"
    margin: float | None = None
    schedule: Callable | None = None
    batch_size: int = 64
    epochs: int = 10
    steps: int | None = None
    clip_norm: float | None = None
    dial: int = 0
    description: str = ""
    source: str = ""  # the hash of the file it came from, if any: results know what they are of
    metrics: Sequence[Metric] = ()
    schedule_by: str = "step"
    step: Callable | None = None
    evaluate: Callable | None = None
    collate: Callable | None = None
    accumulate: int = 1
    early_stopping: EarlyStopping | None = None
    target: float | None = None
    loss_margin: float | None = None
    transform: Callable | None = None
    sampler: Callable | None = None
    skip: str = "each"
    relative: bool = False
    average: float | None = None
    decides: str | None = None
    origin: ClassVar[tuple[str, str | None] | None] = None

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.strip():
            raise ArgumentError(f"Task: name is {self.name!r}, expected a string that is not empty")
        self._check_functions()
        for field, known in CHOICES.items():
            if not isinstance(getattr(self, field), str) or getattr(self, field) not in known:
                self._refuse(field, "expected " + " or ".join(f'"{word}"' for word in known))
        if self.metric is None and self.evaluate is None and self.goal == "max":
            self._refuse("goal", 'but with metric=None the metric is the loss: say goal="min"')
        for field in ("metric_name", "metric_unit"):
            if not isinstance(getattr(self, field), str):
                self._refuse(field, "expected a text")
        if not isinstance(self.relative, bool):
            self._refuse("relative", "expected True or False")
        if self.margin is None and self.metric_unit == "%" and not self.relative:
            object.__setattr__(self, "margin", 0.5)
        for field in ("batch_size", "epochs", "steps", "accumulate"):
            self._check_count(field)
        for field in ("margin", "clip_norm", "loss_margin"):
            self._check_positive(field)
        if self.target is not None and not is_finite(self.target):
            self._refuse("target", "expected a finite number, a value of the metric")
        if not _is_integer(self.dial):
            self._refuse("dial", "expected an integer, the k of a factor 2^-k")
        self._check_metrics()
        if self.average is not None and not (is_positive(self.average) and self.average <= 1):
            self._refuse("average", "expected a share of the run above 0, at most 1, or None")
        self._check_decides()
        if not isinstance(self.early_stopping, (EarlyStopping, type(None))):
            self._refuse("early_stopping", "expected EarlyStopping(patience=...) or None")
        if self.step is not None and self.accumulate != 1:
            self._refuse("accumulate", "but your own `step` must do that")

    @property
    def all_metrics(self) -> list[Metric]:
        """The primary metric, and then the others."""
        how = self.metric_unit, self.goal, self.margin, self.relative
        return [Metric(self.metric_name, self.metric, *how), *self.metrics]

    def _check_metrics(self):
        is_list = isinstance(self.metrics, (list, tuple))
        if not is_list or not all(isinstance(m, Metric) for m in self.metrics):
            self._refuse("metrics", "expected a list of Metric(name, function, unit, goal, margin)")
        object.__setattr__(self, "metrics", tuple(self.metrics))
        names = [m.name for m in self.all_metrics]
        for name in names:
            if names.count(name) > 1:
                self._refuse("metrics", f"but {name!r} appears twice")
        for m in self.metrics:
            if m.function is None and self.evaluate is None:
                expected = f"but {m.name!r} has no function, and the task has no evaluate"
                self._refuse("metrics", expected)

    def _check_decides(self):
        margins = {m.name: m.margin for m in self.all_metrics}
        if self.metric is not None or self.evaluate is not None:
            margins[TEST_LOSS] = self.loss_margin
        if self.average is not None:
            margins |= {AVERAGED + name: margin for name, margin in margins.items()}
        if self.decides is not None and self.decides not in margins:
            self._refuse("decides", f"expected one of {', '.join(margins)}")
        if self.decides is not None and margins[self.decides] is None:
            field = "loss_margin" if self.decides.endswith(TEST_LOSS) else "the metric's margin"
            self._refuse("decides", f"but {field} is None: give it before training")

    def _check_functions(self):
        on_its_own = self.step is not None and self.evaluate is not None
        optional = (*OPTIONAL, "loss") if on_its_own else OPTIONAL
        for field in ("model", "data", "loss", "optimizer", *OPTIONAL):
            value = getattr(self, field)
            if value is None and field in optional:
                continue
            if not callable(value):
                self._refuse(field, "expected a function")
            if field == "model" and hasattr(value, "parameters") and not isinstance(value, type):
                self._refuse(
                    field,
                    "an existing model, but every run needs a new one: give a function that "
                    "builds it, such as model=lambda: MyModel()",
                )

    def _check_count(self, field):
        value = getattr(self, field)
        if value is None and field == "steps":
            return
        if not _is_integer(value) or value < 1:
            self._refuse(field, "expected an integer of at least 1")

    def _check_positive(self, field):
        value = getattr(self, field)
        if value is None and field != "margin":
            return
        if value is None:
            self._refuse(
                field,
                f"give, before training, the largest difference of {self.metric_name} "
                f"({'%' if self.relative else self.metric_unit or 'no unit'}) that still counts as "
                "equal",
            )
        if not is_positive(value):
            self._refuse(field, "expected a positive finite number")

    def _refuse(self, field, expected):
        value = getattr(self, field)
        text = type(value).__name__ if hasattr(value, "parameters") else repr(value)
        raise ArgumentError(f"Task {self.name!r}: {field} is {text}, {expected}")


def found_by(task: Task, spec: str, data: str | None = None) -> Task:
    """The task, which knows by what it was found."""
    object.__setattr__(task, "origin", (spec, data))
    return task


def _is_integer(value):
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
