"""Kernels of einsum.py for a GPU: the same contraction, with products of cuBLAS."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.products.einsum import contract
from minifp.runtime.cuda.pointwise import F32, FLOATS, cast, sum_over
from minifp.runtime.cuda.product import product


def contracted(x, y, left, right, out, dtype):
    """The contraction, stored; None for what there is no kernel for."""
    if not FLOATS.issuperset((x.dtype, y.dtype, dtype)):
        return None

    def dot(a, b):
        if a.dtype != b.dtype:  # as where one was summed before
            a, b = (v if v.dtype == F32 else cast(v, F32) for v in (a, b))
        return product(a, b, dtype)

    z = contract(x, y, left, right, out, dot, lambda x, axis: sum_over(x, axis, F32))
    return z if z.flags.c_contiguous else z.copy()


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
    if dx is None:
        return None
    dx = dx.reshape([dx.shape[wanted.index(n)] if n in wanted else 1 for n in left])
    return dx if dx.shape == shape else np.broadcast_to(dx, shape).copy()
