"""z = x y.   x: (..., M, K)  y: (..., K, N)  z: (..., M, N).   dx = dz yT,  dy = xT dz.

And, with c: (M, N) or what broadcasts to it:  z = beta c + alpha x y;  dc = beta dz.

Products are summed in `accumulate` (float32 unless asked) and rounded once. A product of two
vectors is one number and is not rounded to a storage format at all, as other sums to a scalar.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.arguments import check_tensors
from minifp.ops.elementwise import as_numbers, check_operands, pass_to, sum_to
from minifp.ops.public import public
from minifp.runtime.device import as_array, is_array_like


@kernel("dot", "x y", operands={"x": (-1,), "y": (-2,)})
def matmul_forward(x, y, *, dot):
    return dot(x, y)


@kernel("dot", COMPUTE, operands={"x": (-1,), "y": (-2,)})
def dot_forward(x, y, *, dot):
    return dot(x, y)


@kernel("dot", GIVEN, operands={"y": (-1,)}, gradients={"dz": (-1,)})
def matmul_dx(dz, y, *, shape, dot, sum):
    return sum_to(dot(dz, np.swapaxes(y, -1, -2)), shape, sum)


@kernel("dot", GIVEN, operands={"x": (-2,)}, gradients={"dz": (-2,)})
def matmul_dy(x, dz, *, shape, dot, sum):
    return sum_to(dot(np.swapaxes(x, -1, -2), dz), shape, sum)


def as_matrices(x, y):
    """Vectors as a row and a column, without copying; others as they are."""
    return (x[None] if x.ndim == 1 else x), (y[:, None] if y.ndim == 1 else y)


def matmul_backward(dz, x, y, to):
    a, b = as_matrices(x, y)
    dz = dz[..., None] if y.ndim == 1 else dz
    dz = np.expand_dims(dz, -2) if x.ndim == 1 else dz
    dx = None if to[0] is None else matmul_dx(dz, b, shape=a.shape, to=to[0])
    dy = None if to[1] is None else matmul_dy(a, dz, shape=b.shape, to=to[1])
    return (
        None if dx is None else dx.reshape(x.shape),
        None if dy is None else dy.reshape(y.shape),
    )


def product(x, y):
    a, b = as_matrices(x, y)
    z = (dot_forward if x.ndim == y.ndim == 1 else matmul_forward)(a, b)
    z = z[..., 0] if y.ndim == 1 else z
    z = (z[0] if y.ndim == 1 else z[..., 0, :]) if x.ndim == 1 else z
    return as_array(z), (x, y), matmul_backward


PRODUCTS = {name: op(product, name=name) for name in ("mm", "bmm", "mv", "dot", "matmul")}


def outer_backward(dz, x, y, to):
    return (
        None if to[0] is None else matmul_dx(dz, y[None], shape=(len(x), 1), to=to[0])[:, 0],
        None if to[1] is None else matmul_dy(x[:, None], dz, shape=(1, len(y)), to=to[1])[0],
    )


@op
def outer_op(x, y):
    return matmul_forward(x[:, None], y[None]), (x, y), outer_backward


@kernel("dot", "c x y", operands={"x": (-1,), "y": (-2,)})
def addmm_forward(c, x, y, *, beta, alpha, dot, accumulate):
    z = alpha * dot(x, y)
    return (
        accumulate(z + beta * c) if beta else z
    )  # so that NaN in a c that does not count is not seen


@kernel("dot", GIVEN, operands={"y": (-1,)}, gradients={"dz": (-1,)})
def addmm_dx(dz, y, *, alpha, dot):
    return alpha * dot(dz, y.T)


@kernel("dot", GIVEN, operands={"x": (-2,)}, gradients={"dz": (-2,)})
def addmm_dy(x, dz, *, alpha, dot):
    return alpha * dot(x.T, dz)


def addmm_backward(dz, c_shape, x, y, to, beta, alpha):
    return (
        pass_to(dz, c_shape, to[0], beta),
        None if to[1] is None else addmm_dx(dz, y, alpha=alpha, to=to[1]),
        None if to[2] is None else addmm_dy(x, dz, alpha=alpha, to=to[2]),
    )


@op
def addmm_op(c, x, y, *, beta, alpha):
    check_operands(c, x, y)
    if c.dtype.kind == "V":  # a format of ours, or fields
        check_tensors("addmm", input=c)
    z = addmm_forward(c, x, y, beta=beta, alpha=alpha)
    return z, (c.shape, x, y), addmm_backward


def check_arrays(name, **tensors):
    """Raise DTypeError, which names function and argument, for anything but a tensor or array."""
    for argument, t in tensors.items():
        if not is_array_like(t):
            raise DTypeError(
                f"{name}: {argument} is a {type(t).__name__}: expected a tensor; create one with "
                "fp.tensor(...)"
            )


def check_product(name, x, y, ndims=None):
    """Raise ShapeError unless x and y have these numbers of dimensions and their sizes fit."""
    given = f"{name} of {x.shape} with {y.shape}"
    if ndims is not None and (x.ndim, y.ndim) != ndims:
        raise ShapeError(f"{given}: expected {ndims[0]} and {ndims[1]} dimensions")
    if x.ndim == 0 or y.ndim == 0:
        raise ShapeError(f"{name} of shapes {x.shape} and {y.shape}: use * for scalars")
    axis = -1 if y.ndim == 1 else -2
    if x.shape[-1] != y.shape[axis]:
        which = "last" if y.ndim == 1 else "last but one"
        raise ShapeError(
            f"{given}: the last size of the first ({x.shape[-1]}) and the {which} of the second "
            f"({y.shape[axis]}) must be equal"
        )


def checked(name, ndims=None, **operands):
    """The product of this name of two tensors, if they fit."""
    check_arrays(name, **operands)
    x, y = operands.values()
    check_product(name, x, y, ndims)
    return PRODUCTS[name](x, y)


@public("fp Tensor", operator="x @ y", autocast="product")
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product, with vectors and broadcast batches as in NumPy and PyTorch."""
    return checked("matmul", input=input, other=other)


