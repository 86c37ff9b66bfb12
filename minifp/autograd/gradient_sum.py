"""Gradients that meet at one value are summed in float32 and rounded once.

Added up in float16, 3,000 gradients of 1 would stop at 2,048, where 1 is half an ulp. Mostly there
are two, as where a residual connection ends: those wait, and are added when their sum is asked for,
which compiled is one pass that leaves no float32 array behind.
"""

import numpy as np

from minifp.numerics import rules
from minifp.numerics.compiled import compilable
from minifp.numerics.formats import downcast, float32, upcast
from minifp.runtime.device import as_array, is_writeable


class GradientSum:
    """Gradients that meet at one value: summed in float32 and rounded once, at the last reader."""

    __slots__ = ("first", "second", "precision")

    def __init__(self, gradient):
        self.first, self.second, self.precision = gradient, None, None

    def add(self, gradient, precision):
        """Add one; none of them is written to, as they may belong to somebody else."""
        self.first = self.total
        self.second, self.precision = gradient, precision
        return self

    @property
    def total(self):
        """The sum, not rounded."""
        if self.second is not None:
            self.first, self.second = sum_of(self.first, self.second, self.precision), None
        return self.first

    def rounded(self, dtype):
        """The sum, in the format in which it is stored."""
        if self.second is not None:
            return sum_of(self.first, self.second, self.precision, dtype)
        return self.first if self.first.dtype == dtype else downcast(self.first, dtype)


def sum_of(x, y, precision, dtype=None):
    """x + y, arrays of one shape, in the format in which gradients meet under a precision; then
    rounded to dtype, if there is one."""
    format = rules.meeting_format(x.dtype, precision)
    to = format if dtype is None else dtype
    if format == float32 and max(y.dtype.itemsize, to.itemsize) <= float32.itemsize:
        return add(x, y, to)
    with np.errstate(all="ignore"):
        total = as_array(np.add(upcast(x, format), upcast(y, format)))
    return total if dtype is None else downcast(total, dtype)


@compilable
def add(x, y, dtype):
    """x + y, arrays of one shape, added in float32 and rounded once."""
    with np.errstate(all="ignore"):
        return downcast(as_array(upcast(x, float32) + upcast(y, float32)), dtype)


def unshared(gradients):
    """The (leaf, gradient) pairs, with a copy of each gradient whose memory another one has.

    `x + y` hands one array to both; changing one of them in place must not change the other.
    """
    seen, pairs = set(), []
    for leaf, gradient in gradients:
        owner = gradient if gradient.base is None else gradient.base
        is_writable = type(gradient) is np.ndarray and gradient.flags.writeable
        if id(owner) in seen or not (is_writable or is_writeable(gradient)):
            gradient = gradient.copy()
        seen.add(id(owner))
        pairs.append((leaf, gradient))
    return pairs
