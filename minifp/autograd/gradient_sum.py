"""Gradients that meet at one value are summed in float32 and rounded once.

Added up in float16, 3,000 gradients of 1 would stop at 2,048, where 1 is half an ulp. Mostly there
are two, as where a residual connection ends: those wait, and are added when their sum is asked for,
which compiled is one pass that leaves no float32 array behind.
"""

import numpy as np

from minifp.autograd import gradient_clip
from minifp.autograd.gradient_clip import in_seed, is_partly_consumed
from minifp.autograd.tape import PARTLY, Tensor
from minifp.numerics import policy, rules
from minifp.numerics.compiled import compilable
from minifp.numerics.formats import downcast, float32, upcast
from minifp.runtime.device import as_array


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
        return sum_of_gradients(x, y, to=(to,))
    with np.errstate(all="ignore"):
        total = as_array(np.add(upcast(x, format), upcast(y, format)))
    return total if dtype is None else downcast(total, dtype)


@compilable
def sum_of_gradients(x, y, *, to):
    """x + y, arrays of one shape, added in float32 and rounded once. to: (the result's dtype,)."""
    with np.errstate(all="ignore"):
        return downcast(as_array(upcast(x, float32) + upcast(y, float32)), to[0])


def added(leaf, gradient, seed, is_unseeded=False):
    """A leaf's gradient with this one added; from the second on, in float32, and in its seed.

    is_unseeded: whether it is of a backward past any loss scale."""
    held = leaf._grad
    if held is None:
        return as_gradient(gradient, seed)
    before = held.array if held.seed is seed else in_seed(held, seed)
    total = Tensor(sum_of(before, gradient, leaf.precision or policy.active.get().value))
    total.seed, total.unseeded = seed, is_unseeded or gradient_clip.is_unseeded(held)
    if held.consumed is not None and is_partly_consumed(held):
        total.consumed = PARTLY
    return total


def as_gradient(array, seed):
    """A gradient of this seed."""
    gradient = Tensor(array)
    gradient.seed = seed
    return gradient
