"""Compiled kernels of indexing.py, and the sum of what has the same place, which others need
too."""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import downcast
from minifp.ops.shaping import indexing_cuda
from minifp.runtime.cpu.compile.decorators import compiled
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import parallel, spans, view
from minifp.runtime.cuda.arrays import is_on_device

CHUNK = 8192  # numbers that are worth a chunk
WIDTH = 256  # columns of one
ROWS = 16  # rows that are added up in float32 before their sum goes into float64
LINE = 2**16  # places that are held in the workspace
NANOSECONDS = 0.5
ZERO = np.float32(0)


@compiled
def sort_by_place(places, skipped, ends, order):
    """Write where in `order` the entries of each place end; there are their numbers, ascending.

    Those of the place `skipped` are left out. ends: zeros.
    """
    for k in range(len(places)):
        if places[k] != skipped:
            ends[places[k]] += 1
    start = 0
    for v in range(len(ends)):
        count, ends[v] = ends[v], start
        start += count
    for k in range(len(places)):
        v = places[k]
        if v != skipped:
            order[ends[v]] = k
            ends[v] += 1


@parallel
def sum_wide(chunk, scratch, per, A, K, n, D, width, ends, order, factor, y, base, out):
    """out[a, v, d] = base[a, v, d] + factor times the sum of y[a, k, d] over all k of place v."""
    parts, down = (D + width - 1) // width, (n + per - 1) // per
    a, v0, d0 = chunk // (parts * down), chunk // parts % down * per, chunk % parts * width
    w = min(width, D - d0)
    total, part = scratch[: 2 * w].view(np.float64), scratch[2 * w : 3 * w]
    factor = np.float32(factor)
    for v in range(v0, min(v0 + per, n)):
        first, last = ends[v - 1] if v else 0, ends[v]
        to = (a * n + v) * D + d0
        if last == first:
            if base.size:
                for d in range(w):
                    store(out, to + d, load(base, to + d))
            else:
                for d in range(w):
                    store(out, to + d, ZERO)
        elif last == first + 1:
            at = (a * K + order[first]) * D + d0
            if base.size:
                for d in range(w):
                    store(out, to + d, factor * load(y, at + d) + load(base, to + d))
            else:
                for d in range(w):
                    store(out, to + d, factor * load(y, at + d))
        else:
            if base.size:
                for d in range(w):
                    total[d] = load(base, to + d)
            else:
                total[:] = 0
            for i in range(first, last, ROWS):
                part[:] = 0
                for k in range(i, min(i + ROWS, last)):
                    at = (a * K + order[k]) * D + d0
                    for d in range(w):
                        part[d] += factor * load(y, at + d)
                for d in range(w):
                    total[d] += part[d]
            for d in range(w):
                store(out, to + d, total[d])


@parallel
def sum_in_lines(chunk, scratch, A, K, n, D, width, index, ia, ik, i_d, factor, y, base, out):
    """The same where each a and d may have places of its own, index[a ia + k ik + d i_d]: what is
    summed lies in the workspace, all places of `width` d at once."""
    parts = (D + width - 1) // width
    a, d0 = chunk // parts, chunk % parts * width
    w = min(width, D - d0)
    total, factor = scratch[: 2 * n * w].view(np.float64), np.float32(factor)
    if base.size:
        for v in range(n):
            for d in range(w):
                total[v * w + d] = load(base, (a * n + v) * D + d0 + d)
    else:
        total[:] = 0
    if D == 1:
        for k in range(K):
            total[index[a * ia + k * ik]] += factor * load(y, a * K + k)
        for v in range(n):
            store(out, a * n + v, total[v])
        return
    for k in range(K):
        at, where = (a * K + k) * D + d0, a * ia + k * ik + d0 * i_d
        for d in range(w):
            total[index[where + d * i_d] * w + d] += factor * load(y, at + d)
    for v in range(n):
        for d in range(w):
            store(out, (a * n + v) * D + d0 + d, total[v * w + d])


def add_places(y, places, n, dtype, base=None, factor=1.0, skipped=-1):
    """base (A, n, D) + factor times, at each place, the sum of the y (A, K, D) that have it.

    places: (K) integers from 0 to n - 1; entries of the place `skipped` do not count. Of each
    place the sum is taken in the order of k, and rounded once. On a GPU None for what there is no
    kernel for.
    """
    if is_on_device(y):
        return indexing_cuda.add_places(y, places, n, dtype, base, factor, skipped)
    A, K, D = y.shape
    if D == 1 and skipped < 0 and n <= LINE:
        return add_lines(y, np.asarray(places).reshape(1, K, 1), n, dtype, base, factor)
    out = np.empty((A, n, D), dtype)
    if not out.size:
        return out
    ends, order = np.zeros(n, np.int64), np.empty(K, np.int64)
    sort_by_place(np.ascontiguousarray(places, np.int64), skipped, ends, order)
    base = np.empty(0, y.dtype) if base is None else base
    flat = [view(np.ascontiguousarray(x)).reshape(-1) for x in (y, base, out)]
    down, per = spans(n, max(1, CHUNK * n // ((n + K) * D)))
    width = min(D, WIDTH)
    chunks, cost = A * down * -(-D // width), A * (n + K) * D * NANOSECONDS
    given = per, A, K, n, D, width, ends, order, factor, *flat
    sum_wide(chunks, *given, cost=cost, workspace=3 * width)
    return out


def add_lines(y, index, n, dtype, base=None, factor=1.0):
    """The same for places (A or 1, K, D or 1); n is at most LINE."""
    A, K, D = y.shape
    out, index = np.empty((A, n, D), dtype), np.ascontiguousarray(index, np.int64)
    if not out.size:
        return out
    base = np.empty(0, y.dtype) if base is None else base
    flat = [view(np.ascontiguousarray(x)).reshape(-1) for x in (y, base, out)]
    strides = [0 if i == 1 else s // index.itemsize for i, s in zip(index.shape, index.strides)]
    width = min(D, max(1, LINE // n))
    sizes = A * -(-D // width), A, K, n, D, width
    cost = A * (n + 4 * K) * D * NANOSECONDS
    sum_in_lines(
        *sizes, index.reshape(-1), *strides, factor, *flat, cost=cost, workspace=2 * n * width
    )
    return out


def scatter(dy, arrays, shape, dtype):
    """The sum of dy at each place of a shape: what x[arrays] read there."""
    axes = [i for i, a in enumerate(arrays) if isinstance(a, np.ndarray)]
    found = np.broadcast_arrays(*(arrays[i] for i in axes))
    sizes, rest = [shape[i] for i in axes], [n for i, n in enumerate(shape) if i not in axes]
    first, read = axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0, found[0].ndim
    dy = np.moveaxis(dy, range(first, first + read), range(read))
    places = np.zeros(found[0].shape, np.int64)
    for n, place in zip(sizes, found):
        places = places * n + place
    dy = dy.reshape(1, places.size, math.prod(rest))
    dx = add_places(dy, places.reshape(-1), math.prod(sizes), dtype)
    return np.moveaxis(dx.reshape(sizes + rest), range(len(axes)), axes)


@compiled_kernel
def getitem_dx(dy, *, shape, basic, arrays, to):
    dtype = to[0] or (dy.dtype if shape else np.dtype("float32"))
    dx = np.zeros(shape, dtype)
    place = dx[basic]
    if arrays is None:
        place[...] = downcast(dy, dtype)
    else:
        place[...] = scatter(dy, arrays, place.shape, dtype)
    return dx
