"""Kernels of local_response_norm.py for a GPU: a thread an element."""

import math

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import F32, FLOATS
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import THREADS, Text, blocks_for

TEXT = Text(__name__, "local_response_norm.cu")


def geometry(x, size):
    """What kernels are told of (N, C, ...) and its windows: elements, C, L, before, after."""
    return x.size, x.shape[1], math.prod(x.shape[2:]), size // 2, (size - 1) // 2


@compiled_kernel
def local_response_norm_forward(x, *, size, alpha, beta, k, to):
    if not FLOATS.issuperset((x.dtype, to[0])):
        return None
    y = empty(x.shape, to[0])
    if x.size:
        numbers = *geometry(x, size), alpha / size, beta, k
        TEXT(X=x.dtype, D=x.dtype, Y=y.dtype).launch(
            "normalised", blocks_for(x.size), THREADS, contiguous(x), y, *numbers
        )
    return y


@compiled_kernel
def local_response_norm_dx(dy, x, *, size, alpha, beta, k, to):
    if not FLOATS.issuperset((dy.dtype, x.dtype, to[0])):
        return None
    dx = empty(x.shape, to[0])
    if x.size:
        dy, x = contiguous(dy), contiguous(x)
        direct, shared, blocks = empty(x.shape, F32), empty(x.shape, F32), blocks_for(x.size)
        windows = geometry(x, size)
        module = TEXT(X=x.dtype, D=dy.dtype, Y=dx.dtype)
        module.launch(
            "shares", blocks, THREADS, dy, x, direct, shared, *windows, alpha / size, beta, k
        )
        factor = 2 * alpha * beta / size
        module.launch("gradient", blocks, THREADS, x, direct, shared, dx, *windows, factor)
    return dx
