"""The twins of linear.py: one product of cuBLAS each, with the bias in it."""

from minifp.cpu import twin
from minifp.cuda.product import product


@twin
def linear_forward(x, w, b, *, to):
    return product(x, w.T, to[0], b)


@twin
def linear_dx(dy, w, *, to):
    return product(dy, w, to[0])


@twin
def linear_dw(dy, x, *, to):
    return product(dy.T, x, to[0])
