"""Compiled kernels of softmax.py.

Along the last axis row after row, in float32 in the thread's workspace, and from there stored.
Along another one, of `step` elements behind it, `width` neighbouring rows at a time: they lie
beside each other in memory, and so in a vector register.
"""

import math

import numpy as np

from minifp.runtime.cpu import compiled_kernel
from minifp.runtime.cpu.compile import inline
from minifp.runtime.cpu.half import VIEWS, flat, load, store
from minifp.runtime.cpu.math import exp32, log32
from minifp.runtime.cpu.pool import parallel, spans
from minifp.runtime.cpu.sums import ROWS, larger, sum_of_run

NANOSECONDS = 1.5  # an element, of each kernel
WORTH = 4096  # elements that are worth a chunk
LOWEST, NOTHING, ONE = np.float32(-np.inf), np.float32(0), np.float32(1)

# ---- row after row ------------------------------------------------------------------------------


@inline
def read_row(x, at, n, row):
    """row = x in float32; the largest number, NaN if one is, -Inf of none."""
    m = LOWEST
    for i in range(n):
        value = load(x, at + i)
        row[i] = value
        m = larger(m, value)
    return m


@inline
def exp_of_row(row, n, m, out):
    """out = e^(row - m), and the sum. row and out are not the same array."""
    for i in range(n):
        out[i] = exp32(row[i] - m)
    return sum_of_run(out, 0, n)


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


@inline
def place_of(chunk, width, n, step):
    """(where the first of a chunk's rows begins, how many there are)."""
    parts = (step + width - 1) // width
    first = chunk % parts * width
    return chunk // parts * n * step + first, min(width, step - first)


@inline
def add_to(totals, part, width):
    """totals += part, which is 0 then. A loop with float64 in it runs in half as many lanes."""
    for j in range(width):
        totals[j] += part[j]
        part[j] = 0


@inline
def exp_of_rows(x, at, n, step, width, sign, scratch):
    """The largest of sign x, the sums of e^(sign x - largest), in float64, and these powers.

    They are in `scratch`, as `parts_of` gives them.
    """
    m, part, totals, powers = parts_of(scratch, width)
    for j in range(width):
        m[j], part[j], totals[j] = LOWEST, NOTHING, 0.0
    for k in range(n):
        for j in range(width):
            m[j] = larger(m[j], sign * load(x, at + k * step + j))
    for k in range(n):
        row = powers[k * width :]
        for j in range(width):
            e = exp32(sign * load(x, at + k * step + j) - m[j])
            row[j] = e
            part[j] += e
        if k % ROWS == ROWS - 1 or k == n - 1:
            add_to(totals, part, width)


@inline
def parts_of(scratch, width):
    """Of a workspace of 4 width numbers and more: two rows, one in float64, and the rest."""
    totals = scratch[2 * width : 4 * width].view(np.float64)
    return scratch[:width], scratch[width : 2 * width], totals, scratch[4 * width :]


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


def widths(n, step):
    """(chunks for each n x step elements, rows in each): as many as the L2 cache holds powers."""
    width = min(step, max(16, 16384 // n))
    return -(-step // width), width


def along(axis, of_row, of_rows, arrays, dtype, sign=1.0):
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
    return along(axis, softmax, softmaxes, (x,), to[0])


@compiled_kernel
def softmax_dx(dy, y, *, axis, to):
    return along(axis, softmax_gradient, softmax_gradients, (dy, y), to[0])


@compiled_kernel
def log_softmax_forward(x, *, axis, to):
    return along(axis, log_softmax, log_softmaxes, (x,), to[0])


@compiled_kernel
def log_softmax_dx(dy, y, *, axis, to):
    return along(axis, log_softmax_gradient, log_softmax_gradients, (dy, y), to[0])


@compiled_kernel
def softmin_forward(x, *, axis, to):
    return along(axis, softmax, softmaxes, (x,), to[0], -1.0)


@compiled_kernel
def softmin_dx(dy, y, *, axis, to):
    return along(axis, softmax_gradient, softmax_gradients, (dy, y), to[0], -1.0)
