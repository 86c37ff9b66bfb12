"""Compiled kernels of where.py."""

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import pointwise, summed
from minifp.runtime.cpu.math import HALF, NOTHING, ONE


@pointwise
def where_forward(condition, x, y):
    return x if condition != NOTHING else y


@pointwise
def where_only(condition, dz):
    return dz if condition != NOTHING else NOTHING


@any_device
def where_gradient(condition, dz, *, shape, to):
    return summed(where_only, (condition, dz), dz.shape, shape, to[0])


@any_device
def masked_fill_forward(x, mask, value, *, to):
    return where_forward(mask, value, x, to=to)


@pointwise
def lerp_forward(x, y, w):
    return x + w * (y - x) if abs(w) < HALF else y - (ONE - w) * (y - x)


@pointwise
def lerp_from(dz, w):
    return dz * (ONE - w)


@pointwise
def lerp_towards(dz, w):
    return dz * w


@pointwise
def lerp_between(dz, x, y):
    return dz * (y - x)


@any_device
def lerp_dx(dz, w, *, shape, to):
    return summed(lerp_from, (dz, w), dz.shape, shape, to[0])


@any_device
def lerp_dy(dz, w, *, shape, to):
    return summed(lerp_towards, (dz, w), dz.shape, shape, to[0])


@any_device
def lerp_dw(dz, x, y, *, shape, to):
    return summed(lerp_between, (dz, x, y), dz.shape, shape, to[0])
