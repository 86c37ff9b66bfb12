"""What layers begin as: arrays drawn in float32, so that every precision begins alike."""

import numpy as np

from minifp.numerics.formats import float32
from minifp.numerics.policy import get_precision
from minifp.ops.arguments import check_room
from minifp.runtime import random
from minifp.typing import Ints

PURPOSE = "init"


def drawn(distribution: str, shape: Ints, *numbers: float) -> np.ndarray:
    """An array drawn from "uniform" (from, to) or "normal" (mean, deviation); of a precision that
    is of shapes only, one of any numbers."""
    check_room("a layer", shape)
    if get_precision().shapes_only:
        return np.empty(shape, float32)
    return getattr(random, distribution)(shape, *numbers, purpose=PURPOSE)


def uniform(shape: Ints, bound: float) -> np.ndarray:
    """Uniform in [-bound, bound): with bound 1/sqrt(fan_in), PyTorch's default for most layers."""
    return drawn("uniform", shape, -bound, bound)


def normal(shape: Ints, std: float = 1.0) -> np.ndarray:
    """Normal with mean 0."""
    return drawn("normal", shape, 0.0, std)


def zeros(shape: Ints) -> np.ndarray:
    """Zeros."""
    check_room("a layer", shape)
    return np.zeros(shape, float32)


def ones(shape: Ints) -> np.ndarray:
    """Ones."""
    check_room("a layer", shape)
    return np.ones(shape, float32)
