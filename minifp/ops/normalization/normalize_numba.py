"""Compiled kernels of normalize.py: for p = 2; others are left to the reference."""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cpu.compile import inline
from minifp.runtime.cpu.half import VIEWS, flat, load, store
from minifp.runtime.cpu.pool import parallel, spans
from minifp.runtime.cpu.sums import BLOCK, CHUNK, SINGLE, as_rows, from_rows, single, squares_of_run
from minifp.runtime.shapes import reduced_shape

NANOSECONDS = 0.5  # an element, of each kernel
ZERO = np.float32(0)


@parallel
def normalized_rows(chunk, scratch, per, rows, n, eps, x, y, norms):
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        norm = np.float32(math.sqrt(squares_of_run(x, r * n, n, ZERO)))
        d = eps if norm < eps else norm  # NaN stays
        for i in range(r * n, (r + 1) * n):
            store(y, i, load(x, i) / d)
        norms[r] = norm


@inline(sums=True)
def _products_of_block(dy, x, start, stop, d):
    total = ZERO
    for i in range(start, stop):
        total += load(dy, i) * (load(x, i) / d)
    return total


@parallel
def normalized_rows_dx(chunk, scratch, per, rows, n, eps, dy, x, norms, dx):
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        norm, along = norms[r], 0.0
        d = eps if norm < eps else norm
        for i in range(r * n, (r + 1) * n, BLOCK):
            along += _products_of_block(dy, x, i, min(i + BLOCK, (r + 1) * n), d)
        share = np.float32(along / d)
        if norm < eps:
            for i in range(r * n, (r + 1) * n):
                store(dx, i, load(dy, i) / d)
        else:
            for i in range(r * n, (r + 1) * n):
                slope = load(x, i) / norm if norm != 0 else ZERO
                store(dx, i, load(dy, i) / d - share * slope)


@compiled_kernel
def normalize_forward(x, *, p, axes, eps, to):
    dtype = to[0] or x.dtype
    if p != 2 or not x.size or not x.ndim or dtype not in VIEWS or to[1] not in (None, SINGLE):
        return None
    lying, n = as_rows(x, axes)
    y, norms = np.empty(lying.shape, dtype), np.empty(reduced_shape(x.shape, axes, True), SINGLE)
    chunks, per = spans(norms.size, CHUNK // n)
    normalized_rows(
        *(chunks, per, norms.size, n, np.float32(eps), flat(lying), flat(y), flat(norms)),
        cost=x.size * NANOSECONDS,
    )
    return from_rows(y, axes), norms


@compiled_kernel
def normalize_dx(dy, x, n, *, p, axes, eps, to):
    if p != 2 or not x.size:
        return None
    (g, _), (lying, size) = as_rows(dy, axes), as_rows(x, axes)
    dx, rows = np.empty(lying.shape, to[0]), x.size // size
    chunks, per = spans(rows, CHUNK // size)
    normalized_rows_dx(
        *(chunks, per, rows, size, np.float32(eps), flat(g), flat(lying), single(n), flat(dx)),
        cost=2 * x.size * NANOSECONDS,
    )
    return from_rows(dx, axes)
