"""Kernels of interpolate.py for a GPU. A sequence is a picture of one row."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import THREADS, Text, blocks_for

TEXT = Text(__name__, "interpolate.cu")
SAME, NEAREST, NEAREST_EXACT, LINEAR, ALIGNED = range(5)


def interpolate_along(n, count, factor, mode, align_corners):
    """What a kernel is told of an axis; the ratio as by `taps`."""
    single = np.float32
    if "linear" in mode:
        kind = SAME if n == count else ALIGNED if align_corners else LINEAR
    else:
        kind = NEAREST if mode == "nearest" else NEAREST_EXACT
    if align_corners:
        ratio = single(n - 1) / single(max(count - 1, 1))
    else:
        ratio = single(n) / single(count) if factor is None else single(1 / factor)
    return n, count, ratio, kind


def resized(name, v, shape, sizes, counts, factors, dtype, mode, align_corners):
    """Launch a kernel for pictures of these sizes, and counts; None if there is none."""
    if not FLOATS.issuperset((v.dtype, dtype)):
        return None
    out = empty(shape, dtype)
    if out.size:
        lines = [
            interpolate_along(*one, mode, align_corners) for one in zip(sizes, counts, factors)
        ]
        lines = [(1, 1, np.float32(1), SAME)] * (2 - len(lines)) + lines
        TEXT(X=v.dtype, Y=dtype).launch(
            *(name, blocks_for(out.size), THREADS, contiguous(v), out, shape[0] * shape[1]),
            *(*lines[0], *lines[1]),
        )
    return out


@compiled_kernel
def interpolate_forward(x, *, counts, factors, mode, align_corners, to):
    shape = (*x.shape[:2], *counts)
    given = x.shape[2:], counts, factors, to[0] or x.dtype, mode, align_corners
    return resized("resize", x, shape, *given)


@compiled_kernel
def interpolate_dx(dy, *, sizes, factors, mode, align_corners, to):
    shape = (*dy.shape[:2], *sizes)
    given = sizes, dy.shape[2:], factors, to[0] or dy.dtype, mode, align_corners
    return resized("resize_back", dy, shape, *given)
