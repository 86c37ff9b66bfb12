"""The twins of indexing.py, and the sum of what has the same place, which others need too."""

import math

import numpy as np

from minifp.cpu import twin
from minifp.cpu.compile import compiled
from minifp.cpu.half import load, store, view
from minifp.cpu.pool import chunked, spans
from minifp.formats import narrow

CHUNK = 8192  # numbers that are worth a chunk
WIDTH = 256  # columns of one
ROWS = 16  # rows that are added up in float32 before their sum goes into float64
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


@chunked
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


@chunked
def sum_narrow(chunk, scratch, per, A, K, n, ends, order, factor, y, base, out):
    """The same for D = 1."""
    down = (n + per - 1) // per
    a, v0 = chunk // down, chunk % down * per
    factor = np.float32(factor)
    for v in range(v0, min(v0 + per, n)):
        total = np.float64(load(base, a * n + v)) if base.size else 0.0
        for k in range(ends[v - 1] if v else 0, ends[v]):
            total += factor * load(y, a * K + order[k])
        store(out, a * n + v, total)


def add_places(y, places, n, dtype, base=None, factor=1.0, skipped=-1):
    """base (A, n, D) + factor times, at each place, the sum of the y (A, K, D) that have it.

    places: (K) integers from 0 to n - 1; entries of the place `skipped` do not count. Of each
    place the sum is taken in the order of k, and rounded once.
    """
    A, K, D = y.shape
    out = np.empty((A, n, D), dtype)
    if not out.size:
        return out
    ends, order = np.zeros(n, np.int64), np.empty(K, np.int64)
    sort_by_place(np.ascontiguousarray(places, np.int64), skipped, ends, order)
    base = np.empty(0, y.dtype) if base is None else base
    flat = [view(np.ascontiguousarray(x)).reshape(-1) for x in (y, base, out)]
    down, per = spans(n, max(1, CHUNK * n // ((n + K) * D)))
    cost = A * (n + K) * D * NANOSECONDS
    if D == 1:
        sum_narrow(A * down, per, A, K, n, ends, order, factor, *flat, cost=4 * cost)
    else:
        width = min(D, WIDTH)
        chunks = A * down * -(-D // width)
        given = per, A, K, n, D, width, ends, order, factor, *flat
        sum_wide(chunks, *given, cost=cost, workspace=3 * width)
    return out


def as_one(x, axis):
    """x with one axis before and one behind this one."""
    before, behind = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    return x.reshape(before, x.shape[axis], behind)


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


@twin
def getitem_dx(dy, *, shape, basic, arrays, to):
    dtype = to[0] or (dy.dtype if shape else np.dtype("float32"))
    dx = np.zeros(shape, dtype)
    place = dx[basic]
    if arrays is None:
        place[...] = narrow(dy, dtype)
    else:
        place[...] = scatter(dy, arrays, place.shape, dtype)
    return dx
