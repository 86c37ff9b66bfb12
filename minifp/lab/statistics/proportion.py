"""A share of runs, such as those that diverged, with the interval in which the true one lies.

Source: Clopper and Pearson 1934: exact, so that it covers at least as often as it says.
"""

from functools import lru_cache
from math import exp, lgamma, log, log1p

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
    """The chance of `count` or more of `n`, each with chance p; n may be thousands."""
    p = min(p, 1 - 2**-53)  # which has a logarithm
    ways = (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) for k in range(count, n + 1))
    return sum(exp(w + k * log(p) + (n - k) * log1p(-p)) for k, w in enumerate(ways, count))
