"""y_c = e^(x_c - max x) / sum_k e^(x_k - max x) along an axis; dx = y (dy - sum_c dy y).

And its logarithm: y = x - max x - log sum_k e^(x_k - max x); dx = dy - e^y sum_c dy.
x, y stored; the sums are in `reduce`, the results are rounded once. Subtracting the largest first
keeps e^x below 1: in float16 it would overflow from x = 11.1 on.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError
from minifp.numerics.formats import as_dtype, is_float
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import as_axis, check_tensors
from minifp.ops.public import public
from minifp.ops.reduce import enter, largest
from minifp.runtime.callers import warn_once
from minifp.typing import DType


@kernel("reduce", "x")
def softmax_forward(x, *, axis, sum):
    e = np.exp(x - largest(x, axis))
    return e / sum(e, axis=axis, keepdims=True)


@kernel("reduce", GIVEN)
def softmax_dx(dy, y, *, axis, sum):
    return y * (dy - sum(dy * y, axis=axis, keepdims=True))


@kernel("reduce", "x")
def log_softmax_forward(x, *, axis, sum):
    x = x - largest(x, axis)
    return x - np.log(sum(np.exp(x), axis=axis, keepdims=True))


@kernel("reduce", GIVEN)
def log_softmax_dx(dy, y, *, axis, sum):
    return dy - np.exp(y) * sum(dy, axis=axis, keepdims=True)


@kernel("reduce", "x")
def softmin_forward(x, *, axis, sum):
    return softmax_forward.reference(-x, axis=axis, sum=sum)


@kernel("reduce", GIVEN)
def softmin_dx(dy, y, *, axis, sum):
    return -softmax_dx.reference(dy, y, axis=axis, sum=sum)


def softmax_backward(dy, y, to, axis, dtype):
    return (softmax_dx(dy, y, axis=axis, to=to[0]),)


@op
def softmax_op(x, *, axis, dtype):
    y = softmax_forward(x, axis=axis, to=dtype)
    return y, (y,), softmax_backward


def log_softmax_backward(dy, y, to, axis, dtype):
    return (log_softmax_dx(dy, y, axis=axis, to=to[0]),)


@op
def log_softmax_op(x, *, axis, dtype):
    y = log_softmax_forward(x, axis=axis, to=dtype)
    return y, (y,), log_softmax_backward


def softmin_backward(dy, y, to, axis):
    return (softmin_dx(dy, y, axis=axis, to=to[0]),)


@op
def softmin_op(x, *, axis):
    y = softmin_forward(x, axis=axis)
    return y, (y,), softmin_backward


def _as_axis(function, input, dim):
    check_tensors(function, input=input)
    if dim is None:
        dim = 0 if input.ndim in (0, 1, 3) else 1  # PyTorch's rule
        warn_once(
            f"{function} without dim",
            f"{function} without a dim takes axis {dim} of {input.ndim}, as PyTorch does, which "
            f"has deprecated it: write dim={dim}, or the axis that you mean",
            category=UserWarning,
        )
    return as_axis(dim, input.ndim, f"{function}: dim")


def _enter(function, input, dtype):
    if not is_float(as_dtype(dtype)):
        raise DTypeError(f"{function}: dtype={dtype}: expected a floating one")
    return enter(input, dtype)


@public("fp F Tensor", autocast="sum")
def softmax(input: Tensor, dim: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """Positive numbers that sum to 1 along `dim`.

    dtype: of the result; a narrower one than input's rounds input first, as in PyTorch.
    Without a dim it is 0 of 0, 1 or 3 axes and else 1, as in PyTorch, with a UserWarning. Raises
    DTypeError for anything but a floating tensor and for a dim that is no integer, ShapeError for
    an axis that is not there.
    """
    axis = _as_axis("softmax", input, dim)
    if dtype is not None:
        input, dtype = _enter("softmax", input, dtype)
    return softmax_op(input, axis=axis, dtype=dtype)


@public("fp F Tensor", autocast="sum")
def log_softmax(input: Tensor, dim: int | None = None, *, dtype: DType | None = None) -> Tensor:
    """The logarithm of softmax, without overflow or loss of small probabilities.

    dtype: as in softmax. Raises as softmax does.
    """
    axis = _as_axis("log_softmax", input, dim)
    if dtype is not None:
        input, dtype = _enter("log_softmax", input, dtype)
    return log_softmax_op(input, axis=axis, dtype=dtype)


@public("F", autocast="sum")
def softmin(input: Tensor, dim: int | None = None) -> Tensor:
    """softmax of -input. Raises as softmax does."""
    return softmin_op(input, axis=_as_axis("softmin", input, dim))
