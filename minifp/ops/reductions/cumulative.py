"""Running sums and products, and products.

    cumsum:  y_k = sum over i <= k of x_i      dx_i = sum over k >= i of dy_k
    prod:    y = product of x                  dx_i = dy product over k /= i of x_k
    cumprod: y_k = product over i <= k of x_i  dx_i = sum over k >= i of dy_k y_k / x_i

x, y stored. Partial sums and products are in `reduce`; each result is rounded once: in float32 a
running sum of float16 tenths goes on growing, where a float16 one stops at 256. Backward of prod
keeps x alone. Where no x is 0, the product of the others is the whole product divided by x. From
the first 0 on, y is 0, and so is dx after it; its own dx is that of y with 1 in its place.
"""

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.numerics.formats import as_native
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import as_axes, as_axis
from minifp.ops.public import public
from minifp.ops.reduce import count_of, enter, expand_like, reduced_axes
from minifp.ops.whole_numbers import limit_of, warn_of_whole
from minifp.runtime.cuda.arrays import is_on_device
from minifp.typing import DType


@kernel("reduce", "x")
def cumsum_forward(x, *, axis, cumsum):
    return cumsum(x, axis)


@kernel("reduce", GIVEN)
def cumsum_dx(dy, *, axis, cumsum):
    return cumsum(dy, axis, reverse=True)


def cumsum_backward(dy, to, axis, dtype):
    return (cumsum_dx(dy, axis=axis, to=to[0]),)


@op
def cumsum_op(x, *, axis, dtype):
    return cumsum_forward(x, axis=axis, to=dtype), (), cumsum_backward


@public("fp Tensor", autocast="sum")
@takes_tensor
def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The sums of the numbers so far, along `dim`; of integers in int64.

    dtype: of the result; a narrower one than input's rounds input first, as in PyTorch.
    """
    axis = as_axis(dim, input.ndim, "cumsum: dim")
    input, stored = enter(input, dtype)
    sums = cumsum_op(input, axis=axis, dtype=stored)
    limit = limit_of(sums.array.dtype)
    if limit is not None and not is_on_device(sums.array):
        numbers = as_native(input.array)
        if np.abs(numbers).max(initial=0) <= limit / 2:  # all larger ones are whole
            warn_of_whole(np.cumsum(numbers, axis, np.float64), sums.array, "cumsum")
    return sums


@kernel("reduce", "x")
def prod_forward(x, *, axes, keepdims, prod):
    return prod(x, axis=axes, keepdims=keepdims)


@kernel("reduce", GIVEN)
def prod_dx(dy, x, *, axes, prod):
    if count_of(x.shape, axes) == 1:
        return dy.reshape(x.shape)  # also of Inf, where the whole divided by x is NaN
    zeros = np.sum(x == 0, axis=axes, keepdims=True)
    whole = prod(np.where(x == 0, 1, x), axis=axes, keepdims=True)  # of what is not 0
    others = np.where(x == 0, np.where(zeros == 1, whole, 0), np.where(zeros == 0, whole / x, 0))
    return expand_like(dy, x.shape, axes) * others


def prod_backward(dy, x, axes, to, keepdims, dim, dtype):
    return (prod_dx(dy, x, axes=axes, to=to[0]),)


@op
def prod_op(x, *, dim, keepdims, dtype):
    axes = reduced_axes(dim, x.ndim, "prod")
    return prod_forward(x, axes=axes, keepdims=keepdims, to=dtype), (x, axes), prod_backward


@public("fp Tensor", autocast="sum")
@takes_tensor
def prod(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The product over `dim` (an axis, or None for all): 1 of no numbers; of integers in int64.

    No partial product overflows where the whole one does not. dtype: as in `sum`.
    """
    if dim is not None:
        dim = as_axes((dim,), input.ndim, "prod: dim")
    input, stored = enter(input, dtype)
    return prod_op(input, dim=dim, keepdims=keepdim, dtype=stored)


@kernel("reduce", "x")
def cumprod_forward(x, *, axis, cumprod):
    return cumprod(x, axis)


@kernel("reduce", GIVEN)
def cumprod_dx(dy, x, *, axis, cumprod, cumsum):
    zeros = np.cumsum(x == 0, axis=axis)  # how many so far
    first = (x == 0) & (zeros == 1)
    before = cumsum(dy * cumprod(x, axis), axis, reverse=True) / np.where(x == 0, 1, x)
    without = cumprod(np.where(first, 1, x), axis)
    at_first = cumsum(dy * np.where(zeros > 0, without, 0), axis, reverse=True)
    return np.where(first, at_first, np.where(zeros == 0, before, 0))


def cumprod_backward(dy, x, to, axis, dtype):
    return (cumprod_dx(dy, x, axis=axis, to=to[0]),)


@op
def cumprod_op(x, *, axis, dtype):
    return cumprod_forward(x, axis=axis, to=dtype), (x,), cumprod_backward


@public("fp Tensor", autocast="sum")
@takes_tensor
def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The products of the numbers so far, along `dim`; of integers in int64. dtype: as `cumsum`."""
    axis = as_axis(dim, input.ndim, "cumprod: dim")
    input, stored = enter(input, dtype)
    return cumprod_op(input, axis=axis, dtype=stored)
