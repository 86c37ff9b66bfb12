"""Sums over any axes, of stored numbers: blocks in float32 vectors, their sums in float64.

Up to BLOCK numbers are added up in float32, in at least LANES sums beside each other, so that none
has more than BLOCK / LANES addends; those sums are added up in float64. The error is that of
rounding each addend a few times, however many there are.
"""

import math

import numpy as np

from minifp.cpu.compile import compiled
from minifp.cpu.half import load, store, view
from minifp.cpu.pool import chunked, spans
from minifp.formats import float32, widen

BLOCK = 512
ROWS = 16
NANOSECONDS = 0.25


@compiled(sums=True)
def sum_of_block(x, start, stop):
    """The sum of neighbours, in float32: of few."""
    part = np.float32(0)
    for i in range(start, stop):
        part += load(x, i)
    return part


@compiled
def sum_of_run(x, start, n):
    """The sum of n neighbours, in float64."""
    stop, total = start + n, 0.0
    if n <= BLOCK:  # most rows: a loop over blocks would cost as much as theirs
        return np.float64(sum_of_block(x, start, stop))
    for i in range(start, stop, BLOCK):
        total += sum_of_block(x, i, min(i + BLOCK, stop))
    return total


@chunked
def sum_last(chunk, scratch, per, A, K, factor, x, out):
    """out[a] = factor sum_k x[a, k]."""
    for a in range(chunk * per, min((chunk + 1) * per, A)):
        store(out, a, sum_of_run(x, a * K, K) * factor)


@chunked
def sum_middle(chunk, scratch, per, width, A, K, B, factor, x, out):
    """out[a, b] = factor sum_k x[a, k, b], for `width` columns of b a chunk."""
    parts = (B + width - 1) // width
    a, b0 = chunk // parts, chunk % parts * width
    n = min(width, B - b0)
    total, part = scratch[: 2 * width].view(np.float64), scratch[2 * width : 3 * width]
    total[:n] = 0
    for k0 in range(0, K, ROWS):
        for j in range(n):
            part[j] = load(x, (a * K + k0) * B + b0 + j)
        for k in range(k0 + 1, min(k0 + ROWS, K)):
            at = (a * K + k) * B + b0
            for j in range(n):
                part[j] += load(x, at + j)
        for j in range(n):
            total[j] += part[j]
    for j in range(n):
        store(out, a * B + b0 + j, total[j] * factor)


def flat(x):
    """A stored array as kernels take it, a copy only if it is not contiguous."""
    return view(x if x.flags.c_contiguous else np.ascontiguousarray(x)).reshape(-1)


def single(x):
    """The same of a small array, in float32, so that kernels are compiled for one format of it."""
    return flat(x if x.dtype == float32 else widen(x, float32))


def _one_run(x, A, K, B, factor, dtype):
    out = np.empty((A, B), dtype)
    flat, into = view(x).reshape(-1), view(out).reshape(-1)
    cost = x.size * NANOSECONDS
    if B == 1:
        chunks, per = spans(A, max(1, 8192 // max(K, 1)))
        sum_last(chunks, per, A, K, factor, flat, into, cost=cost)
    elif out.size:
        width = min(B, max(64, 8192 // max(K, 1)))
        sum_middle(
            *(A * -(-B // width), 1, width, A, K, B, factor, flat, into),
            cost=cost, workspace=3 * width,
        )  # fmt: skip
    return out


def sum_over(x, axes, dtype, factor=1.0):
    """factor times the sum of x over `axes` (ascending), which are left out, stored in `dtype`."""
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = tuple(x.shape[i] for i in kept)
    if not x.flags.c_contiguous:
        order = sorted(range(x.ndim), key=lambda i: -abs(x.strides[i]))
        if [i for i in order if i in kept] == kept:
            x = x.transpose(order)
            axes = tuple(i for i, o in enumerate(order) if o in axes)
        x = np.ascontiguousarray(x)
    runs = []  # (size, whether it is summed), of neighbouring axes
    for i, n in enumerate(x.shape):
        if n == 1:
            continue
        if runs and runs[-1][1] == (i in axes):
            runs[-1][0] *= n
        else:
            runs.append([n, i in axes])
    while True:
        last = max((i for i, (_, summed) in enumerate(runs) if summed), default=None)
        if last is None:
            y = x if x.dtype == dtype and factor == 1 else _one_run(x, x.size, 1, 1, factor, dtype)
            return y.reshape(shape).copy() if y is x else y.reshape(shape)
        A = math.prod(n for n, _ in runs[:last])
        B = math.prod(n for n, _ in runs[last + 1 :])
        whole = sum(summed for _, summed in runs) == 1
        x = _one_run(x, A, runs[last][0], B, factor if whole else 1.0, dtype if whole else np.float32)
        del runs[last]
        if whole:
            return x.reshape(shape)


def sum_rows(x, dtype):
    """The sum over the first axis of (N, D)."""
    return sum_over(x, (0,), dtype)
