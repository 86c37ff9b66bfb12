"""Sums over any axes, of stored numbers: blocks in float32 vectors, their sums in float64.

Up to BLOCK numbers are added up in float32, in at least LANES sums beside each other, so that none
has more than BLOCK / LANES addends; those sums are added up in float64. The error is that of
rounding each addend a few times, however many there are.
"""

import math
from functools import lru_cache

import numpy as np

from minifp.runtime.cpu.compile.decorators import inline
from minifp.runtime.cpu.kernels.convert import SINGLE, converted
from minifp.runtime.cpu.kernels.half import VIEWS, load, store
from minifp.runtime.cpu.kernels.pool import flat, parallel, spans

BLOCK = 512
ROWS = 16  # lines of columns, of which as many are added up in float32
WIDTH, LINE = 2048, 512  # columns of a chunk; and of a line, of several rows where they are short
CHUNK = 16384  # numbers that are worth a chunk
PIECE = 65536  # numbers of a long row that are worth one
NANOSECONDS = 0.25

# ---- of neighbours ------------------------------------------------------------------------------


@inline(sums=True)
def sum_of_block(x, start, stop):
    """The sum of neighbours, in float32: of few."""
    total = np.float32(0)
    for i in range(start, stop):
        total += load(x, i)
    return total


@inline
def sum_of_run(x, start, n):
    """The sum of n neighbours, in float64."""
    stop, total = start + n, 0.0
    if n <= BLOCK:  # most rows: a loop over blocks would cost as much as theirs
        return np.float64(sum_of_block(x, start, stop))
    for i in range(start, stop, BLOCK):
        total += sum_of_block(x, i, min(i + BLOCK, stop))
    return total


@inline(sums=True)
def squares_of_block(x, start, stop, centre):
    """The sum of (x - centre)^2 of neighbours, in float32: of few."""
    part = np.float32(0)
    for i in range(start, stop):
        d = load(x, i) - centre
        part += d * d
    return part


@inline
def squares_of_run(x, start, n, centre):
    """The sum of (x - centre)^2 of n neighbours, in float64."""
    stop, total = start + n, 0.0
    if n <= BLOCK:
        return np.float64(squares_of_block(x, start, stop, centre))
    for i in range(start, stop, BLOCK):
        total += squares_of_block(x, i, min(i + BLOCK, stop), centre)
    return total


