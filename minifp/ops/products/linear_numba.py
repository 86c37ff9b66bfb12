"""Compiled kernels of linear.py for any device: products with the bias in them, rounded as they are
stored."""

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import PRODUCT, SUM_OVER


@any_device(sums_in_half=True)
def linear_forward(x, w, b, *, to, **sums):
    return PRODUCT[type(x)](x, w.T, to[0], b, **sums)


@any_device(sums_in_half=True)
def linear_dx(dy, w, *, to, **sums):
    return PRODUCT[type(dy)](dy, w, to[0], **sums)


@any_device(sums_in_half=True)
def linear_dw(dy, x, *, to, **sums):
    return PRODUCT[type(dy)](dy.T, x, to[0], **sums)


@any_device
def linear_db(dy, *, to):
    return SUM_OVER[type(dy)](dy, (0,), to[0] or dy.dtype)
