"""Layer normalisation (Ba, Kiros and Hinton 2016, arXiv:1607.06450).

m = mean x,  v = mean (x - m)^2 over the last axes,  r = 1 / sqrt(v + eps),  h = (x - m) r,
y = h w + b.   x, y: (..., D), stored;  w, b: (D) norm parameters;  m, r: (..., 1) float32.

    dw = sum dy h,   db = sum dy,   dx = r (g - mean g - h mean(g h)) with g = dy w
"""

import math

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import DTypeError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.arguments import check_parameters, check_tensors
from minifp.ops.public import public
from minifp.typing import Ints


@kernel("norm", "x", COMPUTE, COMPUTE)
def layer_norm_forward(x, w, b, *, eps, sum):
    d = x.shape[-1]
    m = sum(x, axis=-1, keepdims=True) / d
    centred = x - m
    r = 1 / np.sqrt(sum(centred * centred, axis=-1, keepdims=True) / d + eps)
    y = centred * r
    y = y if w is None else y * w
    return (y if b is None else y + b), m, r


@kernel("norm", GIVEN, GIVEN, GIVEN)
def layer_norm_dx(dy, x, w, m, r, *, sum):
    d, rows = x.shape[-1], tuple(range(x.ndim - 1))
    h = (x - m) * r
    g = dy if w is None else dy * w
    mean_g = sum(g, axis=-1, keepdims=True) / d
    mean_gh = sum(g * h, axis=-1, keepdims=True) / d
    return r * (g - mean_g - h * mean_gh), sum(dy * h, axis=rows), sum(dy, axis=rows)


def layer_norm_backward(dy, x, w, m, r, to, eps):
    dx, dw, db = layer_norm_dx(dy, x, w, m, r, to=tuple(t or dy.dtype for t in to))
    return dx, (None if to[1] is None else dw), (None if to[2] is None else db)


@op
def layer_norm_op(x, w, b, *, eps):
    y, m, r = layer_norm_forward(x, w, b, eps=eps)
    return y, (x, w, m, r), layer_norm_backward


def as_normalized_shape(function, normalized_shape):
    """An integer, or several, as a tuple of at least one. Raises DTypeError or ShapeError."""
    several = isinstance(normalized_shape, (tuple, list))
    shape = tuple(normalized_shape) if several else (normalized_shape,)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in shape):
        raise DTypeError(
            f"{function}: normalized_shape={normalized_shape!r}: expected an integer or a tuple"
        )
    if not shape or min(shape) < 0:
        raise ShapeError(
            f"{function}: normalized_shape={normalized_shape!r}: expected one size or several"
        )
    return tuple(int(n) for n in shape)


def as_rows(function, input, normalized_shape, **parameters):
    """input as (..., D) and its parameters as (D), D being the size of `normalized_shape`.

    Raises DTypeError for anything but a floating tensor, ShapeError where shapes do not fit.
    """
    check_tensors(function, input=input)
    shape = as_normalized_shape(function, normalized_shape)
    whole = input.shape
    before = len(whole) - len(shape)
    if before < 0 or whole[before:] != shape:
        raise ShapeError(f"{function}: input of shape {whole} does not end in {shape}")
    check_parameters(function, shape, whole, **parameters)
    if len(shape) == 1:
        return input, *parameters.values()
    rows = input.reshape(*whole[:before], math.prod(shape))
    return rows, *(p if p is None else p.reshape(-1) for p in parameters.values())


@public("fp F", autocast="deviation")
def layer_norm(
    input: Tensor,
    normalized_shape: Ints,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last axes, which must be `normalized_shape` (an integer or a tuple).

    weight, bias: of shape `normalized_shape`. Raises DTypeError for anything but a floating tensor,
    ShapeError where shapes do not fit, ArgumentError for an eps below 0.
    """
    check_range("layer_norm: eps", eps)
    rows = as_rows("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    y = layer_norm_op(*rows, eps=float(eps))
    return y if y.ndim == input.ndim else y.reshape(input.shape)
