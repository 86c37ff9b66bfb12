"""Kernels of max_pool.py for a GPU: a thread a window, and for dx a thread a place."""

from math import prod

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.pooling.pool_windows_cuda import (
    PoolText,
    lanes,
    launch,
    pictures,
    pooled,
    spread,
    whole,
)

TEXT = PoolText(__name__, "max_pool.cu")


@compiled_kernel
def max_pool_forward(x, *, axes, to):
    x = whole(x, to[0])
    if x is None:
        return None
    y = pooled(x, axes, to[0])
    chosen = pooled(x, axes, np.uint8 if prod(a.size for a in axes) <= 256 else np.int32)
    module = TEXT(X=x.dtype, Y=y.dtype, K=chosen.dtype, LANES=lanes(axes))
    given = x, y, chosen, pictures(x.shape, axes)
    launch(module, "max_pool", axes, y.size, lanes(axes), *given)
    return y, chosen


@compiled_kernel
def max_pool_dx(dy, chosen, *, axes, to):
    dy = whole(dy, to[0])
    if dy is None:
        return None
    dx = spread(dy, axes, to[0] or dy.dtype)
    chosen = chosen if chosen.flags.c_contiguous else chosen.copy()
    module = TEXT(X=dy.dtype, Y=dx.dtype, K=chosen.dtype, LANES=1)
    launch(module, "max_pool_dx", axes, dx.size, 1, dy, chosen, dx, pictures(dy.shape, axes))
    return dx
