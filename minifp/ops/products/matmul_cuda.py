"""Kernels of matmul.py for a GPU: products of cuBLAS; what is summed or added to them stays in
float32."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.products.matmul_numba import scaled_and_added
from minifp.runtime.cuda.pointwise import cast, sum_over
from minifp.runtime.cuda.product import product

SINGLE = np.dtype("float32")


def summed_to(a, b, shape, dtype):
    """The products, summed over the axes along which broadcasting stretched `shape`."""
    if a.dtype != b.dtype:  # as where a product is kept in float32
        a, b = cast(a, SINGLE), cast(b, SINGLE)
    leading = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    added = len(leading) + 2 - len(shape)
    axes = tuple(i for i, n in enumerate(leading) if i < added or n != shape[i - added])
    if not axes:
        return product(a, b, dtype).reshape(shape)
    if len(axes) == len(leading) == a.ndim - 2 == b.ndim - 2 and a.shape[:-2] == b.shape[:-2]:
        high = a.swapaxes(-1, -2)  # (..., K, M): in a and b, all k are one axis
        if high.flags.c_contiguous and b.flags.c_contiguous and a.size and b.size:
            a, b = high.reshape(-1, high.shape[-1]).T, b.reshape(-1, b.shape[-1])
            return product(a, b, dtype).reshape(shape)
    return sum_over(product(a, b, SINGLE), axes, dtype).reshape(shape)


@compiled_kernel(sums_in_half=True)
def matmul_forward(x, y, *, to, compute="float32"):
    return product(x, y, to[0], compute=compute)


@compiled_kernel
def dot_forward(x, y, *, to):
    return product(x, y, to[0])


@compiled_kernel
def matmul_dx(dz, y, *, shape, to):
    return summed_to(dz, y.swapaxes(-1, -2), shape, to[0])


@compiled_kernel
def matmul_dy(x, dz, *, shape, to):
    return summed_to(x.swapaxes(-1, -2), dz, shape, to[0])


@compiled_kernel
def addmm_forward(c, x, y, *, beta, alpha, to):
    if beta == 0:
        return product(x, y, to[0], alpha=alpha)
    if alpha == beta == 1 and c.shape == y.shape[1:]:
        return product(x, y, to[0], c)
    return scaled_and_added(product(x, y, SINGLE), c, alpha=alpha, beta=beta, to=to)


@compiled_kernel
def addmm_dx(dz, y, *, alpha, to):
    return product(dz, y.T, to[0], alpha=alpha)


@compiled_kernel
def addmm_dy(x, dz, *, alpha, to):
    return product(x.T, dz, to[0], alpha=alpha)
