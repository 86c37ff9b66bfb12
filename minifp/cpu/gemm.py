"""C = A B of stored matrices, in blocks that stay in the L2 cache.

    C[p, m, n] = bias[n] + sum_k A[p, m, k] B[p, k, n]

A block of up to MC rows and NC columns of C is one chunk. For KC of k at a time, its rows of A and
columns of B are widened into the thread's workspace, packed as the tiles read them, and multiplied
there; the sums stay float32 until the block is whole, and are rounded once, when they are stored.
"""

import numpy as np

from minifp.cpu.compile import part
from minifp.cpu.half import VIEWS, load, store, view
from minifp.cpu.pool import chunked
from minifp.cpu.tile import COLUMNS, LANES, PRODUCT, ROWS, address, multiply, transpose, widen

MC, KC, NC = 256, 256, 144 // COLUMNS * COLUMNS
STEPS = np.arange(KC, dtype=np.int32) * COLUMNS  # where the rows of a packed panel begin


@part
def pack_rows(a, start, sm, sk, M, K, out):
    """A (M, K) as `out` (rows, K) if its rows are contiguous, else (K, rows); zeros below M.

    rows: M rounded up to whole tiles.
    """
    rows = (M + ROWS - 1) // ROWS * ROWS
    if sk == 1:
        for m in range(M):
            for k in range(K):
                out[m * K + k] = load(a, start + m * sm + k)
        for i in range(M * K, rows * K):
            out[i] = 0
    elif sm == 1:
        for k in range(K):
            for m in range(M):
                out[k * rows + m] = load(a, start + k * sk + m)
            for m in range(M, rows):
                out[k * rows + m] = 0


@part
def pack_columns(b, start, sk, sn, K, N, out):
    """B (K, N) as panels (N / COLUMNS, K, COLUMNS), zeros behind N."""
    for n in range(0, N, COLUMNS):
        panel = n * K
        width = min(COLUMNS, N - n)
        if sn == 1 and width == COLUMNS:
            for k in range(K):
                for j in range(0, COLUMNS, LANES):
                    widen(b, start + k * sk + n + j, out, panel + k * COLUMNS + j)
        elif sn == 1:
            for k in range(K):
                for j in range(width):
                    out[panel + k * COLUMNS + j] = load(b, start + k * sk + n + j)
        else:
            whole_j, whole_k = width // LANES * LANES, K // LANES * LANES
            for j in range(0, whole_j, LANES):
                for k in range(0, whole_k, LANES):
                    at = start + (n + j) * sn + k
                    transpose(b, at, sn, out, panel + k * COLUMNS + j, COLUMNS)
                for k in range(whole_k, K):
                    for i in range(j, j + LANES):
                        out[panel + k * COLUMNS + i] = load(b, start + (n + i) * sn + k)
            for j in range(whole_j, width):
                for k in range(K):
                    out[panel + k * COLUMNS + j] = load(b, start + (n + j) * sn + k)
        if width < COLUMNS:
            for k in range(K):
                for j in range(width, COLUMNS):
                    out[panel + k * COLUMNS + j] = 0


@chunked
def blocks(chunk, scratch, a, b, bias, out, ia, ib, steps, sizes, strides):
    """One block of C: the sums over all k, and then the bias, rounded once."""
    M, N, K, mc, nc = sizes
    am, ak, bk, bn = strides
    down, across = (M + mc - 1) // mc, (N + nc - 1) // nc
    p, block = chunk // (down * across), chunk % (down * across)
    m0, n0 = block // across * mc, block % across * nc
    rows, columns = min(mc, M - m0), min(nc, N - n0)
    high = (rows + ROWS - 1) // ROWS * ROWS
    wide = (columns + COLUMNS - 1) // COLUMNS * COLUMNS
    kc = min(K, KC)
    packed_b, packed_a = high * wide, high * wide + wide * kc
    for k0 in range(0, K, KC):
        k = min(KC, K - k0)
        pack_columns(b, ib[p] + k0 * bk + n0 * bn, bk, bn, k, columns, scratch[packed_b:])
        pack_rows(a, ia[p] + m0 * am + k0 * ak, am, ak, rows, k, scratch[packed_a:])
        strip, sm, sk = (ROWS * k, k, 1) if ak == 1 else (ROWS, 1, high)
        multiply(
            *(address(scratch, packed_a), strip, sm, sk, high, address(scratch, packed_b)),
            *(k * COLUMNS, columns, address(steps, 0), k, address(scratch, 0), wide, k0),
        )
    for m in range(rows):
        to = (p * M + m0 + m) * N + n0
        if K == 0:
            scratch[m * wide : m * wide + columns] = 0
        if bias.size:
            for n in range(columns):
                store(out, to + n, scratch[m * wide + n] + load(bias, n0 + n))
        else:
            for n in range(columns):
                store(out, to + n, scratch[m * wide + n])


