"""The p-norm along axes, and vectors divided by it.

|x|_p = (sum |x|^p)^(1/p), for p = inf max |x|;   d = max(|x|_p, eps),  y = x / d.
x, y: stored;  |x|_p: float32, with the axes kept as axes of size 1.

    dx = dy / d - [|x|_p >= eps] n' sum(dy x / d) / d,   n' = sign x (|x| / |x|_p)^(p-1)

n' = d|x|_p / dx is 0 where x is; for p = inf, equal largest ones share it. In float16 a square
overflows from 256 on and eps = 1e-12 is 0: here the sums are in `reduce`, d in float32, and y is
rounded once.
"""

import math

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import ArgumentError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.arguments import as_axes, check_tensors
from minifp.ops.public import public
from minifp.ops.reduce import largest
from minifp.typing import Ints


def p_norm(x, p, axes, sum):
    """|x|_p along `axes`, which are kept."""
    if p == 2:
        return np.sqrt(sum(x * x, axis=axes, keepdims=True))
    a = np.abs(x)
    top = largest(a, axes, nothing=0)
    if p == math.inf:
        return top
    if p == 1:
        return sum(a, axis=axes, keepdims=True)
    unit = np.where((top > 0) & (top < np.inf), top, 1)  # else a^p would overflow
    return unit * sum((a / unit) ** p, axis=axes, keepdims=True) ** (1 / p)


def p_norm_slope(x, n, p, axes, sum):
    """d|x|_p / dx, given n = |x|_p."""
    inside = x != 0
    if p == math.inf:
        at = (np.abs(x) == n) & inside
        return np.sign(x) * at / np.maximum(sum(at * np.ones_like(x), axis=axes, keepdims=True), 1)
    if p == 2:
        return np.where(n != 0, x / n, 0)
    if p == 1:
        return np.sign(x)
    return np.sign(x) * np.where(inside, (np.abs(x) / n) ** (p - 1), 0)


def check_p(name, p):
    """Raise ArgumentError unless p is a number above 0, or inf."""
    if not (isinstance(p, float) and p == math.inf):
        check_range(name, p)
    if p == 0:
        raise ArgumentError(f"{name}=0: expected a number above 0, or inf")


@kernel("reduce", "x", COMPUTE)
def normalize_forward(x, *, p, axes, eps, sum):
    n = p_norm(x, p, axes, sum)
    return x / np.maximum(n, eps), n


@kernel("reduce", GIVEN)
def normalize_dx(dy, x, n, *, p, axes, eps, sum):
    d = np.maximum(n, eps)
    along = sum(dy * (x / d), axis=axes, keepdims=True) / d
    return dy / d - np.where(n < eps, 0, along * p_norm_slope(x, n, p, axes, sum))


def normalize_backward(dy, x, n, to, p, axes, eps):
    return (normalize_dx(dy, x, n, p=p, axes=axes, eps=eps, to=to[0]),)


@op
def normalize_op(x, *, p, axes, eps):
    y, n = normalize_forward(x, p=p, axes=axes, eps=eps, to=(None, None))
    return y, (x, n), normalize_backward


@public("F", autocast="sum")
def normalize(input: Tensor, p: float = 2.0, dim: Ints = 1, eps: float = 1e-12) -> Tensor:
    """input divided by its p-norm along `dim` (an axis or several), or by eps where that is larger.

    p: a number above 0, or inf. Raises DTypeError for anything but a floating tensor, ShapeError
    for an axis that is not there, ArgumentError for other p and an eps below 0.
    """
    check_tensors("normalize", input=input)
    check_p("normalize: p", p)
    check_range("normalize: eps", eps)
    axes = as_axes(dim, input.ndim, "normalize: dim")
    return normalize_op(input, p=float(p), axes=axes, eps=float(eps))
