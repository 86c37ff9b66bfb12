"""Kernels of avg_pool.py for a GPU: a thread a window, and for dx a thread a place."""

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
from minifp.runtime.cuda.pointwise import sum_over

TEXT = PoolText(__name__, "avg_pool.cu")


def is_whole(axes):
    """Whether there is one window, of the whole picture."""
    return all(a.count == 1 and not a.padding and a.size == a.n for a in axes)


@compiled_kernel
def avg_pool_forward(x, *, axes, include_pad, override, to):
    x = whole(x, to[0])
    if x is None:
        return None
    y = pooled(x, axes, to[0] or x.dtype)
    count = pictures(x.shape, axes)
    if is_whole(axes) and x.size:
        places = x.size // count
        of_pictures = x.reshape(count, places)
        return sum_over(of_pictures, (1,), y.dtype, 1 / (override or places)).reshape(y.shape)
    module = TEXT(X=x.dtype, Y=y.dtype, LANES=lanes(axes))
    given = x, y, count, int(include_pad), float(override or 0)
    launch(module, "avg_pool", axes, y.size, lanes(axes), *given)
    return y


@compiled_kernel
def avg_pool_dx(dy, *, axes, include_pad, override, to):
    dy = whole(dy, to[0])
    if dy is None:
        return None
    dx = spread(dy, axes, to[0] or dy.dtype)
    given = dy, dx, pictures(dy.shape, axes), int(include_pad), float(override or 0)
    launch(TEXT(X=dy.dtype, Y=dx.dtype, LANES=1), "avg_pool_dx", axes, dx.size, 1, *given)
    return dx
