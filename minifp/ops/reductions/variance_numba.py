"""Compiled kernels of variance.py: row after row, with what is reduced as the last axis."""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.reductions.variance import divisor_of
from minifp.runtime.cpu.half import flat, load, store
from minifp.runtime.cpu.pool import parallel, spans
from minifp.runtime.cpu.sums import (
    CHUNK,
    as_rows,
    format_of,
    from_rows,
    single,
    squares_of_run,
    sum_of_run,
)
from minifp.runtime.shapes import reduced_shape

NANOSECONDS = 0.4  # an element, of each kernel


@parallel
def variances(chunk, scratch, per, rows, n, divisor, root, x, y):
    """y = the variance of each row, or the root of it."""
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        m = np.float32(sum_of_run(x, r * n, n) / n)
        v = squares_of_run(x, r * n, n, m) / divisor
        store(y, r, math.sqrt(v) if root else v)


@parallel
def variance_gradients(chunk, scratch, per, rows, n, divisor, root, dy, x, dx):
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        m, share = np.float32(sum_of_run(x, r * n, n) / n), 2 / divisor
        if root:
            y = math.sqrt(squares_of_run(x, r * n, n, m) / divisor)
            share = 1 / (divisor * y) if y != 0 else 0.0
        d, share = dy[r], np.float32(share)
        for i in range(r * n, (r + 1) * n):
            store(dx, i, d * ((load(x, i) - m) * share))


def variance(x, axes, keepdims, correction, root, dtype):
    """The variance, or its root; None of no numbers."""
    dtype = format_of(x, axes, keepdims, dtype)
    if dtype is None or not x.size:
        return None
    lying, n = as_rows(x, axes)
    y = np.empty(x.size // n, dtype)
    chunks, per = spans(y.size, CHUNK // n)
    divisor = float(divisor_of(x, axes, correction))
    variances(
        chunks, per, y.size, n, divisor, root, flat(lying), flat(y), cost=x.size * NANOSECONDS
    )
    return y.reshape(reduced_shape(x.shape, axes, keepdims))


def variance_dx(dy, x, axes, correction, root, dtype):
    """The gradient of the variance, or of its root; None of no numbers."""
    if not x.size:
        return None
    lying, n = as_rows(x, axes)
    dx, rows = np.empty(lying.shape, dtype), x.size // n
    chunks, per = spans(rows, CHUNK // n)
    divisor = float(divisor_of(x, axes, correction))
    variance_gradients(
        *(chunks, per, rows, n, divisor, root, single(dy), flat(lying), flat(dx)),
        cost=2 * x.size * NANOSECONDS,
    )
    return from_rows(dx, axes)


@compiled_kernel
def var_forward(x, *, axes, keepdims, correction, to):
    return variance(x, axes, keepdims, correction, False, to[0])


@compiled_kernel
def var_dx(dy, x, *, axes, correction, to):
    return variance_dx(dy, x, axes, correction, False, to[0])


@compiled_kernel
def std_forward(x, *, axes, keepdims, correction, to):
    return variance(x, axes, keepdims, correction, True, to[0])


@compiled_kernel
def std_dx(dy, x, *, axes, correction, to):
    return variance_dx(dy, x, axes, correction, True, to[0])
