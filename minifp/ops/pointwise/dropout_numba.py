"""Compiled kernels of dropout.py."""

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import pointwise


@pointwise
def masked_and_scaled(x, mask, *, factor):
    return x * mask * factor


@any_device
def dropout_forward(x, mask, *, p, to):
    return masked_and_scaled(x, mask, to=to, factor=1 / (1 - p))


dropout_dx = dropout_forward
