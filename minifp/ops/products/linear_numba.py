"""Compiled kernels of linear.py: products in blocks, with the bias in them, rounded as they are
stored."""

from minifp.runtime.cpu import any_device, compiled_kernel
from minifp.runtime.cpu.gemm import product
from minifp.runtime.cpu.sums import sum_rows


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
    return sum_rows(dy, to[0] or dy.dtype)
