"""The compiled kernel of gradient_sum.py, for any device: one pass, one rounding."""

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import pointwise


@pointwise
def sum_of_gradients(x, y):
    """x + y."""
    return x + y


@any_device
def add(x, y, dtype):
    return sum_of_gradients(x, y, to=(dtype,))
