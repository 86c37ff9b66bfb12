"""Kernels of normalize.py for a GPU."""

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.ops.reductions.norm_cuda import norm_of, p_norm, p_norm_dx
from minifp.runtime.cuda.pointwise import Formula, run, summed
from minifp.runtime.device import full
from minifp.runtime.shapes import reduced_shape


def normalised(x, n, eps):
    return x / (eps if n < eps else n)  # NaN stays


def product(dy, x, n, eps):
    return dy * (x / (eps if n < eps else n))


def slope(dy, x, n, total, eps):
    d = eps if n < eps else n
    return dy / d - (0.0 if n < eps or n == 0 else total / d * (x / n))


def slope_given(dy, x, n, total, unit, eps):
    d = eps if n < eps else n
    return dy / d - (0.0 if n < eps else total / d * unit)


NORMALISED, PRODUCT, SLOPE = Formula(normalised), Formula(product), Formula(slope)
SLOPE_GIVEN = Formula(slope_given)


@compiled_kernel
def normalize_forward(x, *, p, axes, eps, to):
    if not x.size or not x.ndim or to[1] not in (None, float32):
        return None
    shape = reduced_shape(x.shape, axes, True)
    n = norm_of(x, 2, axes, float32) if p == 2 else p_norm(x, p, axes, shape, float32)
    if n is None:
        return None
    n = n.reshape(shape)
    y = run(NORMALISED, (x, n), to[0] or x.dtype, (eps,))
    return None if y is None else (y, n)


@compiled_kernel
def normalize_dx(dy, x, n, *, p, axes, eps, to):
    total = summed(PRODUCT, (dy, x, n), axes, float32, (eps,)) if x.size else None
    if total is None:
        return None
    given = dy, x, n, total.reshape(n.shape)
    if p == 2:
        return run(SLOPE, given, to[0], (eps,))
    unit = p_norm_dx(full(n.shape, 1, float32, like=n), x, p, axes, float32)
    return None if unit is None else run(SLOPE_GIVEN, (*given, unit), to[0], (eps,))
