"""Kernels of min_max.py for a GPU. Long rows are cut; the extremes of their parts are a row."""

import numpy as np

from minifp.derive.trace import Formulas
from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.ops.reductions.norm_cuda import format_of
from minifp.ops.shaping.gather_scatter_cuda import gathered
from minifp.ops.shaping.indexing_cuda import put_places
from minifp.runtime.cuda.arrays import empty, zeros
from minifp.runtime.cuda.pointwise import FLOATS, cast, run, summed
from minifp.runtime.cuda.rows import as_three, rows_along
from minifp.runtime.cuda.source import MOST_BLOCKS, Text
from minifp.runtime.shapes import reduced_shape

TEXT = Text(__name__, "min_max.cu")
LENGTH = 2**15  # elements of a row that a block looks at


def largest(x, sign):
    """The largest sign x of x (A, n, D) along the middle axis, times sign: (A, D)."""
    while True:
        rows = rows_along(x.shape, 1)
        parts = -(-rows.n // LENGTH)
        y = empty((x.shape[0], parts, x.shape[2]), x.dtype)
        settings = *rows.sizes, parts, LENGTH, sign
        TEXT(X=x.dtype, PACKED=rows.packed(x)).launch(
            "largest", min(MOST_BLOCKS, rows.blocks * parts), rows.threads, x, y, *settings
        )
        if parts == 1:
            return y
        x = y


def extreme(x, axes, keepdims, dtype, sign):
    """The extremes over axes; None for what there is no kernel for."""
    dtype = format_of(x, axes, keepdims, dtype)
    if not x.size or not axes or not FLOATS.issuperset((x.dtype, dtype)):
        return None
    y = largest(as_three(x, axes), sign).reshape(reduced_shape(x.shape, axes, keepdims))
    return y if dtype == y.dtype else cast(y, dtype)


@compiled_kernel
def amax_forward(x, *, axes, keepdims, to):
    return extreme(x, axes, keepdims, to[0], 1.0)


@compiled_kernel
def amin_forward(x, *, axes, keepdims, to):
    return extreme(x, axes, keepdims, to[0], -1.0)


def is_chosen(x, y, nan_is_found):
    return (x == y) | (np.isnan(x) & np.isnan(y)) if nan_is_found else x == y


@Formulas
def chosen(x, y, *, nan_is_found):
    return is_chosen(x, y, nan_is_found)


@Formulas
def share(dy, x, y, count, *, nan_is_found):
    found = is_chosen(x, y, nan_is_found)
    return np.where(found | (count == 0), dy * (found / count), 0)


@compiled_kernel
def share_dx(dy, x, y, *, axes, nan_is_found, to):
    shape = reduced_shape(x.shape, axes, True)
    y = y.reshape(shape)
    count = summed(chosen, (x, y), axes, float32, nan_is_found=nan_is_found)
    if count is None:
        return None
    args = dy.reshape(shape), x, y, count.reshape(shape)
    return run(share, args, to[0], nan_is_found=nan_is_found)


# ---- along one axis, with the place -------------------------------------------------------------


@compiled_kernel
def select_forward(x, indices, *, axis, keepdims, to):
    y = gathered(x, indices, axis)
    if y is None:
        return None
    y = y if keepdims else y.squeeze(axis)
    dtype = to[0] or (y.dtype if y.ndim else float32)
    return y if y.dtype == dtype else cast(y, dtype)


@compiled_kernel
def select_dx(dy, indices, *, shape, axis, to):
    if not FLOATS.issuperset((dy.dtype, to[0])):
        return None
    return put_places(zeros(shape, to[0]), indices, axis, dy)
