"""Kernels of normalize.py for a GPU."""

import numpy as np

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.ops.reductions.norm_cuda import norm_of, p_norm, p_norm_dx
from minifp.runtime.cuda.pointwise import run, summed
from minifp.runtime.device import full
from minifp.runtime.shapes import reduced_shape


@Formulas
def normalised(x, n, *, eps):
    return x / np.maximum(n, eps)


@Formulas
def product(dy, x, n, *, eps):
    return dy * (x / np.maximum(n, eps))


@Formulas
def slope(dy, x, n, total, unit, *, eps):
    """unit: the slope of the norm, which is x / n where it is None."""
    d, unit = np.maximum(n, eps), np.where(n == 0, 0, x / n) if unit is None else unit
    return dy / d - np.where(n < eps, 0, total / d * unit)


@compiled_kernel
def normalize_forward(x, *, p, axes, eps, to):
    if not x.size or not x.ndim or to[1] not in (None, float32):
        return None
    shape = reduced_shape(x.shape, axes, True)
    n = norm_of(x, 2, axes, float32) if p == 2 else p_norm(x, p, axes, shape, float32)
    if n is None:
        return None
    n = n.reshape(shape)
    y = run(normalised, (x, n), to[0] or x.dtype, eps=eps)
    return None if y is None else (y, n)


@compiled_kernel
def normalize_dx(dy, x, n, *, p, axes, eps, to):
    total = summed(product, (dy, x, n), axes, float32, eps=eps) if x.size else None
    if total is None:
        return None
    unit = None
    if p != 2:
        unit = p_norm_dx(full(n.shape, 1, float32, like=n), x, p, axes, float32)
        if unit is None:
            return None
    return run(slope, (dy, x, n, total.reshape(n.shape), unit), to[0], eps=eps)
