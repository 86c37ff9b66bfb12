"""Kernels of cumulative.py for a GPU."""

import operator

import numpy as np

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import as_stored, float32
from minifp.ops.reduce import count_of
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import F32, FLOATS, cast, run
from minifp.runtime.cuda.rows import as_before, as_three, contiguous, rows_along
from minifp.runtime.cuda.source import THREADS, Text, blocks_for
from minifp.runtime.device import full
from minifp.runtime.shapes import reduced_shape

TEXT = Text(__name__, "cumulative.cu")


def summed(x, axis, dtype, backward):
    """The running sums along an axis; None for what there is no kernel for."""
    dtype = dtype or (x.dtype if x.ndim else float32)
    if not x.ndim or not FLOATS.issuperset((x.dtype, dtype)):
        return None
    x, y = contiguous(x), empty(x.shape, dtype)
    if y.size:
        rows = rows_along(x.shape, axis)
        group = 32 if rows.step == 1 and rows.n > 1 else 1
        sizes = rows.rows, rows.n, rows.step, group, backward
        blocks = blocks_for(rows.rows * group)
        TEXT(X=x.dtype, D=dtype, Y=dtype).launch("cumsum", blocks, THREADS, x, y, *sizes)
    return y


@compiled_kernel
def cumsum_forward(x, *, axis, to):
    return summed(x, axis, to[0], 0)


@compiled_kernel
def cumsum_dx(dy, *, axis, to):
    return summed(dy, axis, to[0], 1)


# ---- products -----------------------------------------------------------------------------------


def launched(x, y, dx, gradient):
    """Launch the kernel of products for x as by `as_three`."""
    rows = rows_along(x.shape, 1)
    TEXT(X=x.dtype, D=y.dtype, Y=dx.dtype).launch(
        "prod", rows.blocks, THREADS, x, y, dx, *rows, gradient
    )


@compiled_kernel
def prod_forward(x, *, axes, keepdims, to):
    shape = reduced_shape(x.shape, axes, keepdims)
    dtype = to[0] or (x.dtype if shape else float32)
    if not FLOATS.issuperset((x.dtype, dtype)):
        return None
    if not axes or not x.size:
        return full(shape, as_stored(1, dtype), dtype, like=x) if axes else cast(x, dtype)
    y, rows = empty(shape, dtype), as_three(x, axes)
    launched(rows, y, rows, 0)
    return y


@compiled_kernel
def prod_dx(dy, x, *, axes, to):
    dtype = to[0] or (x.dtype if x.ndim else F32)
    if not x.size or not FLOATS.issuperset((dy.dtype, x.dtype, dtype)):
        return None
    if count_of(x.shape, axes) == 1:
        return cast(dy.reshape(x.shape), dtype)
    rows = as_three(x, axes)
    dx = empty(rows.shape, dtype)
    launched(rows, contiguous(dy), dx, 1)
    return as_before(dx, x.shape, axes)


def products(x, axis, dtype, gradient):
    """(running products, those with 1 for the first 0, zeros so far) along an axis.

    The last two only for a gradient. None for what there is no kernel for.
    """
    if not x.ndim or not FLOATS.issuperset((x.dtype, dtype)):
        return None
    x, y = contiguous(x), empty(x.shape, dtype)
    more = [empty(x.shape, F32) for _ in range(2 * gradient)]
    if y.size:
        rows = rows_along(x.shape, axis)
        group = 32 if rows.step == 1 and rows.n > 1 else 1
        sizes = rows.rows, rows.n, rows.step, group, gradient
        TEXT(X=x.dtype, D=dtype, Y=dtype).launch(
            "cumprod", blocks_for(rows.rows * group), THREADS, x, y, *(more or (0, 0)), *sizes
        )
    return y, *more


@compiled_kernel
def cumprod_forward(x, *, axis, to):
    found = products(x, axis, to[0] or (x.dtype if x.ndim else F32), 0)
    return found and found[0]


PRODUCT = Formulas(operator.mul)


@Formulas
def from_first(dy, without, zeros):
    return np.where(zeros > 0, dy * without, 0)


@Formulas
def slope(x, before, at_first, zeros):
    is_first = (x == 0) & (zeros == 1)
    return np.where(is_first, at_first, np.where(zeros == 0, before / x, 0))


@compiled_kernel
def cumprod_dx(dy, x, *, axis, to):
    found = products(x, axis, F32, 1)
    if found is None or dy.dtype not in FLOATS:
        return None
    y, without, zeros = found
    before = summed(run(PRODUCT, (dy, y), F32), axis, F32, 1)
    at_first = summed(run(from_first, (dy, without, zeros), F32), axis, F32, 1)
    return run(slope, (x, before, at_first, zeros), to[0] or x.dtype)
