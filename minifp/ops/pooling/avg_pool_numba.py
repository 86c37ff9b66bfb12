"""Compiled kernels of avg_pool.py: a picture at a time."""

from functools import cache
from math import prod

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.pooling.avg_pool import divisor
from minifp.ops.pooling.pool_windows_numba import (
    CHUNK,
    FLOATS,
    LANES,
    borders,
    both,
    pictures,
    places,
    room,
    side_by_side,
    widen_picture,
)
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import parallel, spans, view
from minifp.runtime.cpu.kernels.sums import sum_over

NOTHING, ONE = np.float32(0), np.float32(1)
SINGLE = np.dtype("float32")
NANOSECONDS = 0.3  # a place of a window
FEW = 49  # places of a window, up to which they are added up in float32, one after the other

# ---- the mean -----------------------------------------------------------------------------------


def added(builder, v, k, total, same):
    """The sum so far and v."""
    return (builder.fadd(total, v),)


add_row = places(added, FLOATS)


@parallel
def window_means_side_by_side(
    chunk, scratch, each, A, H, W, width, size, across, rows, columns, by_row, by_column, x, y
):
    """across: (size, stride, padding). rows, columns: the borders of windows. width, size: of a
    picture in the workspace."""
    KW, step, pad = across
    P, Q = rows.shape[1], columns.shape[1]
    count = (Q + LANES - 1) // LANES * LANES
    total = scratch[size:]
    scratch[:size] = NOTHING
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        widen_picture(x, a * H * W, H, W, pad, width, scratch)
        for p in range(P):
            to = p * Q
            for q in range(to, to + count):
                total[q] = NOTHING
            for i in range(rows[1, p], rows[2, p]):
                add_row(scratch, (rows[0, p] + i) * width, step, 1, KW, 0, to, count, total, total)
            for q in range(Q):
                mean = load(total, to + q) / (by_row[p] * by_column[q])
                store(total, to + q, mean)
        for i in range(P * Q):
            store(y, a * P * Q + i, total[i])


@parallel(sums=True)
def window_means_one_by_one(chunk, scratch, each, A, H, W, rows, columns, by_row, by_column, x, y):
    """Any windows: first down the columns of a row of them, and of that along each window."""
    P, Q = rows.shape[1], columns.shape[1]
    down = scratch[: 2 * W].view(np.float64)
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        for p in range(P):
            down[:] = 0
            for i in range(rows[1, p], rows[2, p]):
                at = (a * H + rows[0, p] + i) * W
                for w in range(W):
                    down[w] += load(x, at + w)
            for q in range(Q):
                total = 0.0
                for w in range(columns[0, q] + columns[1, q], columns[0, q] + columns[2, q]):
                    total += down[w]
                store(y, (a * P + p) * Q + q, np.float32(total) / (by_row[p] * by_column[q]))


@cache
def divisors(axes, include_pad, override):
    """What the sum of each window is divided by, as two factors: of its row and its column."""
    by = [divisor([a], include_pad, None, SINGLE) for a in both(axes)]
    if override is not None:
        by = [np.full(v.shape, factor, SINGLE) for v, factor in zip(by, (override, ONE))]
    return by


def whole(axes):
    """Whether there is one window, of the whole picture."""
    return all(a.count == 1 and a.padding == 0 and a.size == a.n for a in axes)


@compiled_kernel
def avg_pool_forward(x, *, axes, include_pad, override, to):
    down, across = both(axes)
    dtype = to[0] or x.dtype
    lead, counts = x.shape[: x.ndim - len(axes)], [a.count for a in axes]
    by_row, by_column = divisors(axes, include_pad, override)
    if whole(axes):
        one = 1 / (float(by_row[0]) * float(by_column[0]))
        return sum_over(x, tuple(range(len(lead), x.ndim)), dtype, one).reshape(*lead, *counts)
    y = np.empty((*lead, *counts), dtype)
    if not y.size:
        return y
    flat, A = pictures(x, axes)
    H, W, places = down.n, across.n, down.size * across.size
    chunks, each = spans(A, max(1, CHUNK // (H * W)))
    given = borders(down), borders(across), by_row, by_column, flat, view(y).reshape(-1)
    cost = y.size * places * NANOSECONDS
    if not side_by_side(axes) or places > FEW:
        window_means_one_by_one(chunks, each, A, H, W, *given, cost=cost, workspace=2 * W)
        return y
    width, size = room(down, across)
    windows = across.size, across.stride, across.padding
    sizes = A, H, W, width, size, windows
    workspace = size + down.count * across.count + LANES
    window_means_side_by_side(chunks, each, *sizes, *given, cost=cost, workspace=workspace)
    return y


# ---- its gradient -------------------------------------------------------------------------------


@parallel
def whole_mean_dx(chunk, scratch, each, A, n, by, dy, dx):
    """Each of A numbers, divided, to n places."""
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        share = load(dy, a) / by
        for i in range(a * n, (a + 1) * n):
            store(dx, i, share)


@parallel
def window_means_dx(chunk, scratch, each, A, rows, columns, by_row, by_column, dy, dx):
    """rows, columns: from which to before which window a place is seen."""
    (H, _), (W, _), P, Q = rows.shape, columns.shape, len(by_row), len(by_column)
    total = scratch[: 2 * Q].view(np.float64)
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        for h in range(H):
            at = (a * H + h) * W
            if h and rows[h, 0] == rows[h - 1, 0] and rows[h, 1] == rows[h - 1, 1]:
                for w in range(at, at + W):
                    store(dx, w, load(dx, w - W))
                continue
            total[:] = 0
            for p in range(rows[h, 0], rows[h, 1]):
                start = (a * P + p) * Q
                for q in range(Q):
                    total[q] += load(dy, start + q) / (by_row[p] * by_column[q])
            for w in range(W):
                share = 0.0
                for q in range(columns[w, 0], columns[w, 1]):
                    share += total[q]
                store(dx, at + w, share)


@cache
def seen_by(axis):
    """int64 (n, 2): from which to before which window a place is seen."""
    starts, stops = axis.bounds()
    place = np.arange(axis.n)
    first = np.searchsorted(stops, place, side="right")
    return np.stack([first, np.searchsorted(starts, place, side="right")], 1)


@compiled_kernel
def avg_pool_dx(dy, *, axes, include_pad, override, to):
    down, across = both(axes)
    lead = dy.shape[: dy.ndim - len(axes)]
    dx = np.empty((*lead, *(a.n for a in axes)), to[0] or dy.dtype)
    if not dx.size:
        return dx
    flat, A = pictures(dy, axes)
    n, out = down.n * across.n, view(dx).reshape(-1)
    chunks, each = spans(A, max(1, CHUNK // n))
    by_row, by_column = divisors(axes, include_pad, override)
    if whole(axes):
        by = by_row[0] * by_column[0]
        whole_mean_dx(chunks, each, A, n, by, flat, out, cost=dx.size * NANOSECONDS)
    else:
        given = seen_by(down), seen_by(across), by_row, by_column, flat, out
        cost = dx.size * prod(a.layers() for a in axes) * NANOSECONDS
        window_means_dx(chunks, each, A, *given, cost=cost, workspace=2 * across.count)
    return dx
