"""Gradients that meet at one value are summed in float32 and rounded once.

Added up in float16, 3,000 gradients of 1 would stop at 2,048, where 1 is half an ulp.
"""

import numpy as np

from minifp import policy
from minifp.formats import narrow, widen


class GradientSum:
    """Gradients that meet at one value: summed in float32 and rounded once, at the last reader."""

    __slots__ = ("total", "owned")

    def __init__(self, gradient):
        self.total, self.owned = gradient, False

    def add(self, gradient, precision):
        """Add one; the first may belong to somebody else, and is not written to."""
        format = policy.meeting_format(self.total.dtype, precision)
        total = widen(self.total, format)
        out = total if self.owned and total is self.total else None
        with np.errstate(all="ignore"):
            self.total = np.asarray(np.add(total, widen(gradient, format), out=out))
        self.owned = True
        return self

    def rounded(self, dtype):
        """The sum, in the format in which it is stored."""
        return narrow(self.total, dtype)


def unshared(gradients):
    """The (leaf, gradient) pairs, with a copy of each gradient whose memory another one has.

    `x + y` hands one array to both; changing one of them in place must not change the other.
    """
    seen = set()
    for leaf, gradient in gradients:
        owner = gradient if gradient.base is None else gradient.base
        if id(owner) in seen or not gradient.flags.writeable:
            gradient = gradient.copy()
        seen.add(id(owner))
        yield leaf, gradient
