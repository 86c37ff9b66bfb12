"""Compiled kernels of gather_scatter.py."""

import math

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.shaping.gather_scatter import places_of
from minifp.ops.shaping.indexing_numba import LINE, add_lines, add_places
from minifp.runtime.shapes import as_one


def added(src, index, axis, shape, dtype, base=None):
    """base + the numbers of src at the places that index names along an axis of a shape."""
    n = shape[axis]
    if index.shape == (*shape[:axis], index.shape[axis], *shape[axis + 1 :]) and n <= LINE:
        base = None if base is None else as_one(base, axis)
        y = add_lines(as_one(src, axis), as_one(index, axis), n, dtype, base)
    else:
        base = None if base is None else base.reshape(1, -1, 1)
        places = places_of(index, axis, shape)
        y = add_places(src.reshape(1, -1, 1), places, math.prod(shape), dtype, base)
    return y.reshape(shape)


@compiled_kernel
def gather_dx(dy, index, *, axis, shape, to):
    return added(dy, index, axis, shape, to[0] or dy.dtype)


@compiled_kernel
def scatter_add_forward(x, src, index, *, axis, to):
    src = src[tuple(slice(n) for n in index.shape)]
    return added(src, index, axis, x.shape, to[0] or x.dtype, x)
