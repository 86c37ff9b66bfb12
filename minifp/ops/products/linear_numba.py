"""Compiled kernels of linear.py for any device: products with the bias in them, rounded as they are
stored."""

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import product, sum_over


@any_device(sums_in_half=True)
def linear_forward(x, w, b, *, to, **sums):
    return product(x, w.T, to[0], b, **sums)


@any_device(sums_in_half=True)
def linear_dx(dy, w, *, to, **sums):
    return product(dy, w, to[0], **sums)


@any_device(sums_in_half=True)
def linear_dw(dy, x, *, to, **sums):
    return product(dy.T, x, to[0], **sums)


@any_device
def linear_db(dy, *, to):
    return sum_over(dy, (0,), to[0] or dy.dtype)
