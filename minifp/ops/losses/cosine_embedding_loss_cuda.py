"""Kernels of cosine_embedding_loss.py for a GPU."""

import numpy as np

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import compiled_kernel
from minifp.ops.losses.cosine_embedding_loss import EPSILON
from minifp.ops.reductions.norm_cuda import square
from minifp.runtime.cuda.arrays import cast, is_on_device
from minifp.runtime.cuda.pointwise import F32, STORED, run, summed


@Formulas
def units(x1, x2, s1, s2):
    return (x1 / np.sqrt(s1 + EPSILON)) * (x2 / np.sqrt(s2 + EPSILON))


@Formulas
def loss(y, t, *, margin):
    return np.where(t == 1, 1 - y, np.maximum(y - margin, 0))


@Formulas
def slope(dl, x1, x2, s1, s2, y, t, *, margin, share):
    d1, d2, dl = np.sqrt(s1 + EPSILON), np.sqrt(s2 + EPSILON), dl * share
    dy = np.where(t == 1, -dl, np.where(y < margin, 0, dl))
    return dy * (x2 / d2 - y * (x1 / d1)) / d1


def cosines(x1, x2):
    """(sums of squares of both, cosines) along the last axis, which is kept."""
    axes, shape = (x1.ndim - 1,), (*x1.shape[:-1], 1)
    sums = [summed(square, (x,), axes, F32) for x in (x1, x2)]
    if any(s is None for s in sums):
        return None
    s1, s2 = (s.reshape(shape) for s in sums)
    return s1, s2, summed(units, (x1, x2, s1, s2), axes, F32).reshape(shape)


def targets(t):
    """Targets in a format that formulas take."""
    return cast(t, F32) if is_on_device(t) and t.dtype not in STORED else t


@compiled_kernel
def cosine_embedding_loss_each(x1, x2, t, *, margin, to):
    found = cosines(x1, x2)
    return found and run(loss, (found[2].reshape(t.shape), targets(t)), to[0], margin=margin)


@compiled_kernel
def cosine_embedding_loss_total(x1, x2, t, *, margin, divisor, to):
    found = cosines(x1, x2)
    if found is None:
        return None
    given = found[2].reshape(t.shape), targets(t)
    return summed(loss, given, tuple(range(t.ndim)), to[0], 1 / divisor, margin=margin)


@compiled_kernel
def cosine_embedding_loss_dx(dl, x1, x2, t, *, margin, divisor, to):
    found = cosines(x1, x2)
    if found is None:
        return None
    dl = dl.reshape(-1, 1) if np.ndim(dl) else dl
    t = targets(t).reshape((*t.shape, 1))
    return run(slope, (dl, x1, x2, *found, t), to[0], margin=margin, share=1 / divisor)
