"""How likely so many pairs are to show equivalence, and how many it takes.

With n pairs whose differences have the true mean d and deviation s, the interval of half width
h = t(1 - level, n - 1) S / sqrt(n), the level being that of each one-sided test, lies within the
margin m with chance

    E[ max(0, Phi((m - h - d) sqrt(n) / s) - Phi((h - m - d) sqrt(n) / s)) ]

over the sample's deviation S, whose square is s^2 chi^2(n - 1) / (n - 1). Source: Phillips 1990.
"""

import math
from functools import lru_cache

import numpy as np

from minifp.lab.statistics.distributions import chi_square_quantile, normal, t_quantile

POWER = 0.80  # that planning aims at
LEVEL = 0.05  # of each one-sided test of a single claim
MOST = 1000  # pairs: from there on the normal distribution is right to a seed
NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)


def tost_power(
    n: int, sd: float, margin: float, difference: float = 0.0, level: float = LEVEL
) -> float:
    """The chance of the verdict EQUIVALENT from n pairs, at least two."""
    if sd == 0:
        return float(abs(difference) < margin)
    df, root, t = n - 1, math.sqrt(n), t_quantile(1 - level, n - 1)
    widest = margin * root / (t * sd)  # S / s, at which nothing is left inside
    spread = 9 / math.sqrt(2 * df)
    low, high = max(0.0, 1 - spread), min(widest, 1 + spread)
    if high <= low:
        return float(widest > 1)
    ratio = (low + high) / 2 + (high - low) / 2 * NODES
    half = t * sd * ratio / root
    inside = [
        normal.cdf((margin - h - difference) * root / sd)
        - normal.cdf((h - margin - difference) * root / sd)
        for h in half
    ]
    log = (df - 1) * np.log(ratio) - df * ratio**2 / 2
    log += math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
    return float((high - low) / 2 * (WEIGHTS * np.exp(log) * np.maximum(inside, 0)).sum())


@lru_cache(maxsize=512)
def seeds_needed(sd: float, margin: float, power: float = POWER, level: float = LEVEL) -> int:
    """How many pairs show equivalence so often, if there is truly no difference.

    Beyond MOST, the normal distribution's answer.
    """
    if sd == 0:
        return 2
    quantiles = normal.inv_cdf(1 - level) + normal.inv_cdf((1 + power) / 2)
    about = max(2, math.ceil((quantiles * sd / margin) ** 2))
    if about > MOST:
        return about
    n = max(2, about - 1)
    while tost_power(n, sd, margin, level=level) < power:
        n += 1
    return n


def deviation_limits(sd: float, n: int, confidence: float = 0.80) -> tuple[float, float]:
    """The interval of the true deviation, where n numbers have this one."""
    tail = (1 - confidence) / 2
    ends = (chi_square_quantile(1 - tail, n - 1), chi_square_quantile(tail, n - 1))
    low, high = (sd * math.sqrt((n - 1) / end) for end in ends)
    return low, high
