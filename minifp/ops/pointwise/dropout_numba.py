"""Compiled kernels of dropout.py."""

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import pointwise


@pointwise
def kept(x, mask, *, factor):
    return x * mask * factor


@any_device
def dropout_forward(x, mask, *, p, to):
    return kept(x, mask, to=to, factor=1 / (1 - p))


dropout_dx = dropout_forward
