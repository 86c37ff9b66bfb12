"""What layers begin as: arrays drawn in float32, so that every precision begins alike."""

import numpy as np

from minifp.numerics.formats import float32
from minifp.runtime import random
from minifp.typing import Ints

PURPOSE = "init"


def uniform(shape: Ints, bound: float) -> np.ndarray:
    """Uniform in [-bound, bound): with bound 1/sqrt(fan_in), PyTorch's default for most layers."""
    return random.uniform(shape, -bound, bound, purpose=PURPOSE)


def normal(shape: Ints, std: float = 1.0) -> np.ndarray:
    """Normal with mean 0."""
    return random.normal(shape, 0.0, std, purpose=PURPOSE)


def zeros(shape: Ints) -> np.ndarray:
    """Zeros."""
    return np.zeros(shape, float32)


def ones(shape: Ints) -> np.ndarray:
    """Ones."""
    return np.ones(shape, float32)
