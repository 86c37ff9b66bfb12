"""Compiled kernels of elementwise.py."""

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import SUM_OVER, pointwise
from minifp.numerics.formats import float32
from minifp.runtime.cpu.kernels.pointwise import FLOATS
from minifp.runtime.shapes import stretched


@pointwise
def times_factor(x, *, factor):
    return factor * x


@any_device
def scale_to(dz, *, factor, shape, to):
    dtype = to[0] or (dz.dtype if shape else float32)
    if dz.shape == shape:
        return times_factor(dz, to=(dtype,), factor=factor)
    if dz.dtype not in FLOATS or dtype not in FLOATS:
        return None
    found = SUM_OVER[type(dz)](dz, stretched(dz.shape, shape), dtype, factor)
    return None if found is None else found.reshape(shape)


@any_device
def reduce_to(dz, *, shape, to):
    return scale_to(dz, factor=1.0, shape=shape, to=to)
