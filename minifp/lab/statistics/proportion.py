"""A share of runs, such as those that diverged, with the interval in which the true one lies.

Source: Clopper and Pearson 1934: exact, so that it covers at least as often as it says.
"""

from functools import lru_cache
from math import comb

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
    p = min(p, 1.0)
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(count, n + 1))
