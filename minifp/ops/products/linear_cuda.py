"""Kernels of linear.py for a GPU: one product of cuBLAS each, with the bias in it."""

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cuda.product import product


@compiled_kernel(sums_in_half=True)
def linear_forward(x, w, b, *, to, compute="float32"):
    return product(x, w.T, to[0], b, compute=compute)


@compiled_kernel(sums_in_half=True)
def linear_dx(dy, w, *, to, compute="float32"):
    return product(dy, w, to[0], compute=compute)


@compiled_kernel(sums_in_half=True)
def linear_dw(dy, x, *, to, compute="float32"):
    return product(dy.T, x, to[0], compute=compute)
