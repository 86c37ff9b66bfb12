"""z = x y.   x: (..., M, K)  y: (..., K, N)  z: (..., M, N).   dx = dz yT,  dy = xT dz.

Products are summed in `accumulate` (float32 unless asked) and rounded once.
"""

import numpy as np

from minifp.backend import kernel
from minifp.errors import ShapeError
from minifp.ops.pointwise import sum_to
from minifp.policy import GIVEN
from minifp.recording import op


@kernel("dot", "x y")
def matmul_forward(x, y, *, dot):
    return dot(x, y)


@kernel("dot", GIVEN)
def matmul_dx(dz, y, *, shape, dot, sum):
    return sum_to(dot(dz, np.swapaxes(y, -1, -2)), shape, sum)


@kernel("dot", GIVEN)
def matmul_dy(x, dz, *, shape, dot, sum):
    return sum_to(dot(np.swapaxes(x, -1, -2), dz), shape, sum)


def matmul_backward(dz, x, y, to):
    return (
        None if to[0] is None else matmul_dx(dz, y, shape=x.shape, to=to[0]),
        None if to[1] is None else matmul_dy(x, dz, shape=y.shape, to=to[1]),
    )


@op
def matmul_(x, y):
    if x.shape[-1] != y.shape[-2]:
        raise ShapeError(
            f"matmul of {x.shape} with {y.shape}: the last size of the first ({x.shape[-1]}) "
            f"and the last but one of the second ({y.shape[-2]}) must be equal"
        )
    return matmul_forward(x, y), (x, y), matmul_backward


def matmul(x, y):
    """The matrix product, with vectors and broadcast batches as in NumPy and PyTorch."""
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(f"matmul of shapes {x.shape} and {y.shape}: use * for scalars")
    a = x.reshape(1, -1) if x.ndim == 1 else x
    b = y.reshape(-1, 1) if y.ndim == 1 else y
    z = matmul_(a, b)
    shape = (
        z.shape[:-2] + (z.shape[-2:-1] if x.ndim > 1 else ()) + (z.shape[-1:] if y.ndim > 1 else ())
    )
    return z if z.shape == shape else z.reshape(shape)
