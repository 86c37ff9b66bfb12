"""Compiled kernels of norm.py: for p = 1 and 2; others are left to the reference. And of
log-sum-exp."""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cpu.compile import inline
from minifp.runtime.cpu.exponentials import exp_of_row, read_row
from minifp.runtime.cpu.half import flat, load, store
from minifp.runtime.cpu.pool import parallel, spans
from minifp.runtime.cpu.sums import (
    BLOCK,
    CHUNK,
    as_rows,
    format_of,
    from_rows,
    single,
    squares_of_run,
)
from minifp.runtime.shapes import reduced_shape

NANOSECONDS, NANOSECONDS_OF_EXP = 0.4, 1.5  # an element, of each kernel
ZERO, ONE = np.float32(0), np.float32(1)


@inline(sums=True)
def _sizes_of_block(x, start, stop):
    total = ZERO
    for i in range(start, stop):
        total += abs(load(x, i))
    return total


@inline
def norm_of_run(x, start, n, p):
    """The p-norm of n neighbours, in float64: p is 1 or 2."""
    if p == 2:
        return math.sqrt(squares_of_run(x, start, n, ZERO))
    total = 0.0
    for i in range(start, start + n, BLOCK):
        total += _sizes_of_block(x, i, min(i + BLOCK, start + n))
    return total


@parallel
def norms(chunk, scratch, per, rows, n, p, x, y):
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        store(y, r, norm_of_run(x, r * n, n, p))


@parallel
def norm_gradients(chunk, scratch, per, rows, n, p, dy, x, dx):
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        d = dy[r]
        if p == 1:
            for i in range(r * n, (r + 1) * n):
                value = load(x, i)
                store(dx, i, d * (ONE if value > 0 else -ONE if value < 0 else value))
        else:
            y = np.float32(norm_of_run(x, r * n, n, p))
            for i in range(r * n, (r + 1) * n):
                value = load(x, i)
                store(dx, i, d * (value / y if y != 0 else ZERO))


@parallel
def logs_of_sums(chunk, scratch, per, rows, n, p, x, y):
    row, powers = scratch[:n], scratch[n : 2 * n]
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        m = read_row(x, r * n, n, row)
        m = ZERO if math.isinf(m) else m
        store(y, r, m + math.log(exp_of_row(row, n, m, powers)))


@parallel
def logsumexp_gradients(chunk, scratch, per, rows, n, p, dy, x, dx):
    row, powers = scratch[:n], scratch[n : 2 * n]
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        m = read_row(x, r * n, n, row)
        m = ZERO if math.isinf(m) else m
        share, d = np.float32(1 / exp_of_row(row, n, m, powers)), dy[r]
        for i in range(n):
            store(dx, r * n + i, d * (powers[i] * share))


def reduced(kernel, x, axes, keepdims, p, dtype, nanoseconds, workspace=0):
    """What a kernel makes of each row; None of no numbers."""
    dtype = format_of(x, axes, keepdims, dtype)
    if dtype is None or not x.size:
        return None
    lying, n = as_rows(x, axes)
    y = np.empty(x.size // n, dtype)
    chunks, per = spans(y.size, CHUNK // n)
    kernel(
        *(chunks, per, y.size, n, p, flat(lying), flat(y)),
        cost=x.size * nanoseconds, workspace=workspace * n,
    )  # fmt: skip
    return y.reshape(reduced_shape(x.shape, axes, keepdims))


def spread(kernel, dy, x, axes, p, dtype, nanoseconds, workspace=0):
    """What a kernel makes of the gradient of each row; None of no numbers."""
    if not x.size:
        return None
    lying, n = as_rows(x, axes)
    dx, rows = np.empty(lying.shape, dtype), x.size // n
    chunks, per = spans(rows, CHUNK // n)
    kernel(
        *(chunks, per, rows, n, p, single(dy), flat(lying), flat(dx)),
        cost=2 * x.size * nanoseconds, workspace=workspace * n,
    )  # fmt: skip
    return from_rows(dx, axes)


@compiled_kernel
def norm_forward(x, *, p, axes, keepdims, to):
    if p not in (1, 2):
        return None
    return reduced(norms, x, axes, keepdims, int(p), to[0], NANOSECONDS)


@compiled_kernel
def norm_dx(dy, x, *, p, axes, to):
    if p not in (1, 2):
        return None
    return spread(norm_gradients, dy, x, axes, int(p), to[0], NANOSECONDS)


@compiled_kernel
def logsumexp_forward(x, *, axes, keepdims, to):
    return reduced(logs_of_sums, x, axes, keepdims, 0, to[0], NANOSECONDS_OF_EXP, 2)


@compiled_kernel
def logsumexp_dx(dy, x, *, axes, to):
    return spread(logsumexp_gradients, dy, x, axes, 0, to[0], NANOSECONDS_OF_EXP, 2)
