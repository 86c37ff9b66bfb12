"""Student's t, chi-square, and the normal distribution, for whole degrees of freedom.

Source: Abramowitz and Stegun 26.7.3-4 (t) and 26.4.4-5 (chi-square): finite sums.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

normal = NormalDist()


def t_cdf(t: float, df: int) -> float:
    """The chance that Student's t with `df` degrees of freedom lies below t."""
    angle = math.atan(t / math.sqrt(df))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = total = cosine if df % 2 else 1.0
    for k in range(2 + df % 2, df, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    if df % 2:
        inside = 2 / math.pi * (angle + (sine * total if df > 1 else 0.0))
    else:
        inside = sine * total
    return 0.5 + inside / 2


def t_quantile(p: float, df: int) -> float:
    """The number below which Student's t lies with chance p, for p in (0.5, 1)."""
    return quantile(lambda t: t_cdf(t, df), p)


def chi_square_cdf(x: float, df: int) -> float:
    """The chance that the sum of squares of `df` normal numbers lies below x."""
    if x <= 0:
        return 0.0
    root = math.sqrt(x)
    first = 3 if df % 2 else 2
    above = math.erfc(root / math.sqrt(2)) if df % 2 else 0.0
    term = 2 * root * normal.pdf(root) if df % 2 else math.exp(-x / 2)
    for k in range(first, df + 1, 2):
        above += term
        term *= x / k
    return 1 - above


def chi_square_quantile(p: float, df: int) -> float:
    """The number below which chi-square lies with chance p, for p in (0, 1)."""
    return quantile(lambda x: chi_square_cdf(x, df), p)


def quantile(cdf: Callable[[float], float], p: float) -> float:
    """Where a distribution of numbers from 0 upward, or from its median 0, reaches p."""
    low, high = 0.0, 1.0
    while cdf(high) < p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if cdf(middle) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2
