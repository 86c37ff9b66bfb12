"""Compiled kernels of slices.py for any device: see indexing_numba.py."""

from minifp.numerics.compiled import any_device
from minifp.ops.shaping.indexing_numba import add_places
from minifp.runtime.shapes import as_one


@any_device
def index_select_dx(dy, index, *, axis, n, to):
    dx = add_places(as_one(dy, axis), index, n, to[0] or dy.dtype)
    return None if dx is None else dx.reshape(*dy.shape[:axis], n, *dy.shape[axis + 1 :])


@any_device
def index_add_forward(x, src, index, *, axis, alpha, to):
    dtype = to[0] or x.dtype
    y = add_places(as_one(src, axis), index, x.shape[axis], dtype, as_one(x, axis), alpha)
    return None if y is None else y.reshape(x.shape)
