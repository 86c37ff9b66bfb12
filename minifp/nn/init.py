"""Initial values, drawn in float32 from the seeded stream, so that every precision begins alike."""

import numpy as np

from minifp import random
from minifp.formats import float32

PURPOSE = "init"


def uniform(shape, bound):
    """Uniform in [-bound, bound): with bound 1/sqrt(fan_in), PyTorch's default for most layers."""
    return random.uniform(shape, -bound, bound, purpose=PURPOSE)


def normal(shape, std=1.0):
    """Normal with mean 0."""
    return random.normal(shape, 0.0, std, purpose=PURPOSE)


def zeros(shape):
    """Zeros."""
    return np.zeros(shape, float32)


def ones(shape):
    """Ones."""
    return np.ones(shape, float32)
