"""What compiled kernels of losses with class numbers as targets share: see class_targets.py.

t: (rows) class numbers. w: (n) weights of classes, or (0) where each weighs 1.
"""

import math

import numpy as np

from minifp.numerics.formats import float32
from minifp.runtime.cpu.compile import compiled, inline
from minifp.runtime.cpu.half import VIEWS, flat
from minifp.runtime.cpu.math import ONE
from minifp.runtime.cpu.sums import single, sum_of_run

UNWEIGHTED = np.empty(0, float32)
NOT_STORED = {dtype: np.empty(0, dtype) for dtype in VIEWS}


def as_rows(z, t, w):
    """(n, step) of z, whose classes lie along its second axis, `step` apart; and t and w as kernels
    take them."""
    n, step = z.shape[min(z.ndim - 1, 1)], math.prod(z.shape[2:])
    return n, step, flat(np.asarray(t, np.int64)), UNWEIGHTED if w is None else single(w)


@inline
def weight_of(w, c):
    """What a row of class c weighs."""
    return w[c] if w.size else ONE


@inline
def weight_of_all(w, n):
    """The weights of all classes, added up."""
    return np.float32(sum_of_run(w, 0, n)) if w.size else np.float32(n)


@inline
def weight_of_rows(t, w, ignored):
    """The weights of all rows, added up."""
    total = 0.0
    for c in t:
        if c != ignored:
            total += weight_of(w, c)
    return total


@compiled
def share_of(t, w, ignored, mean):
    """What a row's loss is multiplied by: in a mean 1 / the weight of all rows."""
    return 1 / weight_of_rows(t, w, ignored) if mean else 1.0
