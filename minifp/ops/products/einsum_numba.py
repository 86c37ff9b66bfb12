"""Compiled kernels of einsum.py for any device: the same contraction, with matmul's products."""

from functools import partial

import numpy as np

from minifp.numerics.compiled import any_device
from minifp.numerics.dispatch import SUM_OVER
from minifp.ops.products.einsum import contract
from minifp.ops.products.matmul_numba import SINGLE, times
from minifp.runtime.cpu.kernels.half import VIEWS


def contracted(x, y, left, right, out, dtype):
    """The contraction, stored; None for what are no floating numbers."""
    if not VIEWS.keys() >= {x.dtype, y.dtype, dtype}:
        return None
    z = contract(x, y, left, right, out, partial(times, dtype=dtype), in_float32)
    return z if z.flags.c_contiguous else z.copy()


def in_float32(x, axis):
    """What is summed alone, before the product."""
    return SUM_OVER[type(x)](x, axis, SINGLE)


@any_device
def einsum_forward(x, y, *, left, right, out, to):
    return contracted(x, y, left, right, out, to[0])


@any_device
def einsum_number(x, y, *, left, right, to):
    return contracted(x, y, left, right, (), to[0])


@any_device
def einsum_dx(dz, y, *, left, right, out, shape, to):
    wanted = [n for n, size in zip(left, shape) if size != 1 and (n in out or n in right)]
    dx = contracted(dz, y, out, right, tuple(wanted), to[0])
    if dx is None:
        return None
    dx = dx.reshape([dx.shape[wanted.index(n)] if n in wanted else 1 for n in left])
    return dx if dx.shape == shape else np.broadcast_to(dx, shape).copy()
