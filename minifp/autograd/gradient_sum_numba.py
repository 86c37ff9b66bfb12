"""The compiled kernel of gradient_sum.py, for any device: one pass, one rounding."""

from minifp.numerics.dispatch import pointwise


@pointwise
def sum_of_gradients(x, y):
    """x + y."""
    return x + y
