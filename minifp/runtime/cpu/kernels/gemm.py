"""C = A B of stored matrices, in blocks that stay in the L2 cache.

    C[p, m, n] = bias[n] + sum_k A[p, m, k] B[p, k, n]

A block of up to MC rows and NC columns of C is one chunk. For KC of k at a time, its rows of A, and
then one group of columns of B after the other, are widened into the thread's workspace, packed as
the tiles read them, and multiplied there. Sums over more than KC wait in float32, and all are
rounded once, when they are stored.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from minifp.runtime.cpu import threads
from minifp.runtime.cpu.kernels.half import VIEWS, load, store
from minifp.runtime.cpu.kernels.packing import pack_columns, pack_rows
from minifp.runtime.cpu.kernels.pool import WORTH_A_THREAD, flat, parallel, view
from minifp.runtime.cpu.kernels.tile import (
    COLUMNS,
    KEPT,
    LANES,
    PRODUCT,
    ROWS,
    address,
    as_bytes,
    kind_of,
    multiply_into,
    up,
)

MC, KC, NC = 256, 256, 480 // COLUMNS * COLUMNS
GROUP = 4 * COLUMNS  # columns that are packed at once
NOTHING = np.float32(-0.0)  # what can be added to any number and leaves it as it is, -0 as well
STEPS = np.arange(KC, dtype=np.int32) * COLUMNS  # where the rows of a packed panel begin


@parallel(takes_rows=True)
def product_blocks(chunk, scratch, a, b, bias, out, ia, ib, steps, sizes, strides):
    """One block of C: the sums over all k, and then the bias, rounded once."""
    M, N, K, mc, nc = sizes
    am, ak, bk, bn = strides
    down, across = (M + mc - 1) // mc, (N + nc - 1) // nc
    p, block = chunk // (down * across), chunk % (down * across)
    m0, n0 = block // across * mc, block % across * nc
    rows, columns = min(mc, M - m0), min(nc, N - n0)
    kc, high = min(K, KC), (mc + ROWS - 1) // ROWS
    apart = ROWS * kc + LANES
    panel = (high * apart + LANES - 1) // LANES * LANES
    addends = panel + GROUP * kc
    total = addends + (nc + GROUP - 1) // GROUP * GROUP
    for n in range(columns):
        store(scratch, addends + n, load(bias, n0 + n) if bias.size else NOTHING)
    for k0 in range(0, K, KC):
        k = min(KC, K - k0)
        pack_rows(a, ia[p] + m0 * am + k0 * ak, am, ak, rows, k, scratch, apart)
        kind = kind_of(out) if k0 + KC >= K else KEPT
        for n in range(0, columns, GROUP):
            width = min(GROUP, columns - n)
            at = ib[p] + k0 * bk + (n0 + n) * bn
            pack_columns(b, at, bk, bn, k, width, scratch[panel:])
            sums = total + n * high * ROWS if K > KC else total
            left, right, lines = address(scratch, 0), address(scratch, panel), address(steps, 0)
            c, added = address(scratch, sums), address(scratch, addends + n)
            y, far = as_bytes(address(out, (p * M + m0) * N + n0 + n)), k * COLUMNS
            multiply_into(
                left, apart, rows, right, far, width, lines, k, c, GROUP, k0, kind, y, N, added
            )


def even(n, most, unit):
    """The size of equal parts of n, at most `most` and a multiple of `unit`."""
    parts = -(-n // most)
    return max(-(-n // (parts * unit)) * unit, unit)


class Blocks(NamedTuple):
    """How a product is divided: chunks, sizes as the kernel takes them, its cost and workspace."""

    chunks: int
    sizes: tuple[int, int, int, int, int]
    cost: int
    workspace: int


def blocks_of(matrices, M, N, K, most):
    """Blocks as large as the caches allow, and as many as keep all threads, of which there are
    `most`."""
    cost = matrices * M * N * K * PRODUCT
    threads = most if cost > WORTH_A_THREAD else 1
    mc, parts = even(M, MC, ROWS), -(-N // NC)
    down = matrices * -(-M // mc)
    while down * parts % threads and down * parts < 4 * threads and parts < N // COLUMNS:
        parts += 1
    nc = max(up(-(-N // parts), COLUMNS), COLUMNS)
    high, wide, kc = up(mc, ROWS), up(nc, GROUP), min(K, KC)
    workspace = high * (kc + LANES + (wide if K > KC else GROUP)) + GROUP * kc + wide + LANES
    return Blocks(down * -(-N // nc), (M, N, K, mc, nc), cost, workspace)


ORIGIN = np.zeros(1, np.int64)  # where the only matrix begins


class Lie(NamedTuple):
    """How matrices lie in memory, or in that of a copy, where that is needed.

    reach: how many numbers from the first to the last, if they are not all that lies there.
    order: that of their axes in memory, "C" or "F". offsets: where each begins. strides: of the
    last two axes, of which one is 1.
    """

    reach: int
    order: str
    offsets: np.ndarray
    strides: tuple[int, int]


def lie_of(layout, leading):
    """How matrices lie, as those of the batch `leading`. layout: see `layout_of`."""
    shape, strides, item = layout
    sm, sk = strides[-2] // item, strides[-1] // item
    if shape[-1] == 1:
        sk = 1
    elif shape[-2] == 1 and sk != 1:
        sm = 1
    flags = np.lib.stride_tricks.as_strided(np.empty(1, f"V{item}"), shape, strides).flags
    whole, order, reach = flags.forc, "C" if flags.c_contiguous else "F", 0
    if min(strides) < 0 or (sm != 1 and sk != 1):  # of a copy
        sm, sk, whole, order = shape[-1], 1, True, "C"
        strides = np.empty(shape, f"V{item}").strides
    if not whole:
        reach = 1 + sum((n - 1) * (s // item) for n, s in zip(shape, strides))
    if not leading:
        return Lie(reach, order, ORIGIN, (sm, sk))
    added, offsets = len(leading) - len(shape) + 2, np.zeros((), np.int64)
    for i, n in enumerate(leading):
        own = i >= added and shape[i - added] == n
        stride = strides[i - added] if own else 0
        offsets = offsets[..., None] + np.arange(n, dtype=np.int64) * (stride // item)
    return Lie(reach, order, offsets.reshape(-1), (sm, sk))


def layout_of(x):
    """The shape of an array, its strides, and the bytes of a number."""
    return x.shape, x.strides, x.itemsize


def reached(x, lie):
    """The memory that matrices lie in, flat, with what is not theirs."""
    return view(np.lib.stride_tricks.as_strided(x, (lie.reach,), (x.itemsize,)))


def laid(x, lie):
    """Matrices as they lie in memory, flat."""
    return reached(x, lie) if lie.reach else flat(x, lie.order)


class Plan(NamedTuple):
    """What products of matrices of one layout need: see `product`.

    shape: of the result. chunks, cost, workspace: of its Blocks; no chunks where nothing is added
    up. a, b: how the factors lie. places: what the kernel is told of both.
    """

    shape: tuple[int, ...]
    chunks: int = 0
    cost: float = 0
    workspace: int = 0
    a: Lie | None = None
    b: Lie | None = None
    places: tuple = ()

    @classmethod
    @lru_cache(512)
    def of(cls, a, b, threads):
        """The plan for factors of these layouts."""
        (*_, M, K), N = a[0], b[0][-1]
        leading = np.broadcast_shapes(a[0][:-2], b[0][:-2])
        shape = (*leading, M, N)
        if 0 in (*shape, K):
            return cls(shape)
        chunks, sizes, cost, workspace = blocks_of(math.prod(leading), M, N, K, threads)
        of_a, of_b = lie_of(a, leading), lie_of(b, leading)
        places = of_a.offsets, of_b.offsets, STEPS, sizes, of_a.strides + of_b.strides
        return cls(shape, chunks, cost, workspace, of_a, of_b, places)


NO_BIAS = {dtype: np.empty(0, kind) for dtype, kind in VIEWS.items()}


def product(a, b, dtype, bias=None, out=None):
    """A B + bias for arrays (..., M, K) and (..., K, N) stored in float16 or float32.

    bias: (N). dtype: of the result, (..., M, N), which is written into `out` if that is given.
    """
    layouts = (a.shape, a.strides, a.itemsize), (b.shape, b.strides, b.itemsize)
    shape, chunks, cost, workspace, of_a, of_b, places = Plan.of(*layouts, threads.number)
    y = np.empty(shape, dtype) if out is None else out
    if not chunks:
        if not y.size:
            return y
        a, b = (
            np.zeros((*a.shape[:-1], 1), a.dtype),
            np.zeros((*b.shape[:-2], 1, shape[-1]), b.dtype),
        )
        return product(a, b, dtype, bias, y)
    addends = NO_BIAS[y.dtype] if bias is None else bias
    a = reached(a, of_a) if of_a.reach else a if of_a.order == "C" else a.T
    b = reached(b, of_b) if of_b.reach else b if of_b.order == "C" else b.T
    product_blocks(chunks, a, b, addends, y, *places, cost=cost, workspace=workspace)
    return y
