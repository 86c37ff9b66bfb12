"""The interval of a mean, from the sample drawn again and again with replacement.

BCa: corrected for bias and for a spread that changes with the mean (Efron 1987). Of very few
numbers it is too narrow, as all bootstrap intervals are.
"""

from collections.abc import Sequence

import numpy as np

from minifp.lab.statistics.distributions import normal

RESAMPLES, SEED = 9999, 0


def bca_interval(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """The ends of the interval of the mean of at least two numbers."""
    x = np.asarray(values, np.float64)
    n, center = len(x), x.mean()
    if (x == x[0]).all():
        return float(x[0]), float(x[0])
    drawn = np.random.default_rng(SEED).integers(n, size=(RESAMPLES, n))
    means = x[drawn].mean(1)
    below = ((means < center).sum() + (means <= center).sum()) / (2 * RESAMPLES)
    bias = normal.inv_cdf(min(max(below, 1 / RESAMPLES), 1 - 1 / RESAMPLES))
    off = x - center  # in proportion to what leaving out each one moves the mean by
    off /= np.abs(off).max() or 1.0  # whose powers must not vanish
    acceleration = (off**3).sum() / (6 * (off**2).sum() ** 1.5)
    ends = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + normal.inv_cdf(tail)
        ends.append(normal.cdf(bias + z / (1 - acceleration * z)))
    low, high = np.quantile(means, ends)
    return float(low), float(high)
