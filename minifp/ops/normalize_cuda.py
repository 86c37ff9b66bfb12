"""The twins of normalize.py for a GPU: for p = 2; others are left to the CPU."""

from minifp.cpu import twin
from minifp.cuda.pointwise import Formula, run, summed
from minifp.formats import float32
from minifp.ops.norm_cuda import norm_of
from minifp.ops.reduce_numba import kept


def normalised(x, n, eps):
    return x / (eps if n < eps else n)  # NaN stays


def product(dy, x, n, eps):
    return dy * (x / (eps if n < eps else n))


def slope(dy, x, n, total, eps):
    d = eps if n < eps else n
    return dy / d - (0.0 if n < eps or n == 0 else total / d * (x / n))


NORMALISED, PRODUCT, SLOPE = Formula(normalised, 2), Formula(product, 3), Formula(slope, 4)


@twin
def normalize_forward(x, *, p, axes, eps, to):
    if p != 2 or not x.size or not x.ndim or to[1] not in (None, float32):
        return None
    n = norm_of(x, 2, axes, float32)
    if n is None:
        return None
    n = n.reshape(kept(x.shape, axes))
    y = run(NORMALISED, (x, n), to[0] or x.dtype, (eps,))
    return None if y is None else (y, n)


@twin
def normalize_dx(dy, x, n, *, p, axes, eps, to):
    if p != 2 or not x.size:
        return None
    total = summed(PRODUCT, (dy, x, n), axes, float32, (eps,))
    if total is None:
        return None
    return run(SLOPE, (dy, x, n, total.reshape(n.shape)), to[0], (eps,))
