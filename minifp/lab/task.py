"""A Task: everything that is trained and judged, without saying in which precision.

The command line, `compare` and the microscope all take one. It holds functions, not built objects,
because each run builds its model anew, under its own precision and seed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minifp.errors import ArgumentError


def accuracy(outputs: np.ndarray, targets: np.ndarray) -> float:
    """The percentage of targets that the largest output names; classes are the last axis."""
    return 100.0 * float(np.mean(outputs.argmax(-1) == targets))


@dataclass(frozen=True)
class Task:
    """What to train and how to judge it.

    name: a short name, for tables and folders.
    model: builds the model; called once a run, under its precision and seed.
    data: returns the pair (training set, test set); called once a comparison. A set has a length
        and gives, for an array of indices, a tuple (inputs, targets) of NumPy arrays.
    loss: loss(model(inputs), targets), a scalar Tensor: the mean over the batch.
    optimizer: builds the optimizer from the model's parameters.
    metric: metric(outputs, targets) of the whole test set as NumPy arrays (outputs in float32);
        None: the mean test loss, for which the outputs are not kept.
    metric_name, metric_unit, goal: how to write the metric, and whether "max" or "min" is better.
    margin: the largest difference of the metric, in its unit, that still counts as equal: to be
        fixed before training. 0.5 by default where the unit is "%".
    schedule: schedule(optimizer, steps) builds a scheduler; it is stepped once a successful step.
    batch_size, epochs: of training. steps: if given, how long to train, instead of epochs.
    clip_norm: the largest norm of all gradients together; None does not clip.
    dial: the exponent dial k: gradients are 2^k times smaller while they are in float16.

    Raises ArgumentError for a field of the wrong kind, naming it.
    """

    name: str
    model: Callable
    data: Callable
    loss: Callable
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

    def __post_init__(self):
        if not isinstance(self.name, str) or not self.name.strip():
            raise ArgumentError(f"Task: name is {self.name!r}, expected a text that is not empty")
        self._check_functions()
        if not isinstance(self.goal, str) or self.goal not in ("max", "min"):
            self._refuse("goal", 'expected "max" or "min"')
        if self.metric is None and self.goal == "max":
            self._refuse("goal", 'but with metric=None the metric is the loss: say goal="min"')
        for field in ("metric_name", "metric_unit"):
            if not isinstance(getattr(self, field), str):
                self._refuse(field, "expected a text")
        if self.margin is None and self.metric_unit == "%":
            object.__setattr__(self, "margin", 0.5)
        for field in ("batch_size", "epochs", "steps"):
            self._check_count(field)
        for field in ("margin", "clip_norm"):
            self._check_positive(field)
        if not _is_integer(self.dial):
            self._refuse("dial", "expected an integer, the k of a factor 2^-k")

    def _check_functions(self):
        for field in ("model", "data", "loss", "optimizer", "metric", "schedule"):
            value = getattr(self, field)
            if value is None and field in ("metric", "schedule"):
                continue
            if not callable(value):
                self._refuse(field, "expected a function")
            if field == "model" and hasattr(value, "parameters") and not isinstance(value, type):
                self._refuse(
                    field,
                    "a model that is built already; every run needs a new one: "
                    "give the function that builds it, such as model=lambda: MyModel()",
                )

    def _check_count(self, field):
        value = getattr(self, field)
        if value is None and field == "steps":
            return
        if not _is_integer(value) or value < 1:
            self._refuse(field, "expected an integer of at least 1")

    def _check_positive(self, field):
        value = getattr(self, field)
        if value is None and field == "clip_norm":
            return
        if value is None:
            self._refuse(
                field,
                f"say how large a difference of {self.metric_name} "
                f"({self.metric_unit or 'no unit'}) still counts as equal, before training",
            )
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if not is_number or not 0 < value < math.inf:
            self._refuse(field, "expected a positive finite number")

    def _refuse(self, field, expected):
        value = getattr(self, field)
        shown = type(value).__name__ if hasattr(value, "parameters") else repr(value)
        raise ArgumentError(f"Task {self.name!r}: {field} is {shown}, {expected}")


def _is_integer(value):
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
