"""Kernels of padding.py for a GPU: borders are filled, or added up, in slices."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import as_stored
from minifp.ops.shaping.padding import borders_of, windows_of
from minifp.runtime.cuda.pointwise import F32, FLOATS, cast, in_format, sum_over
from minifp.runtime.device import full


@compiled_kernel
def pad_forward(x, *, widths, value, to):
    shape = [n + b + a for n, (b, a) in zip(x.shape, widths)]
    y = full(tuple(shape), as_stored(value, to[0]), to[0], like=x)
    source, target = windows_of(x.shape, widths)
    y[target] = in_format(x, to[0])[source]
    return y


@compiled_kernel
def pad_around_dx(dy, *, shape, widths, mode, to):
    dtype = to[0] or (dy.dtype if shape else F32)
    if not FLOATS.issuperset((dy.dtype, dtype)):
        return None
    total = cast(dy, F32)
    for axis, where, read in reversed(list(borders_of(widths, shape, mode))):
        border, place = total[where], total[read]
        if mode == "replicate":
            border = sum_over(border, (axis,), F32).reshape(place.shape)
        np.add(place, border, out=place)
    return cast(total[windows_of(shape, widths)[1]], dtype)
