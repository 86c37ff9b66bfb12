"""Reductions over axes, n numbers to one: summed in `reduce` (float32 unless asked), rounded once.

    sum:   y = sum x                        dx = dy
    mean:  y = sum x / n                    dx = dy / n

x: any shape, stored  y: without the reduced axes, or with size 1 there; nothing is kept for
backward. any, all and count_nonzero have no gradient. A reduction to a scalar is not rounded to a
storage format at all: a loss written by hand does not overflow at 65504, and the seed of backward
meets float32.
"""

import math

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError
from minifp.numerics.formats import as_dtype, as_native, is_float
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import as_axes
from minifp.ops.public import public
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import as_array
from minifp.typing import DType, Ints


def reduced_axes(dim, ndim, name):
    """The axes of a reduction: no dimension, None or (), stands for all, as in PyTorch."""
    return as_axes(
        None if isinstance(dim, (tuple, list)) and not dim else dim, ndim, f"{name}: dim"
    )


def count_of(shape, axes):
    """How many numbers are reduced to one."""
    return math.prod(shape[i] for i in axes)


def expand_like(dy, x_shape, axes):
    """dy with the reduced axes put back, as a view of shape x_shape."""
    kept = tuple(1 if i in axes else n for i, n in enumerate(x_shape))
    return np.broadcast_to(dy.reshape(kept), x_shape)


def largest(x, axes, nothing=-np.inf):
    """The largest along axes, which are kept; `nothing` of no numbers, where CuPy has no word."""
    if not is_on_device(x):
        return x.max(axes, keepdims=True, initial=nothing)
    return x.max(axes, keepdims=True) if x.size else x.sum(axes, keepdims=True) + nothing


# ---- sum and mean -------------------------------------------------------------------------------


@kernel("reduce", "x")
def sum_forward(x, *, axes, keepdims, sum):
    return sum(x, axis=axes, keepdims=keepdims)


@kernel("reduce", "x")
def mean_forward(x, *, axes, keepdims, sum):
    return sum(x, axis=axes, keepdims=keepdims) / count_of(x.shape, axes)


@kernel("map", GIVEN)
def spread(dy, *, shape, axes, divisor):
    return expand_like(dy, shape, axes) / divisor


def sum_backward(dy, shape, axes, to, keepdims, dim, dtype):
    return (spread(dy, shape=shape, axes=axes, divisor=1, to=to[0]),)


@op
def sum_op(x, *, dim, keepdims, dtype):
    axes = reduced_axes(dim, x.ndim, "sum")
    return sum_forward(x, axes=axes, keepdims=keepdims, to=dtype), (x.shape, axes), sum_backward


def mean_backward(dy, shape, axes, to, keepdims, dim, dtype):
    return (spread(dy, shape=shape, axes=axes, divisor=count_of(shape, axes), to=to[0]),)


@op
def mean_op(x, *, dim, keepdims, dtype):
    axes = reduced_axes(dim, x.ndim, "mean")
    return mean_forward(x, axes=axes, keepdims=keepdims, to=dtype), (x.shape, axes), mean_backward


def enter(input, dtype):
    """(input as it enters a reduction, the format of its result) for PyTorch's argument `dtype`.

    It is that of the numbers before they are reduced: input is cast first, unless the result only
    has more bits, which needs no cast. Integers and booleans are added up as int64.
    """
    input = input if isinstance(input, Tensor) else Tensor(input)
    if dtype is None:
        return input if is_float(input.dtype) else input.to(dtype="int64"), None
    dtype = as_dtype(dtype)
    if not (is_float(dtype) and is_float(input.dtype) and dtype.itemsize >= input.dtype.itemsize):
        input = input.to(dtype=dtype)
    return input, dtype if is_float(dtype) else None


@public("fp Tensor", autocast="sum")
@takes_tensor
def sum(
    input: Tensor, dim: Ints | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The sum over `dim` (an axis, several, or None for all); of integers in int64.

    dtype: of the result; a narrower one than input's rounds input first, as in PyTorch.
    """
    input, stored = enter(input, dtype)
    return sum_op(input, dim=dim, keepdims=keepdim, dtype=stored)


@public("fp Tensor", autocast="sum")
@takes_tensor
def mean(
    input: Tensor, dim: Ints | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The mean over `dim` (an axis, several, or None for all); NaN of no numbers. dtype: as `sum`.

    Of integers and booleans it is a floating number, where PyTorch refuses.
    """
    if dtype is not None and not is_float(as_dtype(dtype)):
        raise DTypeError(f"mean: dtype={dtype}: expected a floating one")
    input, stored = (input, None) if dtype is None else enter(input, dtype)
    return mean_op(input, dim=dim, keepdims=keepdim, dtype=stored)


# ---- without gradient ---------------------------------------------------------------------------


def array_of(input):
    """The array of a tensor, or the one given in its place, with which NumPy can compute."""
    return as_native(input.array if isinstance(input, Tensor) else as_array(input))


def array_given(name, given):
    """The same. Raises DTypeError, which `name` begins, for what is none."""
    try:
        return array_of(given)
    except (ValueError, TypeError) as error:
        raise DTypeError(f"{name} is no array: {error}") from None


def _truth(name, input, dim, keepdim):
    """np.any or np.all: NaN counts as true; of uint8 it is uint8, both as in PyTorch."""
    x = array_of(input)
    found = getattr(np, name)(x, axis=as_axes(dim, x.ndim, f"{name}: dim"), keepdims=keepdim)
    return Tensor(as_array(found, x.dtype if x.dtype == "uint8" else bool))


@public("fp Tensor")
@takes_tensor
def any(input: Tensor, dim: Ints | None = None, keepdim: bool = False) -> Tensor:
    """Whether any number is not 0, over `dim` (an axis, several, or None for all)."""
    return _truth("any", input, dim, keepdim)


@public("fp Tensor")
@takes_tensor
def all(input: Tensor, dim: Ints | None = None, keepdim: bool = False) -> Tensor:
    """Whether no number is 0, over `dim` (an axis, several, or None for all)."""
    return _truth("all", input, dim, keepdim)


@public("fp Tensor")
@takes_tensor
def count_nonzero(input: Tensor, dim: Ints | None = None) -> Tensor:
    """How many numbers are not 0, over `dim` (an axis, several, or None for all): int64."""
    x = array_of(input)
    count = np.count_nonzero(x, axis=reduced_axes(dim, x.ndim, "count_nonzero"))
    return Tensor(as_array(count, "int64"))
