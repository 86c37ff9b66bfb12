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


def lines_of(sizes, counts, factors, mode, align_corners):
    """What a kernel is told of both axes of pictures of these sizes, and counts."""
    axes = zip(sizes, counts, factors)
    lines = [interpolate_along(*axis, mode, align_corners) for axis in axes]
    return [(1, 1, np.float32(1), SAME)] * (2 - len(lines)) + lines


def resized(name, v, shape, lines, dtype):
    """Launch a kernel for the pictures v; None if there is none."""
    if not FLOATS.issuperset((v.dtype, dtype)):
        return None
    out = empty(shape, dtype)
    if out.size:
        arrays = contiguous(v), out, shape[0] * shape[1]
        TEXT(X=v.dtype, Y=dtype).launch(
            name, blocks_for(out.size), THREADS, *arrays, *lines[0], *lines[1]
        )
    return out


@compiled_kernel
def interpolate_forward(x, *, counts, factors, mode, align_corners, to):
    shape = (*x.shape[:2], *counts)
    lines = lines_of(x.shape[2:], counts, factors, mode, align_corners)
    return resized("resize", x, shape, lines, to[0] or x.dtype)


@compiled_kernel
def interpolate_dx(dy, *, sizes, factors, mode, align_corners, to):
    shape = (*dy.shape[:2], *sizes)
    lines = lines_of(sizes, dy.shape[2:], factors, mode, align_corners)
    return resized("resize_back", dy, shape, lines, to[0] or dy.dtype)
