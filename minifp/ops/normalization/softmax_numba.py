"""Compiled kernels of softmax.py.

Along the last axis row after row, in float32 in the thread's workspace, and from there stored.
Along another one, of `step` elements behind it, `width` neighbouring rows at a time: they lie
beside each other in memory, and so in a vector register.
"""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cpu.exponentials import (
    LOWEST,
    NANOSECONDS,
    WORTH,
    add_to,
    exp_of_row,
    exp_of_rows,
    parts_of,
    place_of,
    read_row,
    widths,
)
from minifp.runtime.cpu.half import VIEWS, flat, load, store
from minifp.runtime.cpu.math import ONE, exp32, log32
from minifp.runtime.cpu.pool import parallel, spans
from minifp.runtime.cpu.sums import ROWS, larger, sum_of_run

# ---- row after row ------------------------------------------------------------------------------


@parallel
def softmax(chunk, scratch, per, rows, n, sign, x, y):
    row, powers = scratch[:n], scratch[n : 2 * n]
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        m = read_row(x, r * n, n, row)
        if sign < 0:
            m = LOWEST
            for i in range(n):
                value = -row[i]
                row[i] = value
                m = larger(m, value)
        share = np.float32(1 / exp_of_row(row, n, m, powers))
        for i in range(n):
            store(y, r * n + i, powers[i] * share)


@parallel
def log_softmax(chunk, scratch, per, rows, n, sign, x, y):
    row, powers = scratch[:n], scratch[n : 2 * n]
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        m = read_row(x, r * n, n, row)
        log = np.float32(math.log(exp_of_row(row, n, m, powers)))
        for i in range(n):
            store(y, r * n + i, (row[i] - m) - log)


@parallel
def softmax_gradient(chunk, scratch, per, rows, n, sign, dy, y, dx):
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        for i in range(n):
            scratch[i] = load(dy, r * n + i) * load(y, r * n + i)
        total = np.float32(sum_of_run(scratch, 0, n))
        for i in range(r * n, (r + 1) * n):
            store(dx, i, sign * load(y, i) * (load(dy, i) - total))


@parallel
def log_softmax_gradient(chunk, scratch, per, rows, n, sign, dy, y, dx):
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        total = np.float32(sum_of_run(dy, r * n, n))
        for i in range(r * n, (r + 1) * n):
            store(dx, i, load(dy, i) - exp32(load(y, i)) * total)


# ---- neighbouring rows --------------------------------------------------------------------------


@parallel
def softmaxes(chunk, scratch, width, n, step, sign, x, y):
    at, width = place_of(chunk, width, n, step)
    m, _, totals, powers = parts_of(scratch, width)
    exp_of_rows(x, at, n, step, width, sign, scratch)
    for j in range(width):
        m[j] = 1 / totals[j]
    for k in range(n):
        row = powers[k * width :]
        for j in range(width):
            store(y, at + k * step + j, row[j] * m[j])


@parallel
def log_softmaxes(chunk, scratch, width, n, step, sign, x, y):
    at, width = place_of(chunk, width, n, step)
    m, logs, totals, _ = parts_of(scratch, width)
    exp_of_rows(x, at, n, step, width, ONE, scratch)
    for j in range(width):
        logs[j] = log32(np.float32(totals[j]))
    for k in range(n):
        for j in range(width):
            i = at + k * step + j
            store(y, i, (load(x, i) - m[j]) - logs[j])


@parallel
def softmax_gradients(chunk, scratch, width, n, step, sign, dy, y, dx):
    at, width = place_of(chunk, width, n, step)
    total, part, totals, _ = parts_of(scratch, width)
    part[:], totals[:] = 0, 0
    for k in range(n):
        for j in range(width):
            part[j] += load(dy, at + k * step + j) * load(y, at + k * step + j)
        if k % ROWS == ROWS - 1 or k == n - 1:
            add_to(totals, part, width)
    for j in range(width):
        total[j] = totals[j]
    for k in range(n):
        for j in range(width):
            i = at + k * step + j
            store(dx, i, sign * load(y, i) * (load(dy, i) - total[j]))


@parallel
def log_softmax_gradients(chunk, scratch, width, n, step, sign, dy, y, dx):
    at, width = place_of(chunk, width, n, step)
    total, part, totals, _ = parts_of(scratch, width)
    part[:], totals[:] = 0, 0
    for k in range(n):
        for j in range(width):
            part[j] += load(dy, at + k * step + j)
        if k % ROWS == ROWS - 1 or k == n - 1:
            add_to(totals, part, width)
    for j in range(width):
        total[j] = totals[j]
    for k in range(n):
        for j in range(width):
            i = at + k * step + j
            store(dx, i, load(dy, i) - exp32(load(y, i)) * total[j])


# ---- compiled kernels ----------------------------------------------------------------------------


def softmax_along(axis, of_row, of_rows, arrays, dtype, sign=1.0):
    """What a kernel computes of arrays of one shape along an axis; None if it is not ours."""
    x, sign = arrays[0], np.float32(sign)
    dtype = dtype or x.dtype
    if dtype not in VIEWS or not x.ndim:
        return None
    y = np.empty(x.shape, dtype)
    if not y.size:
        return y
    n, step = x.shape[axis], math.prod(x.shape[axis % x.ndim + 1 :])
    given, cost = (*map(flat, arrays), flat(y)), x.size * NANOSECONDS
    if step == 1:
        chunks, per = spans(x.size // n, WORTH // n)
        of_row(chunks, per, x.size // n, n, sign, *given, cost=cost, workspace=2 * n)
    else:
        chunks, width = widths(n, step)
        chunks *= x.size // (n * step)
        of_rows(chunks, width, n, step, sign, *given, cost=cost, workspace=(4 + n) * width)
    return y


@compiled_kernel
def softmax_forward(x, *, axis, to):
    return softmax_along(axis, softmax, softmaxes, (x,), to[0])


@compiled_kernel
def softmax_dx(dy, y, *, axis, to):
    return softmax_along(axis, softmax_gradient, softmax_gradients, (dy, y), to[0])


@compiled_kernel
def log_softmax_forward(x, *, axis, to):
    return softmax_along(axis, log_softmax, log_softmaxes, (x,), to[0])


@compiled_kernel
def log_softmax_dx(dy, y, *, axis, to):
    return softmax_along(axis, log_softmax_gradient, log_softmax_gradients, (dy, y), to[0])


@compiled_kernel
def softmin_forward(x, *, axis, to):
    return softmax_along(axis, softmax, softmaxes, (x,), to[0], -1.0)


@compiled_kernel
def softmin_dx(dy, y, *, axis, to):
    return softmax_along(axis, softmax_gradient, softmax_gradients, (dy, y), to[0], -1.0)
