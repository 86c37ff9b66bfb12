"""Compiled kernels of interpolate.py: a picture at a time, along both axes at once.

Each place of the result is made of one or two places along each axis, with weights; nearest places
are copied. A sequence is a picture of one row.
"""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.pooling.interpolate import taps
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import parallel, spans, view

SINGLE = np.dtype("float32")
CHUNK = 8192  # numbers that are worth a chunk
NANOSECONDS = 1.5


def both(sizes, counts, factors, mode, align_corners):
    """For both axes (places, weights): (1 or 2, count) of them; no weights where all are 1."""
    ones = (1,) * (2 - len(sizes))
    sizes, counts, factors = ones + tuple(sizes), ones + tuple(counts), ones + tuple(factors)
    for n, count, factor in zip(sizes, counts, factors):
        found = taps(n, count, factor, mode, align_corners, SINGLE)
        weights = [w for _, w in found if w is not None]
        yield np.array([i for i, _ in found], np.int64)
        yield np.array(weights, np.float32).reshape(len(weights), count)


@parallel
def resize(chunk, scratch, each, A, H, W, rows, by_row, columns, by_column, x, y):
    """A row of y is a mean of rows of x, and each of its places one of two places of that."""
    P, Q = rows.shape[1], columns.shape[1]
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        for p in range(P):
            at = (a * H + rows[0, p]) * W
            if by_row.size:
                below = (a * H + rows[1, p]) * W
                u, v = by_row[0, p], by_row[1, p]
                for w in range(W):
                    scratch[w] = load(x, at + w) * u + load(x, below + w) * v
            else:
                for w in range(W):
                    scratch[w] = load(x, at + w)
            to = (a * P + p) * Q
            if by_column.size:
                for q in range(Q):
                    i, j = columns[0, q], columns[1, q]
                    store(y, to + q, scratch[i] * by_column[0, q] + scratch[j] * by_column[1, q])
            else:
                for q in range(Q):
                    store(y, to + q, scratch[columns[0, q]])


@parallel
def resize_back(chunk, scratch, each, A, H, W, rows, by_row, columns, by_column, dy, dx):
    """What each place of y gives to the places of x that it was made of."""
    P, Q = rows.shape[1], columns.shape[1]
    total = scratch[: 2 * H * W].view(np.float64)
    row = scratch[2 * H * W : 2 * (H + 1) * W].view(np.float64)
    for a in range(chunk * each, min((chunk + 1) * each, A)):
        total[:] = 0
        for p in range(P):
            at = (a * P + p) * Q
            row[:] = 0
            if by_column.size:
                for q in range(Q):
                    v = load(dy, at + q)
                    row[columns[0, q]] += v * by_column[0, q]
                    row[columns[1, q]] += v * by_column[1, q]
            else:
                for q in range(Q):
                    row[columns[0, q]] += load(dy, at + q)
            for t in range(len(rows)):
                weight = by_row[t, p] if by_row.size else np.float32(1)
                into = total[rows[t, p] * W : (rows[t, p] + 1) * W]
                for w in range(W):
                    into[w] += row[w] * weight
        for i in range(H * W):
            store(dx, a * H * W + i, total[i])


def prepared(x, out, sizes, counts, factors, mode, align_corners):
    """(chunks, what the kernels are given) for pictures x, and their memory."""
    A, n = out.shape[0] * out.shape[1], int(np.prod(sizes))
    chunks, each = spans(A, max(1, CHUNK // n))
    H, W = (1,) * (2 - len(sizes)) + tuple(sizes)
    lines = both(sizes, counts, factors, mode, align_corners)
    flat = view(np.ascontiguousarray(x)).reshape(-1), view(out).reshape(-1)
    return chunks, (each, A, H, W, *lines, *flat)


@compiled_kernel
def interpolate_forward(x, *, counts, factors, mode, align_corners, to):
    y = np.empty((*x.shape[:2], *counts), to[0] or x.dtype)
    if y.size:
        chunks, given = prepared(x, y, x.shape[2:], counts, factors, mode, align_corners)
        cost = (x.size + y.size) * NANOSECONDS
        resize(chunks, *given, cost=cost, workspace=x.shape[-1])
    return y


@compiled_kernel
def interpolate_dx(dy, *, sizes, factors, mode, align_corners, to):
    dx = np.empty((*dy.shape[:2], *sizes), to[0] or dy.dtype)
    if dx.size:
        chunks, given = prepared(dy, dx, sizes, dy.shape[2:], factors, mode, align_corners)
        H, W = given[2:4]
        cost = (dx.size + dy.size) * NANOSECONDS
        resize_back(chunks, *given, cost=cost, workspace=2 * (H + 1) * W)
    return dx
