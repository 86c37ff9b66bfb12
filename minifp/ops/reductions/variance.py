"""Variance and standard deviation over axes: float32 sums in `reduce`, rounded once.

    var:  y = sum (x - m)^2 / (n - c)     dx = 2 dy (x - m) / (n - c)     m = sum x / n
    std:  y = sqrt(var)                   dx = dy (x - m) / ((n - c) y),  0 where y = 0

x: any shape, stored  y: without the reduced axes, or with size 1 there  c: the correction.
The mean is subtracted first, because the difference of sum x^2 and (sum x)^2 would cancel. Backward
keeps x alone: y may have been rounded to 0 or Inf, so std's gradient computes it again.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.errors import ArgumentError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.elementwise import as_numbers, takes_floats
from minifp.ops.public import public
from minifp.ops.reduce import count_of, expand_like, reduced_axes
from minifp.typing import Ints


def centred(x, axes, sum):
    """x - mean x."""
    return x - sum(x, axis=axes, keepdims=True) / count_of(x.shape, axes)


def divisor_of(x, axes, correction):
    """n - correction, but not below 0."""
    return max(count_of(x.shape, axes) - correction, 0)


@kernel("reduce", "x")
def var_forward(x, *, axes, keepdims, correction, sum):
    c = centred(x, axes, sum)
    return sum(c * c, axis=axes, keepdims=keepdims) / divisor_of(x, axes, correction)


@kernel("reduce", GIVEN)
def var_dx(dy, x, *, axes, correction, sum):
    share = centred(x, axes, sum) * 2 / divisor_of(x, axes, correction)
    return expand_like(dy, x.shape, axes) * share


def var_backward(dy, x, axes, to, correction, keepdims, dim):
    return (var_dx(dy, x, axes=axes, correction=correction, to=to[0]),)


@op
def var_op(x, *, dim, correction, keepdims):
    axes = reduced_axes(dim, x.ndim, "var")
    y = var_forward(x, axes=axes, keepdims=keepdims, correction=correction)
    return y, (x, axes), var_backward


@kernel("reduce", "x")
def std_forward(x, *, axes, keepdims, correction, sum):
    return np.sqrt(
        var_forward.reference(x, axes=axes, keepdims=keepdims, correction=correction, sum=sum)
    )


@kernel("reduce", GIVEN)
def std_dx(dy, x, *, axes, correction, sum):
    c, divisor = centred(x, axes, sum), divisor_of(x, axes, correction)
    y = np.sqrt(sum(c * c, axis=axes, keepdims=True) / divisor)  # as stored, y may be 0 or Inf
    return expand_like(dy, x.shape, axes) * np.where(y == 0, 0, c / (divisor * y))


def std_backward(dy, x, axes, to, correction, keepdims, dim):
    return (std_dx(dy, x, axes=axes, correction=correction, to=to[0]),)


@op
def std_op(x, *, dim, correction, keepdims):
    axes = reduced_axes(dim, x.ndim, "std")
    y = std_forward(x, axes=axes, keepdims=keepdims, correction=correction)
    return y, (x, axes), std_backward


def as_settings(name, dim, unbiased, correction):
    """(dim, the correction), of PyTorch's two ways to say it: `var(x, False)`, and by name."""
    if isinstance(dim, bool):
        if unbiased is not None:
            raise ArgumentError(f"{name}: dim={dim}: expected axes, beside unbiased={unbiased}")
        dim, unbiased = None, dim
    if unbiased is None:
        correction = 1 if correction is None else correction
    elif correction is not None:
        raise ArgumentError(f"{name}: both unbiased and correction: expected one of them")
    else:
        check_flag(f"{name}: unbiased", unbiased)
        correction = 1 if unbiased else 0
    if isinstance(correction, bool) or not isinstance(correction, (int, float, np.number)):
        raise ArgumentError(f"{name}: correction={correction!r}: expected a number")
    return dim, as_numbers(name, correction=correction)["correction"]


@public("fp Tensor", autocast="wide_sum")
@takes_floats
def var(
    input: Tensor,
    dim: Ints | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance over `dim`, divided by n - correction (1 unless told: Bessel's).

    unbiased: another word for a correction of 1 (True) or 0; `var(x, False)` is `var(x,
    unbiased=False)`.
    """
    dim, c = as_settings("var", dim, unbiased, correction)
    return var_op(input, dim=dim, correction=c, keepdims=keepdim)


@public("fp Tensor", autocast="wide_sum")
@takes_floats
def std(
    input: Tensor,
    dim: Ints | None = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation over `dim`: the square root of the variance, as `var` takes it."""
    dim, c = as_settings("std", dim, unbiased, correction)
    return std_op(input, dim=dim, correction=c, keepdims=keepdim)
