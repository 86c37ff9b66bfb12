"""A share of runs, such as those that diverged, with the interval in which the true one lies.

Source: Clopper and Pearson 1934: exact, so that it covers at least as often as it says.
"""

from functools import lru_cache
from math import lgamma

import numpy as np

from minifp.lab.statistics.distributions import quantile

CONFIDENCE = 0.95


@lru_cache(maxsize=512)
def clopper_pearson(count: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The interval of the true share, 0 to 1, where `count` of `n` were seen."""
    tail = (1 - confidence) / 2
    low = quantile(lambda p: at_least(count, n, p), tail) if count else 0.0
    high = quantile(lambda p: at_least(count + 1, n, p), 1 - tail) if count < n else 1.0
    return low, high


def at_least(count: int, n: int, p: float) -> float:
    """The chance of `count` or more of `n`, each with chance p."""
    p = min(p, 1 - 2**-53)  # which has a logarithm
    k = np.arange(count, n + 1)
    return float(np.exp(log_ways(n)[count:] + k * np.log(p) + (n - k) * np.log1p(-p)).sum())


@lru_cache(maxsize=8)
def log_ways(n: int) -> np.ndarray:
    """(n + 1,): the logarithms of in how many ways 0 to n of n are chosen, for any n."""
    logs = np.array([lgamma(k + 1) for k in range(n + 1)])
    return logs[-1] - logs - logs[::-1]
