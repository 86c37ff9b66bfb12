"""What a loss scale S costs: the error of a layer's gradient once it is stored in a format.

Not the number of values counts: half of them may be flushed with no effect, as the paper saw
(Micikevicius et al. 2018), because all of them together are small beside the others. What counts is
the error of a layer's gradient as a vector,

    e(S)^2 = sum of the squared errors of all its numbers / sum of their squares

where a flushed number errs by itself, and one below the smallest normal number / S by a share of
the fixed gap there. The histograms give both sums, to within the width of their bins. What rounding
costs with any scale, next to nothing in float16 but about 5% in float8_e5m2, no scale mends: the
tolerance is for what comes on top of it, sqrt(e(S)^2 - e(any)^2).
"""

import math
from bisect import bisect_left

import numpy as np

from minifp.numerics.number_format import Format
from minifp.scope.borders import is_short, kept_from
from minifp.scope.histogram import HALF, POWER, Histogram


def may_hide(histogram: Histogram, tolerance: float, stored: Format) -> bool:
    """Whether numbers that were stored as 0 may have been more of a layer's gradient than the
    tolerance: each may have been as large as what is just flushed."""
    if not is_short(stored):
        return False
    exponents = np.arange(histogram.lowest, histogram.highest)[:, None]
    sizes = sizes_of(histogram) * 4.0 ** np.minimum(exponents - kept_from(stored).exponent, 500)
    return histogram.zeros > tolerance**2 * float((histogram.counts * sizes).sum())


def sizes_of(histogram: Histogram) -> np.ndarray:
    """The mean square of what lies in a bin's parts, over 4^exponent: 7/3 between two powers."""
    return np.array([1.0, *[7 / 3] * (len(histogram.borders) - 2), 4.0])


def errors_of(histogram: Histogram, shifts: np.ndarray, format: Format = HALF) -> np.ndarray:
    """e(S) of the numbers of a histogram multiplied by 2^shift, for each of the shifts."""
    if not histogram.nonzero:
        return np.zeros(len(shifts))
    exponents = np.arange(histogram.lowest, histogram.highest)
    middle = histogram.lowest + len(exponents) // 2  # so that nothing leaves the range of float64
    squares = histogram.counts * sizes_of(histogram) * 4.0 ** (exponents - middle)[:, None]
    others = histogram.counts[:, POWER + 1 :].sum(axis=1)  # powers of two are exact
    border = kept_from(format)
    first = max(bisect_left(histogram.borders, border.place), POWER + 1)  # part that it keeps
    shifts = np.asarray(shifts)[:, None]
    stored = exponents + shifts
    gap = np.maximum(stored, 1 - format.bias) - format.mantissa_bits
    rounding = 4.0 ** (gap - shifts - middle) / 12
    partly = squares[:, :first].sum(axis=1) + histogram.counts[:, first:].sum(axis=1) * rounding
    flushed, at = stored < border.exponent, stored == border.exponent
    squared = np.select([flushed, at], [squares.sum(axis=1), partly], others * rounding)
    return np.sqrt(np.minimum(squared.sum(axis=1) / squares.sum(), 1.0))


def rounding_of(histogram: Histogram, format: Format = HALF) -> float:
    """The error that no scale mends: that of numbers all of which are normal ones."""
    if not histogram.nonzero:
        return 0.0
    exponents = np.arange(histogram.lowest, histogram.highest)[:, None]
    counts = histogram.counts * 4.0 ** (exponents - histogram.highest)
    share = counts[:, POWER + 1 :].sum() / (counts * sizes_of(histogram)).sum()
    return format.eps * math.sqrt(share / 12)
