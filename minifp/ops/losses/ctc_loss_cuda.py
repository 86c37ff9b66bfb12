"""Kernels of ctc_loss.py for a GPU."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32, float64
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import MOST_BLOCKS, THREADS, Text, blocks_for

TEXT = Text(__name__, "ctc_loss.cu")
INTEGER = np.dtype("int64")


def started(x, labels, steps, lengths, blank, kept):
    """(sizes, what all kernels read, rows of alpha, offsets, losses), the last being computed."""
    (T, N, C), L = x.shape, labels.shape[1]
    read = [contiguous(x), *map(contiguous, (labels, steps, lengths))]
    rows, offsets = empty((N, kept, 2 * L + 1), float32), empty((N, T), float64)
    losses, sizes = empty((N,), float64), (T, N, C, L, blank)
    TEXT(X=x.dtype, D=float32, Y=float32, THREADS=THREADS).launch(
        "ctc_alphas", min(N, MOST_BLOCKS), THREADS, *read, rows, offsets, losses, *sizes, kept
    )
    return sizes, read, rows, offsets, losses


def are_ours(indices, *formats):
    """Whether all numbers are of formats that kernels read and write, and indices of 64 bits."""
    return FLOATS.issuperset(formats) and all(a.dtype == INTEGER for a in indices)


@compiled_kernel
def ctc_loss_each(x, labels, steps, lengths, *, blank, zero_infinity, to):
    if not are_ours((labels, steps, lengths), x.dtype, to[0]):
        return None
    N = x.shape[1]
    y = empty((N,), to[0])
    if N:
        *_, losses = started(x, labels, steps, lengths, blank, 2)
        TEXT(X=x.dtype, D=float32, Y=to[0], THREADS=THREADS).launch(
            "ctc_each", blocks_for(N), THREADS, losses, y, N, int(zero_infinity)
        )
    return y


@compiled_kernel
def ctc_loss_total(x, labels, steps, lengths, *, blank, zero_infinity, reduction, to):
    if not are_ours((labels, steps, lengths), x.dtype, to[0]) or not x.shape[1]:
        return None
    _, (*_, counts), *_, losses = started(x, labels, steps, lengths, blank, 2)
    y, how = empty((), to[0]), (int(zero_infinity), int(reduction == "mean"))
    TEXT(X=x.dtype, D=float32, Y=to[0], THREADS=THREADS).launch(
        "ctc_total", 1, THREADS, losses, counts, y, x.shape[1], *how
    )
    return y


@compiled_kernel
def ctc_loss_dx(dl, x, labels, steps, lengths, *, blank, zero_infinity, reduction, to):
    dtype = to[0] or x.dtype
    if not are_ours((labels, steps, lengths), dl.dtype, x.dtype, dtype):
        return None
    dx = empty(x.shape, dtype)
    if not dx.size:
        return dx
    T, N, _ = x.shape
    sizes, read, rows, offsets, losses = started(x, labels, steps, lengths, blank, T)
    work = empty((N, 3, rows.shape[2]), float32)
    how = int(dl.size > 1), int(zero_infinity), int(reduction == "mean")
    arrays = rows, offsets, losses, work, dx
    TEXT(X=x.dtype, D=dl.dtype, Y=dtype, THREADS=THREADS).launch(
        "ctc_gradients", min(N, MOST_BLOCKS), THREADS, contiguous(dl), *read, *arrays, *sizes, *how
    )
    return dx
