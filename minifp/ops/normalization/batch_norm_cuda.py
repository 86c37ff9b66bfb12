"""Kernels of batch_norm.py for a GPU, and of all that is summed over planes or columns.

Statistics are those of blocks that hold their part of a channel in registers, so that x is read
once; they are joined as Chan, Golub and LeVeque (1979) do.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cuda.arrays import empty, is_aligned, zeros
from minifp.runtime.cuda.pointwise import F32, FLOATS, cast, sum_over
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import MOST_BLOCKS, THREADS, Text, blocks_for

TEXT = Text(__name__, "batch_norm.cu")
PACK = 8  # elements that are read at once
SHORT = 32  # elements of a channel, side by side, that are worth threads of their own
EACH = {1: (16, 8), PACK: (32, 16, 8)}  # elements of a thread: as many as leave enough blocks
ENOUGH = 512  # blocks


class Planes(NamedTuple):
    """Of N pictures C planes (channels, or groups of them) of L elements."""

    N: int
    C: int
    L: int


class Columns(NamedTuple):
    """(N, J, L) as blocks sum it over N and L: see batch_norm.cu. each: columns of a channel."""

    N: int
    J: int
    L: int
    length: int  # elements of a part of a column
    along: int  # threads of a column
    inner: int  # whether they lie side by side
    each: int
    pack: int

    @property
    def parts(self) -> int:
        """Parts of a column."""
        return -(-self.N * self.L // self.length)

    @property
    def blocks(self) -> int:
        """Blocks of a launch."""
        return min(16 * MOST_BLOCKS, -(-self.J * self.along // THREADS) * self.parts)


def columns_of(N: int, C: int, L: int, *arrays: Any) -> Columns:
    """How (N, C, L), none of them 0, is summed; arrays: all that is read."""
    inner, each = L >= SHORT or N == 1, 1
    if not inner:
        C, L, each = C * L, 1, L
    pack = PACK if L % PACK == 0 and all(map(is_aligned, arrays)) else 1
    count = N * L
    if inner:
        along = min(THREADS, _power_above(-(-count // 8)))
    else:
        along = THREADS // min(32, _power_above(C))
    groups = -(-C * along // THREADS)
    some = next((e for e in EACH[pack] if groups * -(-count // (along * e)) >= ENOUGH), 8)
    return Columns(N, C, L, along * some, along, int(inner), each, pack)


def _power_above(n):
    return 1 << max(0, n - 1).bit_length()


def moments(x, planes, eps=-1.0):
    """(2, C): means and variances of (N, C, L), or with an eps 1 / sqrt(variance + eps).

    Of nothing, nothing is set.
    """
    N, C, L = planes
    if not x.size:
        return empty((2, C), F32)
    given = columns_of(N, C, L, x)
    found = empty((2, given.parts, given.J), F32)
    joined = given.parts * given.each > 1
    module = TEXT(X=x.dtype, D=x.dtype, Y=F32, PACK=given.pack)
    module.launch("plane_moments", given.blocks, THREADS, x, *found, int(joined), eps, *given[:6])
    if not joined:
        return found.reshape(2, C)
    out = empty((2, C), F32)
    sizes = C, given.each, N * given.L, given.length
    module.launch("joined_moments", min(C, MOST_BLOCKS), THREADS, *found, *out, *sizes, eps)
    return out


def gradient_sums(dy, x, m, v, planes, *, eps=-1.0, per=1):
    """(2, C), float32: sums over N and L of dy h and of dy, where h = (x - m) r.

    v: of r or, with an eps, of 1 / r^2 - eps. m and v are at the channel's number divided by `per`.
    """
    N, C, L = planes
    if not x.size:
        return zeros((2, C), F32)
    given = columns_of(N, C, L, dy, x)
    sums = empty((2, given.parts, C, given.each), F32)
    arrays = dy, x, m, v, sums
    TEXT(X=x.dtype, D=dy.dtype, Y=F32, PACK=given.pack).launch(
        "plane_gradient_sums", given.blocks, THREADS, *arrays, eps, per * given.each, *given[:6]
    )
    one = given.parts * given.each == 1
    return sums.reshape(2, C) if one else sum_over(sums, (1, 3), F32)


def pointer(a):
    """An array for a kernel, which may be missing."""
    return 0 if a is None else a


def single(a):
    """An array or None, in float32 and C order."""
    if a is None:
        return None
    return contiguous(a) if a.dtype == F32 else cast(a, F32)


def pack_of(*arrays):
    """How many elements are read at once, one after the other."""
    return PACK if all(map(is_aligned, arrays)) else 1


def normalised(x, w, b, m, v, planes, dtype, *, per=0, eps=-1.0):
    """h w + b of planes, stored in `dtype`."""
    y = empty(x.shape, dtype)
    if y.size:
        pack = pack_of(x)
        arrays = x, pointer(w), pointer(b), m, v, y
        numbers = y.size, planes.C, planes.L, per, eps
        TEXT(X=x.dtype, D=x.dtype, Y=dtype, PACK=pack).launch(
            "normalised_planes", blocks_for(y.size, each=pack), THREADS, *arrays, *numbers
        )
    return y


def gradient(dy, x, w, m, v, sums, planes, dtype, *, per=0, eps=-1.0, share=1.0):
    """dx of the same. sums: (2, ...) of dy h and dy, times `share`; None for constant m and v."""
    dx = empty(x.shape, dtype)
    if dx.size:
        pack, sums = pack_of(dy, x), (0, 0) if sums is None else sums
        arrays = dy, x, pointer(w), m, v, *sums, dx
        numbers = dx.size, planes.C, planes.L, per, eps, share
        TEXT(X=x.dtype, D=dy.dtype, Y=dtype, PACK=pack).launch(
            "planes_dx", blocks_for(dx.size, each=pack), THREADS, *arrays, *numbers
        )
    return dx


def known(to, *arrays):
    """Whether there are kernels for these formats of results and arrays."""
    return FLOATS.issuperset((*to, *(a.dtype for a in arrays)))


def planes_of(x):
    """The Planes of x (N, C, ...)."""
    N, C, *sizes = x.shape
    return Planes(N, C, math.prod(sizes))


@compiled_kernel
def batch_norm_statistics(x, *, to):
    if not x.size or not known(to, x):
        return None
    m, v = moments(contiguous(x), planes_of(x))
    return stored(m, to[0]), stored(v, to[1])


def stored(x, dtype):
    """x in this format."""
    return x if x.dtype == np.dtype(dtype) else cast(x, dtype)


@compiled_kernel
def batch_norm_forward(x, w, b, m, v, *, eps, to):
    if not known(to, x):
        return None
    w, b, m, v = map(single, (w, b, m, v))
    return normalised(contiguous(x), w, b, m, v, planes_of(x), to[0], eps=eps)


@compiled_kernel
def batch_norm_dx(dy, x, w, m, v, *, eps, constant, to):
    if not known(to, dy, x):
        return None
    planes, dy, x = planes_of(x), contiguous(dy), contiguous(x)
    w, m, v = map(single, (w, m, v))
    sums = gradient_sums(dy, x, m, v, planes, eps=eps)
    used, share = None if constant else sums, 1 / max(1, planes.N * planes.L)
    dx = gradient(dy, x, w, m, v, used, planes, to[0], eps=eps, share=share)
    return dx, stored(sums[0], to[1]), stored(sums[1], to[2])