def even(n, most, unit):
    """The size of equal parts of n, at most `most` and a multiple of `unit`."""
    parts = -(-n // most)
    return max(-(-n // (parts * unit)) * unit, unit)


def strided(x):
    """A matrix of any layout as (its memory, flat; strides of its last two axes), or a copy.

    One of the two is contiguous, and matrices of a batch lie wherever they lie.
    """
    item = x.itemsize
    sm, sk = x.strides[-2] // item, x.strides[-1] // item
    if x.shape[-1] == 1:
        sk = 1
    elif x.shape[-2] == 1 and sk != 1:
        sm = 1
    if min(x.strides, default=0) < 0 or (sm != 1 and sk != 1):
        x = np.ascontiguousarray(x)
        sm, sk = x.shape[-1], 1
    return x, sm, sk


def starts(x, leading):
    """(the flat memory of x, where each matrix of the batch `leading` begins in it)."""
    item, shape = x.itemsize, x.shape
    lead = np.broadcast_to(x, (*leading, *shape[-2:]))
    offsets = np.zeros((), np.int64)
    for n, stride in zip(leading, lead.strides):
        offsets = offsets[..., None] + np.arange(n, dtype=np.int64) * (stride // item)
    reach = 1 + sum((n - 1) * (s // item) for n, s in zip(shape, x.strides))
    flat = np.lib.stride_tricks.as_strided(x, (reach,), (item,))
    return view(flat), offsets.reshape(-1)


NO_BIAS = {dtype: np.empty(0, dtype) for dtype in VIEWS}


def product(a, b, dtype, bias=None, out=None):
    """A B + bias for arrays (..., M, K) and (..., K, N) stored in float16 or float32.

    bias: (N). dtype: of the result, (..., M, N), which is written into `out` if that is given.
    """
    (M, K), N = a.shape[-2:], b.shape[-1]
    leading = a.shape[:-2]
    if leading != b.shape[:-2]:
        leading = np.broadcast_shapes(leading, b.shape[:-2])
    y = np.empty((*leading, M, N), dtype) if out is None else out
    if not y.size:
        return y
    if K == 0:
        a, b = np.zeros((*a.shape[:-1], 1), a.dtype), np.zeros((*b.shape[:-2], 1, N), b.dtype)
        K = 1
    (a, am, ak), (b, bk, bn) = strided(a), strided(b)
    (a, ia), (b, ib) = starts(a, leading), starts(b, leading)
    mc, nc = even(M, MC, ROWS), even(N, NC, COLUMNS)
    chunks = len(ia) * -(-M // mc) * -(-N // nc)
    kc = min(K, KC)
    addends = NO_BIAS[y.dtype] if bias is None else np.ascontiguousarray(bias)
    blocks(
        *(
            chunks,
            a,
            b,
            view(addends),
            view(y).reshape(-1),
            ia,
            ib,
        ),
        *(STEPS, (M, N, K, mc, nc), (am, ak, bk, bn)),
        cost=len(ia) * M * N * K * PRODUCT,
        workspace=mc * nc + (mc + nc) * kc + 4 * COLUMNS,
    )
    return y
