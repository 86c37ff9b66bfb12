"""Rows of groups, whose parameters are spread over their elements: see group_norm_numba.py.

Row after row, each of them read again from the cache. Gradients of parameters are added up beside:
of ROWS rows in float32, then in float64; and those of the chunks at the end.
"""

import math
from functools import lru_cache

import numpy as np

from minifp.numerics.formats import float32
from minifp.runtime.cpu.compile.decorators import inline
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import flat, parallel, spans
from minifp.runtime.cpu.kernels.sums import (
    BLOCK,
    ROWS,
    single,
    squares_of_run,
    sum_of_run,
    sum_over,
)

NANOSECONDS = 0.4  # an element, of each kernel
WORTH = 16384  # elements that are worth a chunk
ZERO, ONE = np.float32(0), np.float32(1)


@inline(sums=True)
def _sums_of_block(dy, x, w, at, start, stop, m, r):
    of_g, of_gh = ZERO, ZERO
    for j in range(start, stop):
        g = load(dy, at + j) * load(w, j)
        of_g += g
        of_gh += g * ((load(x, at + j) - m) * r)
    return of_g, of_gh


@inline
def sums_of_run(dy, x, w, at, n, m, r):
    """(sum g, sum g h) of a row of n, in float64."""
    of_g, of_gh = 0.0, 0.0
    if n <= BLOCK:
        g, gh = _sums_of_block(dy, x, w, at, 0, n, m, r)
        return np.float64(g), np.float64(gh)
    for j in range(0, n, BLOCK):
        g, gh = _sums_of_block(dy, x, w, at, j, min(j + BLOCK, n), m, r)
        of_g += g
        of_gh += gh
    return of_g, of_gh


@inline
def add_two(dy, x, i0, i1, n, m0, m1, r0, r1, dw, db):
    """dw += dy h and db += dy, of two rows."""
    for j in range(n):
        a, b = load(dy, i0 + j), load(dy, i1 + j)
        h0, h1 = (load(x, i0 + j) - m0) * r0, (load(x, i1 + j) - m1) * r1
        dw[j] += a * h0 + b * h1
        db[j] += a + b


@inline
def add_one(dy, x, i0, n, m0, r0, dw, db):
    """dw += dy h and db += dy, of one row."""
    for j in range(n):
        a = load(dy, i0 + j)
        dw[j] += a * ((load(x, i0 + j) - m0) * r0)
        db[j] += a


@inline
def statistics_of_run(x, at, n, eps):
    """(m, r) of a row."""
    share = 1 / n
    m = np.float32(sum_of_run(x, at, n) * share)
    return m, ONE / math.sqrt(np.float32(squares_of_run(x, at, n, m) * share + eps))


@parallel
def normalised_rows(chunk, scratch, per, M, D, G, eps, x, w, b, y, means, roots):
    for row in range(chunk * per, min((chunk + 1) * per, M)):
        at = row * D
        m, r = statistics_of_run(x, at, D, eps)
        weights, biases = w[row % G * D :], b[row % G * D :]
        for j in range(D):
            store(y, at + j, (load(x, at + j) - m) * r * weights[j] + biases[j])
        means[row], roots[row] = m, r


@parallel
def gradients_of_rows(chunk, scratch, per, M, D, G, dy, x, w, means, roots, dx, sums):
    columns = G * D
    parts, totals = scratch[: 2 * columns], scratch[2 * columns : 6 * columns].view(np.float64)
    totals[:] = 0
    share = 1 / D
    stop = min((chunk + 1) * per, M)
    for row0 in range(chunk * per, stop, ROWS * G):
        for j in range(2 * columns):
            parts[j] = 0
        last = min(row0 + ROWS * G, stop)
        for row in range(row0, last):
            at, first, r = row * D, row % G * D, roots[row]
            m = means[row]
            weights, dw, db = w[first:], parts[first:], parts[columns + first :]
            of_g, of_gh = sums_of_run(dy, x, weights, at, D, m, r)
            mean_g = np.float32(of_g * share)
            mean_gh = np.float32(of_gh * share)
            for j in range(D):
                h = (load(x, at + j) - m) * r
                store(dx, at + j, r * (load(dy, at + j) * weights[j] - mean_g - h * mean_gh))
            if G > 1 or (row == last - 1 and (last - row0) % 2):
                add_one(dy, x, at, D, m, r, dw, db)
            elif (row - row0) % 2:
                m0 = means[row - 1]
                add_two(dy, x, at - D, at, D, m0, m, roots[row - 1], r, dw, db)
        for j in range(2 * columns):
            totals[j] += parts[j]
    for j in range(2 * columns):
        sums[chunk * 2 * columns + j] = totals[j]


@lru_cache(maxsize=64)
def constant(n, value):
    """n numbers of a value, in place of parameters that are not there: x 1 + -0 is x."""
    return np.full(n, value, float32)


def weights_of(w, n):
    """n weights in float32, 1 if there are none."""
    return constant(n, 1.0) if w is None else single(w)


def biases_of(b, n):
    """n biases in float32, -0 if there are none."""
    return constant(n, -0.0) if b is None else single(b)


def normalised(x, w, b, y, shape, G, eps):
    """(m, r), of this shape, of rows of x, which are written into y; none is empty.

    Row i has the parameters D (i % G) to D (i % G + 1) - 1 of w and b.
    """
    M = math.prod(shape)
    D = x.size // M
    r = np.empty(shape, float32)
    m = np.empty(shape, float32)
    chunks, per = spans(M, WORTH // D)
    arrays = flat(x), weights_of(w, G * D), biases_of(b, G * D), flat(y), flat(m), flat(r)
    normalised_rows(chunks, per, M, D, G, eps, *arrays, cost=x.size * NANOSECONDS)
    return m, r


def gradients(dy, x, w, m, r, dx, G):
    """(dw, db), each (G D), in float32; dx is written into an array."""
    M = r.size
    D = x.size // M
    chunks, per = spans(M // G, max(2 * ROWS, WORTH // (G * D)))
    sums = np.empty((chunks, 2 * G * D), float32)
    arrays = flat(dy), flat(x), weights_of(w, G * D), flat(m), flat(r), flat(dx), flat(sums)
    gradients_of_rows(
        chunks, per * G, M, D, G, *arrays, cost=2 * x.size * NANOSECONDS, workspace=6 * G * D
    )
    return (sums[0] if chunks == 1 else sum_over(sums, (0,), float32)).reshape(2, G * D)
