"""Kernels of indexing.py for a GPU, and the sum of what has the same place.

The entries are sorted by their places: runs in shared memory, then runs are merged, each entry by
itself finding where it goes. Of each place a thread then adds up the entries in their order; where
there are many, a block does. Nothing depends on which thread comes first.
"""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.runtime.cuda.arrays import empty, is_aligned, is_on_device, to_device, zeros
from minifp.runtime.cuda.pointwise import FLOATS, in_format
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import THREADS, Text, blocks_for
from minifp.runtime.shapes import as_one

TEXT = Text(__name__, "indexing.cu")
RUN = 2048  # entries that a block sorts
LONG = 64  # entries of a place that one thread adds up
ALONG = 8  # threads that share more
PACK = 8  # numbers of a row that a thread takes, where rows are made of these
MOST = 2**31  # places, and entries
INT64 = np.dtype("int64")
INTEGERS = {np.dtype("int32"), INT64}


def module_for(index, width, x, base, y):
    """The kernels for these arrays, in rows of `width` numbers, and how many a thread takes."""
    aligned = width % PACK == 0 and all(map(is_aligned, (x, base, y)))
    pack, types = PACK if aligned else 1, {"X": x.dtype, "B": base.dtype, "Y": y.dtype}
    return TEXT(**types, I=index.dtype, PACK=pack, RUN=RUN, LONG=LONG, ALONG=ALONG), pack


def as_places(index):
    """Places as kernels take them: of 32 or 64 bits, in C order."""
    return contiguous(index if index.dtype in INTEGERS else in_format(index, INT64))


def add_places(y, places, n, dtype, base=None, factor=1.0, skipped=-1):
    """base (A, n, D) + factor times, at each place, the sum of the y (A, K, D) that have it.

    places: (K) integers; entries of the place `skipped`, and of none that is there, do not count.
    Of each place the sum is rounded once. None for what there is no kernel for.
    """
    given = (y,) if base is None else (y, base)
    A, K, D = y.shape
    if max(n, K) >= MOST or not FLOATS.issuperset((dtype, *(x.dtype for x in given))):
        return None
    out = empty((A, n, D), dtype)
    if not out.size:
        return out
    places, given = as_places(places.reshape(-1)), [contiguous(x) for x in given]
    module, pack = module_for(places, D, given[0], given[-1], out)
    keys, starts = empty((K,), "int64"), empty((n + 1,), "int64")
    if K:
        module.launch("sort_runs", -(-K // RUN), 1024, places, keys, K, n, skipped)
    width = RUN
    while width < K:
        merged = empty((K,), "int64")
        module.launch("merge_runs", blocks_for(K), THREADS, keys, merged, K, width)
        keys, width = merged, 2 * width
    module.launch("find_starts", blocks_for(n + 1), THREADS, keys, starts, K, n)
    rest = (given[0], keys, starts, given[-1], out, A, K, n, D, float(factor), len(given) - 1)
    module.launch("add_short", blocks_for(out.size // pack), THREADS, *rest)
    if K > LONG:
        tiles = -(-(D // pack) // 32)
        module.launch("add_long", A * tiles * -(-K // LONG), 32 * ALONG, *rest)
    return out


def read_places(x, places):
    """x[:, places] of x (A, n, D), places of any shape: NaN where there is no such place.

    None for what there is no kernel for.
    """
    (A, n, D), shape = x.shape, places.shape
    if x.dtype not in FLOATS:
        return None
    x, places, out = contiguous(x), as_places(places), empty((A, *shape, D), x.dtype)
    if out.size:
        module, pack = module_for(places, D, x, x, out)
        blocks = blocks_for(out.size // pack)
        module.launch("read_places", blocks, THREADS, x, places, out, A, places.size, n, D)
    return out


def flat_places(x, index, axis):
    """The places in x, which has index's shape but along an axis, that index names there."""
    index = as_one(as_places(index), axis)
    places = empty(index.shape, "int64")
    if places.size:
        module, blocks = module_for(index, 1, x, x, x)[0], blocks_for(places.size)
        sizes = *index.shape, x.shape[axis]
        module.launch("flat_places", blocks, THREADS, index, places, *sizes)
    return places


# ---- several arrays of places -------------------------------------------------------------------


def joined(arrays, shape):
    """(axes, places, first): of an index the axes with arrays, the places among these axes in C
    order, and where the axes of the arrays come in what is read."""
    axes = [i for i, a in enumerate(arrays) if not isinstance(a, slice)]
    found = [a if is_on_device(a) else to_device(a) for a in (arrays[i] for i in axes)]
    found = [in_format(a, INT64) for a in found]
    places = found[0]
    if len(axes) > 1:
        places = 0
        for i, place in zip(axes, found):
            there = (place >= 0) & (place < shape[i])
            places = places * shape[i] + np.where(there, place, -MOST)
    return axes, places, axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0


def read(x, arrays):
    """x[arrays], of arrays and whole slices: see `two_steps`. NaN where there is no such place."""
    axes, places, first = joined(arrays, x.shape)
    x = np.moveaxis(x, axes, range(first, first + len(axes)))
    y = read_places(as_one(x, first, len(axes)), places)
    shape = (*x.shape[:first], *places.shape, *x.shape[first + len(axes) :])
    return None if y is None else y.reshape(shape)


def scatter(dy, arrays, shape, dtype):
    """The sum of dy at each place of a shape: what x[arrays] read there."""
    axes, places, first = joined(arrays, shape)
    sizes, rest = [shape[i] for i in axes], [n for i, n in enumerate(shape) if i not in axes]
    dx = add_places(as_one(dy, first, places.ndim), places, math.prod(sizes), dtype)
    if dx is None:
        return None
    dx = dx.reshape(rest[:first] + sizes + rest[first:])
    return np.moveaxis(dx, range(first, first + len(axes)), axes)


@compiled_kernel
def getitem_dx(dy, *, shape, basic, arrays, to):
    dtype = to[0] or (dy.dtype if shape else float32)
    dx = zeros(shape, dtype)
    place = dx[basic]
    read = in_format(dy, dtype) if arrays is None else scatter(dy, arrays, place.shape, dtype)
    if read is None:
        return None
    place[...] = read
    return dx
