"""Compiled kernels of padding.py: a constant border is a copy of what is stored."""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import downcast, float32
from minifp.ops.shaping.indexing_numba import add_places
from minifp.ops.shaping.padding import MODES, windows_of


@compiled_kernel
def pad_forward(x, *, widths, value, to):
    if x.dtype != to[0]:
        return None
    border = downcast(np.asarray(value, float32), x.dtype)
    y = np.full([n + b + a for n, (b, a) in zip(x.shape, widths)], border)
    source, target = windows_of(x.shape, widths)
    y[target] = x[source]
    return y


@compiled_kernel
def pad_around_dx(dy, *, shape, widths, mode, to):
    first = next((i for i, width in enumerate(widths) if width != (0, 0)), len(shape))
    n = math.prod(shape[first:])
    read = np.pad(np.arange(n).reshape(shape[first:]), widths[first:], mode=MODES[mode])
    dy = dy.reshape(math.prod(shape[:first]), read.size, 1)
    return add_places(dy, read.reshape(-1), n, to[0] or dy.dtype).reshape(shape)
