"""Kernels of cosine_embedding_loss.py for a GPU."""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.losses.cosine_embedding_loss import EPSILON
from minifp.ops.reductions.similarity_cuda import SQUARE
from minifp.runtime.cuda.arrays import cast, is_on_device
from minifp.runtime.cuda.pointwise import F32, STORED, Formula, run, summed


def units(x1, x2, s1, s2, epsilon):
    return (x1 / math.sqrt(s1 + epsilon)) * (x2 / math.sqrt(s2 + epsilon))


def loss(y, t, margin):
    above = y - margin
    return 1 - y if t == 1 else 0.0 if above < 0 else above  # NaN stays


def slope(dl, x1, x2, s1, s2, y, t, *, margin, share, epsilon):
    d1, d2 = math.sqrt(s1 + epsilon), math.sqrt(s2 + epsilon)
    d = dl * share
    dy = -d if t == 1 else 0.0 if y < margin else d
    return dy * (x2 / d2 - y * (x1 / d1)) / d1


UNITS, LOSS, SLOPE = Formula(units), Formula(loss), Formula(slope)


def cosines(x1, x2):
    """(sums of squares of both, cosines) along the last axis, which is kept."""
    axes, shape = (x1.ndim - 1,), (*x1.shape[:-1], 1)
    sums = [summed(SQUARE, (x,), axes, F32) for x in (x1, x2)]
    if any(s is None for s in sums):
        return None
    s1, s2 = (s.reshape(shape) for s in sums)
    return s1, s2, summed(UNITS, (x1, x2, s1, s2), axes, F32, (EPSILON,)).reshape(shape)


def targets(t):
    """Targets in a format that formulas take."""
    return cast(t, F32) if is_on_device(t) and t.dtype not in STORED else t


@compiled_kernel
def cosine_embedding_loss_each(x1, x2, t, *, margin, to):
    found = cosines(x1, x2)
    return found and run(LOSS, (found[2].reshape(t.shape), targets(t)), to[0], (margin,))


@compiled_kernel
def cosine_embedding_loss_total(x1, x2, t, *, margin, divisor, to):
    found = cosines(x1, x2)
    if found is None:
        return None
    given = found[2].reshape(t.shape), targets(t)
    return summed(LOSS, given, tuple(range(t.ndim)), to[0], (margin,), 1 / divisor)


@compiled_kernel
def cosine_embedding_loss_dx(dl, x1, x2, t, *, margin, divisor, to):
    found = cosines(x1, x2)
    if found is None:
        return None
    dl = dl.reshape(-1, 1) if np.ndim(dl) else dl
    t = targets(t).reshape((*t.shape, 1))
    numbers = margin, 1 / divisor, EPSILON
    return run(SLOPE, (dl, x1, x2, *found, t), to[0], numbers)
