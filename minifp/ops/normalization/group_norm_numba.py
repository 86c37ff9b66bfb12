"""Compiled kernels of group_norm.py, and of instance normalisation.

Channels of SHORT elements or more each have a loop of their own. For shorter ones, parameters are
spread over the elements, and each group is a row as in group_norm_rows_numba.py.
"""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import downcast, float32
from minifp.ops.normalization import group_norm_rows_numba as rows
from minifp.ops.normalization.group_norm_rows_numba import (
    NANOSECONDS,
    WORTH,
    ZERO,
    biases_of,
    statistics_of_run,
    weights_of,
)
from minifp.runtime.cpu.compile.decorators import inline
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import flat, parallel, spans
from minifp.runtime.cpu.kernels.sums import BLOCK, squares_of_run, sum_of_run, sum_over

SHORT = 16


@parallel
def group_norm_rows(chunk, scratch, per, M, G, C, L, eps, x, w, b, y, means, roots):
    for row in range(chunk * per, min((chunk + 1) * per, M)):
        m, r = statistics_of_run(x, row * C * L, C * L, eps)
        means[row], roots[row] = m, r
        for c in range(C):
            at, weight, bias = (row * C + c) * L, w[row % G * C + c], b[row % G * C + c]
            for i in range(at, at + L):
                store(y, i, (load(x, i) - m) * r * weight + bias)


@inline(sums=True)
def sums_of_plane(dy, x, at, n, m, r):
    """(sum dy, sum dy h) of a channel."""
    plain, along = 0.0, 0.0
    for i0 in range(at, at + n, BLOCK):
        plain_part, along_part = ZERO, ZERO
        for i in range(i0, min(i0 + BLOCK, at + n)):
            d = load(dy, i)
            plain_part += d
            along_part += d * ((load(x, i) - m) * r)
        plain += plain_part
        along += along_part
    return plain, along


@parallel
def group_norm_gradients(chunk, scratch, per, M, G, C, L, dy, x, w, means, roots, dx, dw, db):
    """dw, db: (M, C), of each group by itself."""
    for row in range(chunk * per, min((chunk + 1) * per, M)):
        m, r = means[row], roots[row]
        of_g, of_gh = 0.0, 0.0
        for c in range(row * C, row * C + C):
            plain, along = sums_of_plane(dy, x, c * L, L, m, r)
            weight = w[c % (G * C)]
            of_g += weight * plain
            of_gh += weight * along
            dw[c], db[c] = along, plain
        mean_g, mean_gh = np.float32(of_g / (C * L)), np.float32(of_gh / (C * L))
        for c in range(row * C, row * C + C):
            weight = w[c % (G * C)]
            for i in range(c * L, (c + 1) * L):
                h = (load(x, i) - m) * r
                store(dx, i, r * (load(dy, i) * weight - mean_g - h * mean_gh))


def _sizes(x, groups):
    """N, channels of a group, elements of a channel."""
    N, C = x.shape[:2]
    return N, C // groups, x.size // (N * C)


def _spread(p, L):
    return p if p is None else np.repeat(p, L)


@compiled_kernel
def group_norm_forward(x, w, b, *, groups, eps, to):
    if not x.size:
        return None
    N, C, L = _sizes(x, groups)
    shape, y = (N, groups, 1), np.empty(x.shape, to[0])
    if L < SHORT:
        m, r = rows.normalised(x, _spread(w, L), _spread(b, L), y, shape, groups, eps)
    else:
        m, r = np.empty(shape, float32), np.empty(shape, float32)
        chunks, per = spans(N * groups, WORTH // (C * L))
        read = flat(x), weights_of(w, groups * C), biases_of(b, groups * C)
        written = flat(y), flat(m), flat(r)
        group_norm_rows(
            chunks, per, N * groups, groups, C, L, eps, *read, *written, cost=x.size * NANOSECONDS
        )
    return y, downcast(m, to[1]), downcast(r, to[2])


@compiled_kernel
def group_norm_dx(dy, x, w, m, r, *, groups, to):
    if not x.size:
        return None
    N, C, L = _sizes(x, groups)
    dx = np.empty(x.shape, to[0])
    if L < SHORT:
        found = rows.gradients(dy, x, _spread(w, L), m, r, dx, groups)
        dw, db = sum_over(found.reshape(2, groups * C, L), (2,), float32)
    else:
        sums = np.empty((2, N, groups * C), float32)
        chunks, per = spans(N * groups, WORTH // (C * L))
        read = flat(dy), flat(x), weights_of(w, groups * C), flat(m), flat(r)
        written = flat(dx), flat(sums[0]), flat(sums[1])
        cost = 2 * x.size * NANOSECONDS
        group_norm_gradients(chunks, per, N * groups, groups, C, L, *read, *written, cost=cost)
        dw, db = sum_over(sums, (1,), float32)
    return dx, downcast(dw, to[1]), downcast(db, to[2])


@parallel
def instance_moments(chunk, scratch, per, M, L, x, means, variances):
    for row in range(chunk * per, min((chunk + 1) * per, M)):
        m = np.float32(sum_of_run(x, row * L, L) / L)
        means[row], variances[row] = m, squares_of_run(x, row * L, L, m) / L


@compiled_kernel
def instance_norm_statistics(x, *, to):
    if not x.size:
        return None
    N, C = x.shape[:2]
    L = x.size // (N * C)
    found = np.empty((2, N, C), float32)
    chunks, per = spans(N * C, WORTH // L)
    instance_moments(
        chunks, per, N * C, L, flat(x), flat(found[0]), flat(found[1]), cost=x.size * NANOSECONDS
    )
    m, v = sum_over(found, (1,), float32, 1 / N)
    return downcast(m, to[0]), downcast(v, to[1])
