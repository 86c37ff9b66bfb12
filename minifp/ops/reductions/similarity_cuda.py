"""Kernels of similarity.py for a GPU."""

import numpy as np

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import compiled_kernel
from minifp.ops.reductions.norm_cuda import p_norm, p_norm_dx, square
from minifp.runtime.cuda.pointwise import F32, identity, run, summed, summed_to
from minifp.runtime.shapes import reduced_shape


@Formulas
def units(x1, x2, s1, s2, *, eps):
    return (x1 / np.maximum(np.sqrt(s1), eps)) * (x2 / np.maximum(np.sqrt(s2), eps))


@Formulas
def slope(dy, x1, x2, s1, s2, y, *, eps):
    n = np.sqrt(s1)
    other = x2 / np.maximum(np.sqrt(s2), eps)
    return dy * (other - y * np.where(n != 0, x1 / n, 0)) / np.maximum(n, eps)


@Formulas
def difference(x1, x2, *, eps):
    return x1 - x2 + eps


def squares(x, shape, axis):
    """The sum of squares of x, stretched to a shape, along an axis, which is kept."""
    found = summed(square, (np.broadcast_to(x, shape),), (axis,), F32)
    return None if found is None else found.reshape(reduced_shape(shape, (axis,), True))


def cosine(x1, x2, axis, eps, dtype):
    """(sums of squares of both, cosines without the axis); None if there is no kernel."""
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    s1, s2 = squares(x1, shape, axis), squares(x2, shape, axis)
    if s1 is None or s2 is None:
        return None
    x1 = np.broadcast_to(x1, shape)
    return s1, s2, summed(units, (x1, x2, s1, s2), (axis,), dtype, eps=eps)


def format_of(x1, x2, axes, dtype):
    """In what a reduction of both to so many axes is stored."""
    return dtype or (np.promote_types(x1.dtype, x2.dtype) if axes else F32)


@compiled_kernel
def cosine_similarity_forward(x1, x2, *, axis, eps, to):
    axes = max(x1.ndim, x2.ndim)
    found = cosine(x1, x2, axis % axes, eps, format_of(x1, x2, axes - 1, to[0]))
    return None if found is None else found[2]


@compiled_kernel
def cosine_similarity_dx(dy, x1, x2, *, axis, eps, to):
    shape = np.broadcast_shapes(x1.shape, x2.shape)
    axis %= len(shape)
    found = cosine(x1, x2, axis, eps, F32)
    if found is None:
        return None
    dy, y = (v.reshape(reduced_shape(shape, (axis,), True)) for v in (dy, found[2]))
    dtype = to[0] or (x1.dtype if x1.ndim else F32)
    return summed_to(slope, (dy, x1, x2, *found[:2], y), shape, x1.shape, dtype, eps=eps)


@compiled_kernel
def pairwise_distance_forward(x1, x2, *, p, eps, keepdim, to):
    v = run(difference, (x1, x2), F32, eps=eps)
    if v is None:
        return None
    shape = (*v.shape[:-1], 1) if keepdim else v.shape[:-1]
    return p_norm(v, p, (v.ndim - 1,), shape, format_of(x1, x2, len(shape), to[0]))


@compiled_kernel
def pairwise_distance_dx(dy, x1, x2, *, p, eps, shape, to):
    v = run(difference, (x1, x2), F32, eps=eps)
    if v is None:
        return None
    whole, dtype = v.shape == shape, to[0] or (x1.dtype if shape else F32)
    dv = p_norm_dx(dy, v, p, (v.ndim - 1,), dtype if whole else F32)
    if dv is None or whole:
        return dv
    return summed_to(identity, (dv,), dv.shape, shape, dtype)
