"""Compiled kernels of linear.py: products in blocks, with the bias in them, rounded as they are
stored."""

from minifp.numerics.compiled import any_device, compiled_kernel
from minifp.numerics.dispatch import sum_over
from minifp.runtime.cpu.gemm import product


@compiled_kernel
def linear_forward(x, w, b, *, to):
    return product(x, w.T, to[0], b)


@compiled_kernel
def linear_dx(dy, w, *, to):
    return product(dy, w, to[0])


@compiled_kernel
def linear_dw(dy, x, *, to):
    return product(dy.T, x, to[0])


@any_device
def linear_db(dy, *, to):
    return sum_over(dy, (0,), to[0] or dy.dtype)
