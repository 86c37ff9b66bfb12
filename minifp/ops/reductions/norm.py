"""Norms and the logarithm of a sum of exponentials, over axes: rounded once.

    norm:       y = (sum |x|^p)^(1/p)             dx = dy sign(x) (|x| / y)^(p-1),  0 where y = 0
      p = inf:  y = max |x|, p = -inf: min |x|    dx = dy sign(x) / (how many |x| equal y), or 0
      p = 0:    y = how many x are not 0          dx = 0
    logsumexp:  y = m + log sum e^(x - m)         dx = dy e^(x - m) / sum e^(x - m),  m = max x

x: any shape, stored  y: without the reduced axes, or with size 1 there. Sums are in `reduce`.
Backward keeps x alone, and computes y again: as stored it may have been rounded to 0 or Inf. Unless
p is 1 or 2, x is divided by its largest (for p < 0 its smallest), so that no power overflows.
"""

import math
from numbers import Real

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.elementwise import as_numbers, takes_floats
from minifp.ops.public import public
from minifp.ops.reduce import count_of, expand_like, largest, reduced_axes
from minifp.typing import Ints


def norm_of(x, p, axes, sum):
    """The norm, with the reduced axes kept."""
    x = np.abs(x)
    if p == 0:
        return sum(np.where(x != 0, np.ones_like(x), 0), axis=axes, keepdims=True)
    if abs(p) == math.inf:
        return (np.max if p > 0 else np.min)(x, axis=axes, keepdims=True)
    if p == 1:
        return sum(x, axis=axes, keepdims=True)
    if p == 2:
        return np.sqrt(sum(x * x, axis=axes, keepdims=True))
    scale = scale_of(x, p, axes)
    return scale * np.power(sum(np.power(x / scale, p), axis=axes, keepdims=True), 1 / p)


def scale_of(x, p, axes):
    """What the numbers are divided by before they are raised to a power: 1 where there is none."""
    scale = largest(x, axes, nothing=0) if p > 0 else np.min(x, axes, keepdims=True)
    return np.where((scale > 0) & (scale < np.inf), scale, 1)


@kernel("reduce", "x")
def norm_forward(x, *, p, axes, keepdims, sum):
    y = norm_of(x, p, axes, sum)
    return y if keepdims else y.squeeze(axes)


@kernel("reduce", GIVEN)
def norm_dx(dy, x, *, p, axes, sum):
    y, dy, size = norm_of(x, p, axes, sum), expand_like(dy, x.shape, axes), np.abs(x)
    if p == 0:
        return 0 * dy
    if abs(p) == math.inf:
        found = (size == y) | np.isnan(x)
        return dy * np.sign(x) * (found / np.sum(found, axis=axes, keepdims=True))
    if p == 1:
        return dy * np.sign(x)
    slope = x / y if p == 2 else np.sign(x) * np.power(size / y, p - 1)
    return dy * np.where((y == 0) | ((x == 0) & (p < 1)), 0, slope)


def norm_backward(dy, x, axes, to, p, dim, keepdims):
    return (norm_dx(dy, x, p=p, axes=axes, to=to[0]),)


@op
def norm_op(x, *, p, dim, keepdims):
    axes = reduced_axes(dim, x.ndim, "norm")
    if (p < 0 or math.isinf(p)) and count_of(x.shape, axes) == 0:
        raise ShapeError(f"norm of no numbers with p={p}: shape {x.shape}, dim={dim}")
    return norm_forward(x, p=p, axes=axes, keepdims=keepdims), (x, axes), norm_backward


@public("fp Tensor", autocast="sum")
@takes_floats
def norm(
    input: Tensor, p: float | str = "fro", dim: Ints | None = None, keepdim: bool = False
) -> Tensor:
    """The p-norm of the numbers over `dim` (an axis, several, or None for all).

    p: a number, also 0 and infinities, or "fro", which is 2. The squares of float16 numbers are
    added in float32, where they do not overflow. Raises ArgumentError for another p ("nuc" is
    PyTorch's only), ShapeError where there is no number to be the largest.
    """
    if isinstance(p, str) and p == "fro":
        p = 2
    if isinstance(p, bool) or not isinstance(p, Real) or not -math.inf <= p <= math.inf:
        raise ArgumentError(f'norm: p={p!r}: expected a number, an infinity, or "fro"')
    return norm_op(input, p=float(as_numbers("norm", p=p)["p"]), dim=dim, keepdims=keepdim)


# ---- log-sum-exp --------------------------------------------------------------------------------


def shifted_exp(x, axes):
    """(m, e^(x - m)) with m the largest, or 0 where that is no finite number."""
    m = largest(x, axes)
    m = np.where(np.isinf(m), 0, m)
    return m, np.exp(x - m)


@kernel("reduce", "x")
def logsumexp_forward(x, *, axes, keepdims, sum):
    m, e = shifted_exp(x, axes)
    y = m + np.log(sum(e, axis=axes, keepdims=True))
    return y if keepdims else y.squeeze(axes)


@kernel("reduce", GIVEN)
def logsumexp_dx(dy, x, *, axes, sum):
    _, e = shifted_exp(x, axes)
    return expand_like(dy, x.shape, axes) * (e / sum(e, axis=axes, keepdims=True))


def logsumexp_backward(dy, x, axes, to, dim, keepdims):
    return (logsumexp_dx(dy, x, axes=axes, to=to[0]),)


@op
def logsumexp_op(x, *, dim, keepdims):
    axes = reduced_axes(dim, x.ndim, "logsumexp")
    return logsumexp_forward(x, axes=axes, keepdims=keepdims), (x, axes), logsumexp_backward


@public("fp Tensor", autocast="sum")
@takes_floats
def logsumexp(input: Tensor, dim: Ints, keepdim: bool = False) -> Tensor:
    """log sum e^x over `dim` (an axis or several), without overflow; -Inf for no numbers."""
    return logsumexp_op(input, dim=dim, keepdims=keepdim)