@public("fp Tensor", autocast="product")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices: (M, K) with (K, N) gives (M, N)."""
    return checked("mm", (2, 2), input=input, mat2=mat2)


@public("fp Tensor", autocast="product")
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of as many matrices: (B, M, K) with (B, K, N) gives (B, M, N)."""
    check_arrays("bmm", input=input, mat2=mat2)
    check_product("bmm", input, mat2, (3, 3))
    if input.shape[0] != mat2.shape[0]:
        raise ShapeError(
            f"bmm of {input.shape} with {mat2.shape}: expected as many matrices in both; "
            "matmul stretches one"
        )
    return PRODUCTS["bmm"](input, mat2)


@public("fp Tensor", autocast="product")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector: (M, K) with (K) gives (M)."""
    return checked("mv", (2, 1), input=input, vec=vec)


@public("fp Tensor", autocast="meeting")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of products of two vectors (K): one number, in float32 or wider."""
    return checked("dot", (1, 1), input=input, tensor=tensor)


@public("fp Tensor", autocast="pointwise")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Each number of one vector (M) times each of another (N): (M, N)."""
    check_arrays("outer", input=input, vec2=vec2)
    if input.ndim != 1 or vec2.ndim != 1:
        raise ShapeError(f"outer of {input.shape} with {vec2.shape}: expected two vectors")
    return outer_op(input, vec2)


@public("fp Tensor", in_place=True, autocast="product")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """beta input + alpha mat1 mat2, rounded once. input: what broadcasts to (M, N).

    With beta = 0, input does not count, whatever is in it.
    """
    check_arrays("addmm", input=input, mat1=mat1, mat2=mat2)
    check_product("addmm", mat1, mat2, (2, 2))
    shape = mat1.shape[0], mat2.shape[1]
    fits = [n in (1, size) for n, size in zip(input.shape[::-1], shape[::-1])]
    if input.ndim > 2 or not all(fits):
        raise ShapeError(f"addmm: input of shape {input.shape} does not broadcast to {shape}")
    return addmm_op(input, mat1, mat2, **as_numbers("addmm", beta=beta, alpha=alpha))
