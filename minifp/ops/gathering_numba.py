"""The twins of gathering.py."""

import math

from minifp.cpu import twin
from minifp.ops.gathering import places_of
from minifp.ops.indexing_numba import add_places


@twin
def gather_dx(dy, index, *, axis, shape, to):
    places, n = places_of(index, axis, shape), math.prod(shape)
    return add_places(dy.reshape(1, -1, 1), places, n, to[0] or dy.dtype).reshape(shape)


@twin
def scatter_add_forward(x, src, index, *, axis, to):
    src = src[tuple(slice(n) for n in index.shape)]
    places, base = places_of(index, axis, x.shape), x.reshape(1, -1, 1)
    y = add_places(src.reshape(1, -1, 1), places, x.size, to[0] or x.dtype, base)
    return y.reshape(x.shape)
