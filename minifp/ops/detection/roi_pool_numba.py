"""Compiled kernels of roi_pool.py: some channels of a picture at a time, beside each other.

They lie in the workspace channel by channel in each place, so that windows of all of them lie side
by side, as max_pool_numba.py takes them.
"""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.detection.roi_align_numba import by_picture
from minifp.ops.pooling.max_pool_numba import LOWEST, compete
from minifp.ops.pooling.pool_windows_numba import LANES
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import parallel, view

PLACES = 2**14  # of which gradients are added up at once
NANOSECONDS = 0.5  # a number that is read or written


@parallel
def largest_in_regions(chunk, scratch, width, C, H, W, order, ends, rows, columns, x, y, chosen):
    """order: boxes, picture by picture; ends: where those of each end; width: of channels that are
    worked on at once, or of the room for them."""
    parts = (C + width - 1) // width
    n, c0 = chunk // parts, chunk % parts * width
    first, last, P, Q = ends[n - 1] if n else 0, ends[n], rows.shape[1], columns.shape[1]
    if first == last:
        return
    wide, size = min(width, C - c0), P * Q * width
    plane, scratch = scratch[: H * W * width], scratch[H * W * width :]
    largest, places = scratch[:size], scratch[size : 2 * size].view(np.int32)
    for c in range(wide):
        at = (n * C + c0 + c) * H * W
        for i in range(H * W):
            plane[i * width + c] = load(x, at + i)
    for at in range(first, last):
        k = order[at]
        for p in range(P):
            for q in range(Q):
                top, bottom = rows[k, p, 0], rows[k, p, 1]
                left, right = columns[k, q, 0], columns[k, q, 1]
                to, begin, place = (p * Q + q) * width, LOWEST, top * W + left
                if top < 0 or left < 0 or top >= bottom or left >= right:
                    begin = np.float32(np.nan if top < 0 or left < 0 else 0)
                    place, bottom = -1, top
                for c in range(width):
                    largest[to + c] = begin
                    places[to + c] = place
                for h in range(top, bottom):
                    i = h * W + left
                    compete(plane, i * width, 1, width, right - left, i, to, width, largest, places)
        to = (k * C + c0) * P * Q
        for c in range(wide):
            for i in range(P * Q):
                store(y, to + c * P * Q + i, largest[i * width + c])
                chosen[to + c * P * Q + i] = places[i * width + c]


@compiled_kernel
def roi_pool_forward(x, rows, columns, pictures, *, to):
    (N, C, H, W), (K, P, _), Q = x.shape, rows.shape, columns.shape[1]
    y = np.empty((K, C, P, Q), to[0] or x.dtype)
    chosen = np.empty(y.shape, np.int32)
    if y.size:
        width = LANES if C <= LANES else 2 * LANES
        bins = np.ascontiguousarray(rows), np.ascontiguousarray(columns)
        flat = view(np.ascontiguousarray(x)).reshape(-1), view(y).reshape(-1), chosen.reshape(-1)
        sizes = N * -(-C // width), width, C, H, W
        regions = *by_picture(pictures, N), *bins
        cost = (x.size + 9 * y.size) * NANOSECONDS
        workspace = (H * W + 2 * P * Q) * width
        largest_in_regions(*sizes, *regions, *flat, cost=cost, workspace=workspace)
    return y, chosen


@parallel
def largest_in_regions_dx(chunk, scratch, width, C, n, size, order, ends, dy, chosen, dx):
    """`width` channels of a picture. n: its places; size: the bins of a box."""
    parts = (C + width - 1) // width
    picture, c0 = chunk // parts, chunk % parts * width
    wide = min(width, C - c0)
    total = scratch[: 2 * wide * n].view(np.float64)
    wider = scratch[2 * wide * n : 2 * wide * n + size]
    total[:] = 0
    for at in range(ends[picture - 1] if picture else 0, ends[picture]):
        for c in range(wide):
            start, plane = (order[at] * C + c0 + c) * size, total[c * n : c * n + n]
            for i in range(size):
                wider[i] = load(dy, start + i)
            for i in range(size):
                if chosen[start + i] >= 0:
                    plane[chosen[start + i]] += wider[i]
    for i in range(wide * n):
        store(dx, (picture * C + c0) * n + i, total[i])


@compiled_kernel
def roi_pool_dx(dy, chosen, pictures, *, shape, to):
    (N, C, H, W), (P, Q) = shape, dy.shape[2:]
    dx = np.empty(shape, to[0] or dy.dtype)
    if dx.size:
        width = max(1, min(C, PLACES // (H * W)))
        sizes = N * -(-C // width), width, C, H * W, P * Q, *by_picture(pictures, N)
        arrays = (
            *(view(np.ascontiguousarray(a)).reshape(-1) for a in (dy, chosen)),
            view(dx).reshape(-1),
        )
        cost = (dx.size + 4 * dy.size) * NANOSECONDS
        workspace = 2 * width * H * W + P * Q
        largest_in_regions_dx(*sizes, *arrays, cost=cost, workspace=workspace)
    return dx
