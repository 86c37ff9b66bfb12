"""Compiled kernels of einsum.py: the same contraction, with products in blocks."""

from functools import partial

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.products.einsum import contract
from minifp.ops.products.matmul_numba import SINGLE, times
from minifp.runtime.cpu.sums import sum_over


def contracted(x, y, left, right, out, dtype):
    """The contraction, stored."""
    sums = partial(sum_over, dtype=SINGLE)  # of what is summed alone, before the product
    z = contract(x, y, left, right, out, partial(times, dtype=dtype), lambda x, axis: sums(x, axis))
    return np.asarray(z, order="C")


@compiled_kernel
def einsum_forward(x, y, *, left, right, out, to):
    return contracted(x, y, left, right, out, to[0])


@compiled_kernel
def einsum_number(x, y, *, left, right, to):
    return contracted(x, y, left, right, (), to[0])


@compiled_kernel
def einsum_dx(dz, y, *, left, right, out, shape, to):
    wanted = [n for n, size in zip(left, shape) if size != 1 and (n in out or n in right)]
    dx = contracted(dz, y, out, right, tuple(wanted), to[0])
    sizes = [dx.shape[wanted.index(n)] if n in wanted else 1 for n in left]
    dx = dx.reshape(sizes)
    return dx if dx.shape == shape else np.array(np.broadcast_to(dx, shape))
