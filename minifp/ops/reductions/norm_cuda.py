"""Kernels of norm.py for a GPU. For p = 1 and 2 long rows are summed by several blocks."""

import numpy as np

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import FLOATS, run, summed
from minifp.runtime.cuda.rows import as_before, as_three, contiguous, rows_along
from minifp.runtime.cuda.source import Text
from minifp.runtime.shapes import reduced_shape

TEXT = Text(__name__, "norm.cu")


@Formulas
def square(x):
    return x * x


@Formulas
def root(x):
    return np.sqrt(x)


@Formulas
def slope_of_root(dy, x, y):
    return dy * np.where(y == 0, 0, x / y)


ADDENDS = {0: Formulas(lambda x: x != 0), 1: Formulas(abs), 2: square}
SLOPES = {
    0: Formulas(lambda dy, x, y: np.full_like(x, 0 * dy)),
    1: Formulas(lambda dy, x, y: dy * np.sign(x)),
    2: slope_of_root,
}


def format_of(x, axes, keepdims, dtype):
    """In what a reduction of x is stored: see `Kernel.compiled`."""
    return dtype or (x.dtype if (x.ndim if keepdims else x.ndim - len(axes)) else float32)


# ---- rows ---------------------------------------------------------------------------------------


def launched(name, x, y, dx, *numbers):
    """Launch a kernel of rows for x as by `as_three`."""
    rows = rows_along(x.shape, 1)
    types = {"X": x.dtype, "D": y.dtype, "Y": dx.dtype, "PACKED": rows.packed(x, dx)}
    TEXT(**types).launch(name, rows.blocks, rows.threads, x, y, dx, *rows.sizes, *numbers)


def gradient(name, dy, x, axes, dtype, *numbers):
    """dx in the shape of x, from a kernel of rows; None for what there is no kernel for."""
    if not x.size or not axes or not FLOATS.issuperset((dy.dtype, x.dtype, dtype)):
        return None
    rows = as_three(x, axes)
    dx = empty(rows.shape, dtype)
    launched(name, rows, contiguous(dy), dx, *numbers, 1)
    return as_before(dx, x.shape, axes)


def reduced(name, x, axes, shape, dtype, *numbers):
    """y in this shape, from a kernel of rows; None for what there is no kernel for."""
    if not x.size or not axes or not FLOATS.issuperset((x.dtype, dtype)):
        return None
    y, rows = empty(tuple(shape), dtype), as_three(x, axes)
    launched(name, rows, y, rows, *numbers, 0)
    return y


def powers(p):
    """p as the kernel takes it."""
    return float(p), 1 / p, p - 1.0


def p_norm(x, p, axes, shape, dtype):
    """The norms of rows, for any p but 0, in this shape."""
    return reduced("p_norm", x, axes, shape, dtype, *powers(p))


def p_norm_dx(dy, x, p, axes, dtype):
    """dy, without the axes, times the slopes of these norms."""
    return gradient("p_norm", dy, x, axes, dtype, *powers(p))


# ---- norms --------------------------------------------------------------------------------------


def norm_of(x, p, axes, dtype):
    """The norm; None for what there is no kernel for."""
    y = summed(ADDENDS[p], (x,), axes, float32 if p == 2 else dtype)
    return y if y is None or p != 2 else run(root, (y,), dtype)


@compiled_kernel
def norm_forward(x, *, p, axes, keepdims, to):
    dtype, shape = format_of(x, axes, keepdims, to[0]), reduced_shape(x.shape, axes, keepdims)
    if p not in ADDENDS:
        return p_norm(x, p, axes, shape, dtype)
    y = norm_of(x, p, axes, dtype)
    return None if y is None else y.reshape(shape)


@compiled_kernel
def norm_dx(dy, x, *, p, axes, to):
    if p not in ADDENDS:
        return p_norm_dx(dy, x, p, axes, to[0])
    if x.dtype not in FLOATS:
        return None
    y = norm_of(x, p, axes, float32) if p == 2 else x
    shape = reduced_shape(x.shape, axes, True)
    return run(SLOPES[p], (dy.reshape(shape), x, y.reshape(shape) if p == 2 else y), to[0])


# ---- log-sum-exp --------------------------------------------------------------------------------


@compiled_kernel
def logsumexp_forward(x, *, axes, keepdims, to):
    dtype = format_of(x, axes, keepdims, to[0])
    return reduced("logsumexp", x, axes, reduced_shape(x.shape, axes, keepdims), dtype)


@compiled_kernel
def logsumexp_dx(dy, x, *, axes, to):
    return gradient("logsumexp", dy, x, axes, to[0])
