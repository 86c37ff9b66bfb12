"""What a trained model is judged by."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from minifp.errors import ArgumentError

AVERAGED = "averaged "  # what the name of a score begins with that averaged weights reach
TEST_LOSS = "test loss"  # the name of that score


@dataclass(frozen=True)
class Metric:
    """A number computed from the whole test set.

    name, unit: how to write it; goal: whether "max" or "min" is better. function(outputs, targets):
    computes it from NumPy arrays of the whole test set (outputs in float32). If batches have
    different shapes, it gets lists of batches; for detectors, lists with a dict for each picture
    (see lab/detection). None: the task's own `evaluate` returns it. margin: the largest difference,
    in its unit, that still counts as equal; 0.5 by default where the unit is "%"; None for a metric
    that is only reported. relative: whether the ratio of two values is what counts, as of error
    rates, perplexities and distances: it is tested on logarithms, differences are in percent, and a
    margin of 10 allows ratios from 1/1.1 to 1.1; None by default.

    Raises ArgumentError for a field of the wrong kind, naming it.
    """

    name: str
    function: Callable | None = None
    unit: str = ""
    goal: str = "max"
    margin: float | None = None
    relative: bool = False

    def __post_init__(self):
        if not isinstance(self.relative, bool):
            self._refuse("relative", "expected True or False")
        if not isinstance(self.name, str) or not self.name.strip():
            self._refuse("name", "expected a string that is not empty")
        if self.function is not None and not callable(self.function):
            self._refuse("function", "expected a function of (outputs, targets)")
        if not isinstance(self.unit, str):
            self._refuse("unit", "expected a text")
        if self.goal not in ("max", "min"):
            self._refuse("goal", 'expected "max" or "min"')
        if self.margin is None and self.unit == "%" and not self.relative:
            object.__setattr__(self, "margin", 0.5)
        if self.margin is not None and not is_positive(self.margin):
            self._refuse("margin", "expected a positive finite number")

    def _refuse(self, field, expected):
        value = getattr(self, field)
        raise ArgumentError(f"Metric {self.name!r}: {field} is {value!r}, {expected}")


def accuracy(outputs: np.ndarray, targets: np.ndarray) -> float:
    """The percentage of targets that the largest output names; classes are the last axis."""
    return 100.0 * float(np.mean(outputs.argmax(-1) == targets))


def is_positive(value) -> bool:
    """Whether it is a positive finite number."""
    return is_finite(value) and value > 0


def is_finite(value) -> bool:
    """Whether it is a finite number."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return bool(is_number and math.isfinite(value))
