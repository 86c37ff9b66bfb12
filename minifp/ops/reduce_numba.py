"""Compiled kernels of reduce.py."""

import numpy as np

from minifp.numerics.compiled import any_device, compiled_kernel
from minifp.numerics.dispatch import SUM_OVER, pointwise
from minifp.ops.reduce import count_of
from minifp.runtime.cpu.kernels.sums import format_of
from minifp.runtime.shapes import reduced_shape


@any_device
def sum_forward(x, *, axes, keepdims, to):
    dtype = format_of(x, axes, keepdims, to[0])
    if dtype is None:
        return None
    y = SUM_OVER[type(x)](x, axes, dtype)
    return y if y is None or not keepdims else y.reshape(reduced_shape(x.shape, axes, True))


@any_device
def mean_forward(x, *, axes, keepdims, to):
    dtype, n = format_of(x, axes, keepdims, to[0]), count_of(x.shape, axes)
    if dtype is None or not n:
        return None
    y = SUM_OVER[type(x)](x, axes, dtype, 1 / n)
    return y if y is None or not keepdims else y.reshape(reduced_shape(x.shape, axes, True))


@pointwise
def divided(x, *, divisor):
    return x / divisor


@compiled_kernel
def spread(dy, *, shape, axes, divisor, to):
    y = dy if divisor == 1 and dy.dtype == to[0] else divided(dy, divisor=divisor, to=to)
    if y is None or (y is not dy and y.shape == shape):
        return y
    out = np.empty(shape, y.dtype)
    has_axes = y.ndim in (0, len(shape))  # or needs none
    np.copyto(out, y if has_axes else y.reshape(reduced_shape(shape, axes, True)))
    return out
