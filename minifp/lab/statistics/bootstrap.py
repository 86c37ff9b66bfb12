"""The interval of a mean, or of a ratio, from the sample drawn again and again with replacement.

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
    means = x[resampled(n)].mean(1)
    return corrected(means, center, x - center, confidence)


def bca_ratio_interval(
    numerators: Sequence[float], denominators: Sequence[float], confidence: float
) -> tuple[float, float]:
    """The ends of the interval of sum x / sum y, of at least two pairs drawn together; y >= 0.

    Where all x are 0 it is (0, 0), which says nothing about how rare they are.
    """
    x, y = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    center = x.sum() / y.sum()
    off = x - center * y
    if not off.any():
        return float(center), float(center)
    drawn = resampled(len(x))
    totals = y[drawn].sum(1)
    there = totals > 0
    return corrected(x[drawn].sum(1)[there] / totals[there], center, off, confidence)


def resampled(n: int) -> np.ndarray:
    """The indices of RESAMPLES samples of n."""
    return np.random.default_rng(SEED).integers(n, size=(RESAMPLES, n))


def corrected(statistics, center, off, confidence) -> tuple[float, float]:
    """The ends of an interval, of the statistic of each resample.

    off: in proportion to what leaving out each number moves the statistic by.
    """
    below = ((statistics < center).sum() + (statistics <= center).sum()) / (2 * len(statistics))
    bias = normal.inv_cdf(min(max(below, 1 / RESAMPLES), 1 - 1 / RESAMPLES))
    off = off / (np.abs(off).max() or 1.0)  # whose powers must not vanish
    acceleration = (off**3).sum() / (6 * (off**2).sum() ** 1.5)
    ends = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + normal.inv_cdf(tail)
        ends.append(normal.cdf(bias + z / (1 - acceleration * z)))
    low, high = np.quantile(statistics, ends)
    return float(low), float(high)
