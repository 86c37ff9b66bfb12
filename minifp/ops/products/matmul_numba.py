"""Compiled kernels of matmul.py for any device: on the CPU products in blocks, and of vectors sums
along what lies in a row; on a GPU products of cuBLAS."""

import numpy as np

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import PRODUCT, SUM_OVER, pointwise
from minifp.runtime.cpu.kernels.gemm import laid, layout_of, lie_of
from minifp.runtime.cpu.kernels.half import VIEWS, load, store
from minifp.runtime.cpu.kernels.pool import parallel, spans, view
from minifp.runtime.cuda.arrays import is_on_device

SINGLE = np.dtype("float32")
BLOCK = 512  # products that are added up in float32 vectors before their sum goes into float64
ROWS = 16  # the same of products one after the other
WIDTH = 1024  # rows of a chunk, of a matrix whose columns are contiguous
NANOSECONDS = 0.3  # a product

# ---- with vectors -------------------------------------------------------------------------------


@parallel(sums=True)
def dot_rows(chunk, scratch, per, M, K, sm, ia, ib, a, b, out):
    """out[p, m] = sum_k a[p, m, k] b[p, k], for rows that are contiguous."""
    for i in range(chunk * per, min((chunk + 1) * per, len(ia) * M)):
        p, m = i // M, i % M
        x, y, total = ia[p] + m * sm, ib[p], 0.0
        for k0 in range(0, K, BLOCK):
            part = np.float32(0)
            for k in range(k0, min(k0 + BLOCK, K)):
                part += load(a, x + k) * load(b, y + k)
            total += part
        store(out, i, total)


@parallel
def dot_columns(chunk, scratch, per, M, K, sk, ia, ib, a, b, out):
    """The same for columns that are contiguous, `sk` apart; `per` rows a chunk."""
    parts = (M + per - 1) // per
    p, m0 = chunk // parts, chunk % parts * per
    n = min(per, M - m0)
    total, part = scratch[: 2 * n].view(np.float64), scratch[2 * n : 3 * n]
    total[:] = 0
    for k0 in range(0, K, ROWS):
        part[:] = 0
        for k in range(k0, min(k0 + ROWS, K)):
            at, y = ia[p] + k * sk + m0, load(b, ib[p] + k)
            for m in range(n):
                part[m] += load(a, at + m) * y
        for m in range(n):
            total[m] += part[m]
    for m in range(n):
        store(out, p * M + m0 + m, total[m])


def times_vector(a, b, dtype):
    """The products (..., M) of matrices (..., M, K) with vectors (..., K)."""
    M, K = a.shape[-2:]
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-1])
    out = np.empty((*leading, M), dtype)
    if not out.size or not K:
        out[...] = 0
        return out
    if b.strides[-1] != b.itemsize or min(b.strides) < 0:
        b = np.ascontiguousarray(b)
    vectors = b[..., None]
    of_a, of_b = lie_of(layout_of(a), leading), lie_of(layout_of(vectors), leading)
    ia, ib, (sm, sk) = of_a.offsets, of_b.offsets, of_a.strides
    given = ia, ib, laid(a, of_a), laid(vectors, of_b), view(out).reshape(-1)
    cost = out.size * K * NANOSECONDS
    if sk == 1:
        chunks, per = spans(out.size, max(1, WIDTH * ROWS // K))
        dot_rows(chunks, per, M, K, sm, *given, cost=cost)
    else:
        per = min(M, max(64, WIDTH * ROWS // K))
        chunks = len(ia) * -(-M // per)
        dot_columns(chunks, per, M, K, sk, *given, cost=cost, workspace=3 * per)
    return out


# ---- with matrices ------------------------------------------------------------------------------


def times(x, y, dtype, alpha=1.0, **sums):
    """alpha times the products (..., M, N) of matrices (..., M, K) and (..., K, N).

    sums: on a GPU, in what products are summed, compute and chunk. None for what are no floating
    numbers.
    """
    if not VIEWS.keys() >= {x.dtype, y.dtype}:
        return None
    if is_on_device(x):
        return PRODUCT[type(x)](x, y, dtype, alpha=alpha, **sums)
    if alpha != 1:
        return scaled(times(x, y, SINGLE), alpha=alpha, to=(dtype,))
    if y.shape[-1] == 1:
        return times_vector(x, y[..., 0], dtype)[..., None]
    if x.shape[-2] == 1:
        return times_vector(y.swapaxes(-1, -2), x[..., 0, :], dtype)[..., None, :]
    if x.ndim > 2 and y.ndim == 2 and x.flags.c_contiguous and x.size:  # one tall product
        z = PRODUCT[type(x)](x.reshape(-1, x.shape[-1]), y, dtype)
        return z.reshape(*x.shape[:-1], y.shape[-1])
    return PRODUCT[type(x)](x, y, dtype)


def summed_to(a, b, shape, dtype, alpha=1.0):
    """The same, summed over the axes along which broadcasting stretched `shape`."""
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    added = len(leading) + 2 - len(shape)
    axes = tuple(i for i, n in enumerate(leading) if i < added or n != shape[i - added])
    if len(axes) == len(leading) == a.ndim - 2 == b.ndim - 2 and a.shape[:-2] == b.shape[:-2]:
        high = a.swapaxes(-1, -2)  # (..., K, M): in a and b, all k are one axis
        if high.flags.c_contiguous and b.flags.c_contiguous and a.size and b.size:
            a, b, axes = high.reshape(-1, high.shape[-1]).T, b.reshape(-1, b.shape[-1]), ()
    z = times(a, b, SINGLE if axes else dtype, 1.0 if axes else alpha)
    if z is None:
        return None
    return (SUM_OVER[type(z)](z, axes, dtype, alpha) if axes else z).reshape(shape)


@any_device(sums_in_half=True)
def matmul_forward(x, y, *, to, **sums):
    return times(x, y, to[0], **sums)


@any_device
def dot_forward(x, y, *, to):
    return times(x, y, to[0])


@any_device
def matmul_dx(dz, y, *, shape, to):
    return summed_to(dz, y.swapaxes(-1, -2), shape, to[0])


@any_device
def matmul_dy(x, dz, *, shape, to):
    return summed_to(x.swapaxes(-1, -2), dz, shape, to[0])


# ---- added to a matrix --------------------------------------------------------------------------


@pointwise
def scaled(z, *, alpha):
    return alpha * z


@pointwise
def scaled_and_added(z, c, *, alpha, beta):
    return alpha * z + beta * c


@any_device
def addmm_forward(c, x, y, *, beta, alpha, to):
    if beta == 0:
        return times(x, y, to[0], alpha)
    if alpha == beta == 1 and (c.size,) == c.shape[-1:] == y.shape[1:]:
        return PRODUCT[type(x)](x, y, to[0], c.reshape(-1))
    return scaled_and_added(times(x, y, SINGLE), c, alpha=alpha, beta=beta, to=to)


@any_device
def addmm_dx(dz, y, *, alpha, to):
    return times(dz, y.T, to[0], alpha)


@any_device
def addmm_dy(x, dz, *, alpha, to):
    return times(x.T, dz, to[0], alpha)
