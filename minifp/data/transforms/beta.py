"""The distribution Beta(a, a), by inverting its cumulative distribution function."""

from functools import lru_cache

import numpy as np

POINTS = 2**14


def symmetric_beta(a: float, uniform: np.ndarray) -> np.ndarray:
    """Return for numbers that are equally likely in [0, 1) float64 ones of Beta(a, a), as many.

    The density is proportional to (x (1 - x))^(a - 1), and symmetric about 1/2. With s = x^a,
    x^(a - 1) dx = ds / a, so that for a < 1 nothing is infinite; else x itself is s.
    """
    s, below = _table(float(a))
    lower = np.minimum(uniform, 1 - uniform.astype(np.float64))
    x = np.interp(2 * lower, below, s)
    if a < 1:
        x = x ** (1 / a)
    return np.where(uniform < 0.5, x, 1 - x)


@lru_cache
def _table(a):
    """s from x = 0 to x = 1/2, and how much of that half lies below each."""
    if a < 1:
        s = np.linspace(0, 0.5**a, POINTS)
        density = (1 - s ** (1 / a)) ** (a - 1)
    else:
        # closer together at 1/2, where all of it is if a is large
        s = 0.5 - 0.5 * np.linspace(1, 0, POINTS) ** 2
        density = (4 * s * (1 - s)) ** (a - 1)
    below = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) * np.diff(s))])
    return s, below / below[-1]
