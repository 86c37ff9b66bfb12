"""Means, and how far numbers spread."""

import math
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    """The mean of at least one number."""
    return math.fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample of at least two, with n - 1; 0 where all are equal."""
    if min(values) == max(values):
        return 0.0
    center = mean(values)
    return math.sqrt(math.fsum((v - center) ** 2 for v in values) / (len(values) - 1))
