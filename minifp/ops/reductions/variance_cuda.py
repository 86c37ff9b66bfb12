"""Kernels of variance.py for a GPU: sums of what is computed element by element."""

import math

import numpy as np

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.ops.reduce import count_of
from minifp.ops.reductions.norm_cuda import format_of
from minifp.ops.reductions.norm_cuda import root as root_of
from minifp.ops.reductions.variance import divisor_of
from minifp.runtime.cuda.pointwise import run, sum_over, summed
from minifp.runtime.shapes import reduced_shape


@Formulas
def squared(x, m):
    return (x - m) * (x - m)


@Formulas
def slope(dy, x, m, *, share):
    return dy * ((x - m) * share)


@Formulas
def slope_of_root(dy, x, m, y, *, divisor):
    return dy * np.where(y == 0, 0, (x - m) / (divisor * y))


def inverse(divisor):
    """1 / divisor, or Inf."""
    return 1 / divisor if divisor else math.inf


def moments(x, axes, correction, root, dtype):
    """(the mean in float32, the variance or its root in `dtype`); None of no numbers."""
    if not x.size:
        return None
    m = sum_over(x, axes, float32, 1 / count_of(x.shape, axes))
    if m is None:
        return None
    m, scale = (
        m.reshape(reduced_shape(x.shape, axes, True)),
        inverse(divisor_of(x, axes, correction)),
    )
    y = summed(squared, (x, m), axes, float32 if root else dtype, scale)
    return m, run(root_of, (y,), dtype) if root else y


def variance(x, axes, keepdims, correction, root, dtype):
    """The variance, or its root."""
    found = moments(x, axes, correction, root, format_of(x, axes, keepdims, dtype))
    return found and found[1].reshape(reduced_shape(x.shape, axes, keepdims))


@compiled_kernel
def var_forward(x, *, axes, keepdims, correction, to):
    return variance(x, axes, keepdims, correction, False, to[0])


@compiled_kernel
def std_forward(x, *, axes, keepdims, correction, to):
    return variance(x, axes, keepdims, correction, True, to[0])


@compiled_kernel
def var_dx(dy, x, *, axes, correction, to):
    if not x.size:
        return None
    m = sum_over(x, axes, float32, 1 / count_of(x.shape, axes))
    if m is None:
        return None
    shape, share = reduced_shape(x.shape, axes, True), 2 * inverse(divisor_of(x, axes, correction))
    return run(slope, (dy.reshape(shape), x, m.reshape(shape)), to[0], share=share)


@compiled_kernel
def std_dx(dy, x, *, axes, correction, to):
    found = moments(x, axes, correction, True, float32)
    if found is None:
        return None
    shape, (m, y) = reduced_shape(x.shape, axes, True), found
    args = dy.reshape(shape), x, m, y.reshape(shape)
    return run(slope_of_root, args, to[0], divisor=divisor_of(x, axes, correction))
