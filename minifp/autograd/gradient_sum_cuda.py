"""Kernels of gradient_sum.py for a GPU."""

from minifp.runtime.cuda.pointwise import Formula, run


def total(x, y):
    """x + y."""
    return x + y


TOTAL = Formula(total, 2)


def added(x, y, out):
    """out = x + y, for device arrays of one shape in any formats: out may be one of them."""
    return run(TOTAL, (x, y), out.dtype, (), out)