@parallel(takes_rows=True)
def sum_last(chunk, scratch, per, deep, A, K, factor, x, out):
    """out[a, k // deep] = factor times the sum of `deep` numbers of x[a]."""
    down = (K + deep - 1) // deep
    for i in range(chunk * per, min((chunk + 1) * per, A * down)):
        a, k = (i, 0) if down == 1 else (i // down, i % down * deep)
        store(out, i, sum_of_run(x, a * K + k, min(deep, K - k)) * factor)


# ---- of columns ---------------------------------------------------------------------------------


@inline
def add_rows(x, at, step, rows, width, sums):
    """sums[j] = the sum of `width` columns of rows that are `step` apart, four at a time."""
    for j in range(width):
        sums[j] = 0
    four = rows // 4 * 4
    for n in range(0, four, 4):
        i0 = at + n * step
        i1, i2, i3 = i0 + step, i0 + 2 * step, i0 + 3 * step
        for j in range(width):
            sums[j] += (load(x, i0 + j) + load(x, i1 + j)) + (load(x, i2 + j) + load(x, i3 + j))
    for n in range(four, rows):
        for j in range(width):
            sums[j] += load(x, at + n * step + j)


@parallel(takes_rows=True)
def sum_middle(chunk, scratch, per, deep, width, A, K, B, factor, x, out):
    """out[a, k // deep, b] = factor times the sum of `deep` rows of x[a], for `width` of the b.

    Short rows are taken several at a time, as if they were one.
    """
    across, down = (B + width - 1) // width, (K + deep - 1) // deep
    d, b0 = chunk // across % down, chunk % across * width
    n, rows = min(width, B - b0), min(deep, K - d * deep)
    together = max(1, min(LINE // n, rows)) if n == B else 1
    line, lines = n * together, rows // together
    sums, totals = scratch[:line], scratch[line + line % 2 : 3 * line + line % 2].view(np.float64)
    first = chunk // (across * down) * per
    for a in range(first, min(first + per, A)):
        at = (a * K + d * deep) * B + b0
        for j in range(line):
            totals[j] = 0
        for i in range(0, lines, ROWS):
            add_rows(x, at + i * together * B, together * B, min(ROWS, lines - i), line, sums)
            for j in range(line):
                totals[j] += sums[j]
        at += lines * together * B
        for j in range((rows - lines * together) * n):
            totals[j] += load(x, at + j)
        for b in range(n):
            total = totals[b]
            for j in range(b + n, line, n):
                total += totals[j]
            store(out, (a * down + d) * B + b0 + b, total * factor)


# ---- whole arrays -------------------------------------------------------------------------------


def single(x):
    """The same of a small array, in float32, so that kernels are compiled for one format of it."""
    return flat(x if x.dtype == SINGLE else converted(x, SINGLE))


def _summed(x, step, factor, dtype):
    """The sums of a step, flat, each times a factor."""
    kernel, chunks, sizes, sums, cost, workspace = step
    out = (np.empty if chunks else np.zeros)(sums, dtype)
    kernel(chunks, *sizes, factor, x, out, cost=cost, workspace=workspace)
    return out


def _steps_of(A, K, B):
    """The steps of sums over the middle axis: of parts of the rows, if these are long, and of their
    sums. For each its kernel, the chunks (0 where nothing is added up), what the kernel is told of
    sizes, how many sums there are, the cost, the workspace."""
    cost = A * K * B * NANOSECONDS
    if not cost:
        return [(sum_last, 0, (1, 1, 1, 1), A * B, 0, 0)]
    if B == 1:
        deep = PIECE if A < 64 and K >= 2 * PIECE else K
        down = -(-K // deep)
        chunks, per = spans(A * down, CHUNK // deep)
        step = sum_last, chunks, (per, deep, A, K), A * down, cost, 0
    else:
        width = min(B, WIDTH)
        deep = max(CHUNK // width, -(-K // 64)) if A < 64 else K
        deep = deep if K >= 2 * deep else K
        down = -(-K // deep)
        chunks, per = spans(A, CHUNK // (deep * width))
        chunks, sizes = chunks * down * -(-B // width), (per, deep, width, A, K, B)
        step = sum_middle, chunks, sizes, A * down * B, cost, 3 * max(width, LINE) + 2
    return [step] if down == 1 else [step, *_steps_of(A, down, B)]


@lru_cache(maxsize=1024)
def _steps(shape, axes):
    """The steps, one after the other, that sum over `axes`; and the shape of the result."""
    runs: list = []  # (size, whether it is summed), of neighbouring axes
    steps: list = []
    for i, n in enumerate(shape):
        if n == 1:
            continue
        if runs and runs[-1][1] == (i in axes):
            runs[-1][0] *= n
        else:
            runs.append([n, i in axes])
    for last in range(len(runs) - 1, -1, -1):
        if runs[last][1]:
            A, B = math.prod(n for n, _ in runs[:last]), math.prod(n for n, _ in runs[last + 1 :])
            steps += _steps_of(A, runs[last][0], B)
            del runs[last]
    steps = steps or _steps_of(1, 1, math.prod(shape))
    return steps, tuple(n for i, n in enumerate(shape) if i not in axes)


def sum_over(x, axes, dtype, factor=1.0):
    """factor times the sum of x over `axes` (ascending), which are left out, stored in `dtype`."""
    if not x.flags.c_contiguous:  # as it lies in memory, if what is left then lies as it should
        order = sorted(range(x.ndim), key=lambda i: -abs(x.strides[i]))
        kept = [i for i in order if i not in axes]
        if kept == sorted(kept):
            axes = tuple(i for i, o in enumerate(order) if o in axes)
            x = x.transpose(order)
    (*before, last), shape = _steps(x.shape, tuple(axes))
    for step in before:
        x = _summed(x, step, 1.0, SINGLE)
    return _summed(x, last, factor, dtype).reshape(shape)


# ---- other reductions ---------------------------------------------------------------------------


def format_of(x, axes, keepdims, dtype):
    """In what a reduction of x is stored; None if no kernel can: see `Kernel.compiled`."""
    dtype = dtype or (x.dtype if (x.ndim if keepdims else x.ndim - len(axes)) else SINGLE)
    return dtype if dtype in VIEWS else None
