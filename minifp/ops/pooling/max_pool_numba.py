"""Compiled kernels of max_pool.py: a picture at a time.

A number wins unless it is <= the largest so far, or that is NaN: so the first of equal ones stays,
and the first NaN. The first place of a window that is no padding is the largest from the start.
"""

import numpy as np
from llvmlite import ir

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.pooling.pool_windows_numba import (
    CHUNK,
    LANES,
    NUMBERS,
    borders,
    both,
    pictures,
    places,
    room,
    side_by_side,
    widen_picture,
)
from minifp.runtime.cpu.compile.machine import I32
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import parallel, spans, view

LOWEST, ZERO = np.float32(-np.inf), np.float32(0)
NANOSECONDS = 0.3  # a place of a window

# ---- the largest, of windows side by side -------------------------------------------------------


def winner(builder, v, k, largest, chosen):
    """The larger of v and the largest so far, and which place that is."""
    wins = builder.fcmp_unordered(">", v, largest)
    wins = builder.and_(wins, builder.fcmp_ordered("ord", largest, largest))
    k = builder.insert_element(ir.Constant(NUMBERS, ir.Undefined), builder.trunc(k, I32), I32(0))
    k = builder.shuffle_vector(k, k, ir.Constant(NUMBERS, [0] * LANES))
    return builder.select(wins, v, largest), builder.select(wins, k, chosen)


compete = places(winner, NUMBERS)


@parallel
def window_maxima_side_by_side(
    chunk, scratch, each, A, H, W, width, size, gap_h, across, rows, columns, x, y, chosen
):
    """across: (size, stride, padding, dilation). rows, columns: the borders of windows. width,
    size: of a picture in the workspace."""
    KW, step, pad, gap = across
    P, Q = rows.shape[1], columns.shape[1]
    count = (Q + LANES - 1) // LANES * LANES
    largest, best = scratch[size:], scratch[size + P * Q + LANES :].view(np.int32)
    scratch[:size] = LOWEST
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        widen_picture(x, a * H * W, H, W, pad, width, scratch)
        for p in range(P):
            to, low = p * Q, rows[1, p]
            for q in range(to, to + count):
                largest[q] = LOWEST
            for q in range(count):
                best[to + q] = low * KW
            if pad:
                for q in range(Q):
                    best[to + q] = low * KW + columns[1, q]
            for i in range(low, rows[2, p]):
                at, k = (rows[0, p] + i * gap_h) * width, i * KW
                compete(scratch, at, step, gap, KW, k, to, count, largest, best)
        for i in range(P * Q):
            store(y, a * P * Q + i, largest[i])
        for i in range(P * Q):
            chosen[a * P * Q + i] = best[i]


# ---- the largest, of any windows ----------------------------------------------------------------


@parallel
def window_maxima_one_by_one(
    chunk, scratch, each, A, H, W, KW, gap_h, gap, rows, columns, x, y, chosen
):
    P, Q = rows.shape[1], columns.shape[1]
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        for p in range(P):
            for q in range(Q):
                low, high = columns[1, q], columns[2, q]
                largest, best = LOWEST, rows[1, p] * KW + low
                for i in range(rows[1, p], rows[2, p]):
                    at = (a * H + rows[0, p] + i * gap_h) * W + columns[0, q]
                    for j in range(low, high):
                        v = load(x, at + j * gap)
                        if not v <= largest and largest == largest:
                            largest, best = v, i * KW + j
                store(y, (a * P + p) * Q + q, largest)
                chosen[(a * P + p) * Q + q] = best


@compiled_kernel
def max_pool_forward(x, *, axes, to):
    down, across = both(axes)
    H, W, P, Q = down.n, across.n, down.count, across.count
    counts = tuple(a.count for a in axes)
    y = np.empty((*x.shape[: x.ndim - len(axes)], *counts), to[0])
    size = down.size * across.size
    chosen = np.empty(y.shape, np.uint8 if size <= 256 else np.int32)
    if not y.size:
        return y, chosen
    flat, A = pictures(x, axes)
    chunks, each = spans(A, max(1, CHUNK // (H * W)))
    results = view(y).reshape(-1), chosen.reshape(-1)
    rows, columns = borders(down), borders(across)
    cost = y.size * size * NANOSECONDS
    if not side_by_side(axes):
        given = across.size, down.dilation, across.dilation, rows, columns
        window_maxima_one_by_one(chunks, each, A, H, W, *given, flat, *results, cost=cost)
        return y, chosen
    width, size = room(down, across)
    across = across.size, across.stride, across.padding, across.dilation
    sizes = A, H, W, width, size, down.dilation, across, rows, columns
    workspace = size + 2 * (P * Q + LANES)
    window_maxima_side_by_side(chunks, each, *sizes, flat, *results, cost=cost, workspace=workspace)
    return y, chosen


# ---- its gradient -------------------------------------------------------------------------------


@parallel
def window_maxima_dx(chunk, scratch, each, A, n, rows, columns, inside, dy, chosen, dx):
    """Gradients to the places that were chosen, each by at most one window; 0 elsewhere."""
    P, Q = len(rows), len(columns)
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        for i in range(a * n, (a + 1) * n):
            store(dx, i, ZERO)
        for p in range(P):
            for q in range(Q):
                i = (a * P + p) * Q + q
                at = a * n + rows[p] + columns[q] + inside[chosen[i]]
                store(dx, at, load(dy, i))


@parallel
def overlapping_window_maxima_dx(chunk, scratch, each, A, n, rows, columns, inside, dy, chosen, dx):
    """The same, where several windows may have chosen a place."""
    P, Q = len(rows), len(columns)
    total = scratch[: 2 * n].view(np.float64)
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        total[:] = 0
        for p in range(P):
            for q in range(Q):
                i = (a * P + p) * Q + q
                total[rows[p] + columns[q] + inside[chosen[i]]] += load(dy, i)
        for i in range(n):
            store(dx, a * n + i, total[i])


@compiled_kernel
def max_pool_dx(dy, chosen, *, axes, to):
    lead = dy.shape[: dy.ndim - len(axes)]
    dx = np.empty((*lead, *(a.n for a in axes)), to[0] or dy.dtype)
    if not dx.size:
        return dx
    down, across = both(axes)
    flat, A = pictures(dy, axes)
    n = down.n * across.n
    chunks, each = spans(A, max(1, CHUNK // n))
    i, j = np.divmod(np.arange(down.size * across.size), across.size)
    inside = i * (down.dilation * across.n) + j * across.dilation
    overlap = max(a.layers() for a in axes) > 1
    corners = n, down.first() * across.n, across.first(), inside
    arrays = flat, np.ascontiguousarray(chosen).reshape(-1), view(dx).reshape(-1)
    cost = dx.size * NANOSECONDS + dy.size
    (overlapping_window_maxima_dx if overlap else window_maxima_dx)(
        chunks, each, A, *corners, *arrays, cost=cost, workspace=2 * n
    )
    return dx
