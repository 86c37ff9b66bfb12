"""Compiled kernels of batch_norm.py: x (N, C, L) as N rows of C L columns, in blocks of whole
channels.

Rows are added up column by column, so that vector registers are full however short L is; what each
channel has of a column (mean, scale, ...) is spread over its columns first. A block's statistics,
and both sums of its gradients, are found before it leaves the cache.
"""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import downcast, float16, float32
from minifp.runtime.cpu.compile.decorators import compiled, inline
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import flat, parallel, spans
from minifp.runtime.cpu.kernels.sums import add_rows, single, sum_of_block

ROWS = 32  # whose columns are added up in float32 before their sums are added in float64
WIDTH = 1024  # columns of a block, unless one channel has more; then it is taken in such parts
LEAST = 256  # columns worth a block
WORTH = 16384  # elements that are worth a chunk
NANOSECONDS = 0.3  # an element, of each kernel
SHORT = 16  # elements that a channel needs in a row to be worth a loop of its own
ZERO, ONE = np.float32(0), np.float32(1)


@inline
def spread_over_columns(values, first, run, width, out):
    """out[j] = values[first + j // run] for `width` columns, `run` of each channel."""
    for c in range(width // run):
        value = np.float32(values[first + c])
        for j in range(c * run, (c + 1) * run):
            store(out, j, value)


@inline
def add_squares(x, at, step, rows, width, centre, sums):
    """sums[j] = the sum of (x - centre[j])^2, as in `add_rows`."""
    for j in range(width):
        sums[j] = ZERO
    four = rows // 4 * 4
    for n in range(0, four, 4):
        i0 = at + n * step
        i1, i2, i3 = i0 + step, i0 + 2 * step, i0 + 3 * step
        for j in range(width):
            a, b = load(x, i0 + j) - centre[j], load(x, i1 + j) - centre[j]
            c, d = load(x, i2 + j) - centre[j], load(x, i3 + j) - centre[j]
            sums[j] += (a * a + b * b) + (c * c + d * d)
    for n in range(four, rows):
        i0 = at + n * step
        for j in range(width):
            a = load(x, i0 + j) - centre[j]
            sums[j] += a * a


@inline
def add_gradients(dy, x, at, step, rows, width, shift, inverse, along, plain):
    """along[j] = the sum of dy h, and plain[j] that of dy, as in `add_rows`."""
    for j in range(width):
        along[j] = ZERO
        plain[j] = ZERO
    two = rows // 2 * 2
    for n in range(0, two, 2):
        i0 = at + n * step
        i1 = i0 + step
        for j in range(width):
            a, b = load(dy, i0 + j), load(dy, i1 + j)
            h0, h1 = load(x, i0 + j) - shift[j], load(x, i1 + j) - shift[j]
            along[j] += a * (h0 * inverse[j]) + b * (h1 * inverse[j])
            plain[j] += a + b
    for n in range(two, rows):
        i0 = at + n * step
        for j in range(width):
            a = load(dy, i0 + j)
            along[j] += a * ((load(x, i0 + j) - shift[j]) * inverse[j])
            plain[j] += a


@parallel(takes_rows=True)
def batch_moments(chunk, scratch, per, N, C, L, x, means, variances):
    """Mean and variance of each channel: of ROWS rows at a time, joined as Chan, Golub and LeVeque
    (1979) do, in float64.
    """
    first = chunk * per
    channels = min(per, C - first)
    sums, centre, middle = scratch[:WIDTH], scratch[WIDTH : 2 * WIDTH], scratch[2 * WIDTH :]
    total = scratch[3 * WIDTH : 5 * WIDTH].view(np.float64)
    squares = scratch[5 * WIDTH : 7 * WIDTH].view(np.float64)
    total[:channels] = 0
    squares[:channels] = 0
    seen = 0
    for n0 in range(0, N, ROWS):
        rows = min(ROWS, N - n0)
        for j0 in range(0, channels * L, WIDTH):
            width = min(WIDTH, channels * L - j0)
            run = min(L, width)
            count = rows * run
            at = (n0 * C + first) * L + j0
            add_rows(x, at, C * L, rows, width, sums)
            for c in range(width // run):
                found = np.float64(sum_of_block(sums, c * run, (c + 1) * run))
                if seen:
                    apart = found / count - total[c] / seen
                    squares[c] += apart * apart * seen * count / (seen + count)
                total[c] += found
                middle[c] = found / count
            spread_over_columns(middle, 0, run, width, centre)
            add_squares(x, at, C * L, rows, width, centre, sums)
            for c in range(width // run):
                squares[c] += sum_of_block(sums, c * run, (c + 1) * run)
            seen += count
    for c in range(channels):
        means[first + c] = total[c] / seen
        variances[first + c] = squares[c] / seen


@parallel(takes_rows=True)
def batch_norm_planes(chunk, scratch, per, N, C, L, eps, x, w, b, m, v, y):
    for p in range(chunk * per, min((chunk + 1) * per, N * C)):
        c = p % C
        shift, scale, bias = m[c], np.float32(w[c] / math.sqrt(v[c] + eps)), b[c]
        for i in range(p * L, (p + 1) * L):
            store(y, i, (load(x, i) - shift) * scale + bias)


@parallel(takes_rows=True)
def batch_norm_rows(chunk, scratch, per, N, C, L, eps, x, w, b, m, v, y):
    shift, scale = scratch[:WIDTH], scratch[WIDTH : 2 * WIDTH]
    bias, scales = scratch[2 * WIDTH : 3 * WIDTH], scratch[3 * WIDTH :]
    for first in range(0, C, WIDTH // L):
        channels = min(WIDTH // L, C - first)
        for c in range(channels):
            scales[c] = w[first + c] / math.sqrt(v[first + c] + eps)
        width = channels * L
        spread_over_columns(m, first, L, width, shift)
        spread_over_columns(scales, 0, L, width, scale)
        spread_over_columns(b, first, L, width, bias)
        for n in range(chunk * per, min((chunk + 1) * per, N)):
            at = (n * C + first) * L
            for j in range(width):
                store(y, at + j, (load(x, at + j) - shift[j]) * scale[j] + bias[j])


@inline
def dx_of_planes(dy, x, first, channels, N, C, L, m, roots, scales, of_w, of_b, constant, dx):
    for n in range(N):
        for c in range(channels):
            at, scale = (n * C + first + c) * L, scales[c]
            if constant:
                for i in range(at, at + L):
                    store(dx, i, load(dy, i) * scale)
            else:
                shift, r, along, plain = m[first + c], roots[c], of_w[c], of_b[c]
                for i in range(at, at + L):
                    h = (load(x, i) - shift) * r
                    store(dx, i, (load(dy, i) - plain - h * along) * scale)


@inline
def dx_of_rows(dy, x, at, step, N, width, shift, inverse, scale, along, plain, dx):
    for n in range(N):
        i = at + n * step
        for j in range(width):
            h = (load(x, i + j) - shift[j]) * inverse[j]
            store(dx, i + j, (load(dy, i + j) - plain[j] - h * along[j]) * scale[j])


@parallel(takes_rows=True)
def batch_norm_gradients(chunk, scratch, per, N, C, L, eps, constant, dy, x, w, m, v, dx, dw, db):
    """dx, dw and db of a block of channels: their sums first, and then all of dx."""
    first = chunk * per
    channels = min(per, C - first)
    shift, inverse = scratch[:WIDTH], scratch[WIDTH : 2 * WIDTH]
    along, plain = scratch[2 * WIDTH : 3 * WIDTH], scratch[3 * WIDTH : 4 * WIDTH]
    roots, scales = scratch[4 * WIDTH : 5 * WIDTH], scratch[5 * WIDTH : 6 * WIDTH]
    of_w, of_b = scratch[6 * WIDTH : 7 * WIDTH], scratch[7 * WIDTH : 8 * WIDTH]
    sums = scratch[8 * WIDTH : 12 * WIDTH].view(np.float64)
    sums[: 2 * channels] = 0
    for c in range(channels):
        roots[c] = ONE / math.sqrt(v[first + c] + eps)
        scales[c] = w[first + c] * roots[c]
    columns = min(WIDTH, channels * L)
    run = min(L, columns)
    spread_over_columns(m, first, run, columns, shift)
    spread_over_columns(roots, 0, run, columns, inverse)
    for n0 in range(0, N, ROWS):
        rows = min(ROWS, N - n0)
        for j0 in range(0, channels * L, WIDTH):
            width = min(WIDTH, channels * L - j0)
            at = (n0 * C + first) * L + j0
            add_gradients(dy, x, at, C * L, rows, width, shift, inverse, along, plain)
            n = min(L, width)
            for c in range(width // n):
                sums[2 * c] += sum_of_block(along, c * n, (c + 1) * n)
                sums[2 * c + 1] += sum_of_block(plain, c * n, (c + 1) * n)
    for c in range(channels):
        dw[first + c], db[first + c] = sums[2 * c], sums[2 * c + 1]
        of_w[c], of_b[c] = sums[2 * c] / (N * L), sums[2 * c + 1] / (N * L)
    if L >= SHORT or constant:
        dx_of_planes(dy, x, first, channels, N, C, L, m, roots, scales, of_w, of_b, constant, dx)
    else:
        spread_over_columns(of_w, 0, L, columns, along)
        spread_over_columns(of_b, 0, L, columns, plain)
        spread_over_columns(scales, 0, L, columns, of_w)
        dx_of_rows(dy, x, first * L, C * L, N, columns, shift, inverse, of_w, along, plain, dx)


@compiled
def mix(factor, momentum, running_mean, running_var, m, v, mean, var):
    """See `mixtures`; 0 if all that is stored is finite, else NaN."""
    kept, taken, lost = np.float32(1 - momentum), np.float32(momentum), ZERO
    for c in range(len(m)):
        store(mean, c, kept * load(running_mean, c) + taken * m[c])
        store(var, c, kept * load(running_var, c) + taken * (v[c] * np.float32(factor)))
        lost += (load(mean, c) + load(var, c)) * ZERO
    return lost


@compiled_kernel
def mixtures(running_mean, running_var, mean, var, factor, momentum):
    if not {running_mean.dtype, running_var.dtype} <= {float16, float32} or mean.dtype != float32:
        return None
    mixed = np.empty_like(running_mean), np.empty_like(running_var)
    arrays = [flat(a) for a in (running_mean, running_var, mean, var, *mixed)]
    return mixed, mix(factor, momentum, *arrays) == 0


def blocks_of(C, L):
    """(count, size) of blocks of whole channels: at least 8 of them, unless they were too small."""
    per = max(1, min(C, WIDTH // L, max(LEAST // L, -(-C // 8))))
    return -(-C // per), per


def sizes_of(x):
    """N, C, L."""
    N, C = x.shape[:2]
    return N, C, x.size // (N * C)


@compiled_kernel
def batch_norm_statistics(x, *, to):
    if not x.size:
        return None
    N, C, L = sizes_of(x)
    m, v = np.empty(C, float32), np.empty(C, float32)
    chunks, per = blocks_of(C, L)
    cost, workspace = x.size * NANOSECONDS, 7 * WIDTH
    batch_moments(chunks, per, N, C, L, x, m, v, cost=cost, workspace=workspace)
    return downcast(m, to[0]), downcast(v, to[1])


@compiled_kernel
def batch_norm_forward(x, w, b, m, v, *, eps, to):
    y = np.empty(x.shape, to[0])
    if y.size:
        N, C, L = sizes_of(x)
        kernel, count, each = (
            (batch_norm_planes, N * C, L) if L >= SHORT else (batch_norm_rows, N, C * L)
        )
        chunks, per = spans(count, WORTH // each)
        arrays = x, single(w), single(b), single(m), single(v), y
        cost = x.size * NANOSECONDS
        kernel(chunks, per, N, C, L, eps, *arrays, cost=cost, workspace=4 * WIDTH)
    return y


@compiled_kernel
def batch_norm_dx(dy, x, w, m, v, *, eps, constant, to):
    if not x.size:
        return None
    N, C, L = sizes_of(x)
    dx, dw, db = np.empty(x.shape, to[0]), np.empty(C, float32), np.empty(C, float32)
    chunks, per = blocks_of(C, L)
    settings = N, C, L, eps, bool(constant)
    arrays = dy, x, single(w), single(m), single(v), dx, dw, db
    cost = 2 * x.size * NANOSECONDS
    batch_norm_gradients(chunks, per, *settings, *arrays, cost=cost, workspace=12 * WIDTH)
    return dx, downcast(dw, to[1]), downcast(db, to[2])
