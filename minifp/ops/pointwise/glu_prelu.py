"""Activations with a second factor: a weight, or a gate.

prelu  y = x, or w_c x where x <= 0;  dx = dy, or w_c dy;  dw_c = sum of dy x where x <= 0
       x: (N, C, ...) or any shape;  w: (C), a weight of the layer, or (1) (He et al. 2015,
       arXiv:1502.01852)
glu    y = a s(b), x = (a, b) in halves along an axis, s the sigmoid;
       da = dy s(b),  db = dy a s(b) s(-b) (Dauphin et al. 2017, arXiv:1612.08083)

All are stored. dw is summed in `reduce` and rounded once.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.policy import GIVEN
from minifp.ops.arguments import check_tensors
from minifp.ops.elementwise import takes_floats
from minifp.ops.public import public
from minifp.ops.reduce import as_axis


def _beside(w, ndim):
    """w (C) so that it broadcasts along axis 1 of x, w (1) along all."""
    return w.reshape(()) if w.size == 1 else w.reshape(-1, *(1,) * (ndim - 2))


@kernel("map", "x")
def prelu_forward(x, w):
    return np.where(x > 0, x, _beside(w, x.ndim) * x)


@kernel("map", GIVEN)
def prelu_dx(dy, x, w):
    return np.where(x > 0, dy, _beside(w, x.ndim) * dy)


@kernel("reduce", GIVEN)
def prelu_dw(dy, x, *, shape, sum):
    each = np.where(x > 0, 0, dy * x)
    axes = tuple(i for i in range(x.ndim) if i != 1 or shape in ((), (1,)))
    return sum(each, axis=axes).reshape(shape)


def prelu_backward(dy, x, w, to):
    return (
        None if to[0] is None else prelu_dx(dy, x, w, to=to[0]),
        None if to[1] is None else prelu_dw(dy, x, shape=w.shape, to=to[1]),
    )


@op(weights=("w",))
def prelu_op(x, w):
    return prelu_forward(x, w), (x, w), prelu_backward


@public("fp F Tensor", autocast="product")
@takes_floats
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x, or weight times x where x <= 0. weight: (1), or (C) for input (N, C, ...).

    Raises ShapeError for another weight, DTypeError for one that is no tensor of floating numbers.
    """
    check_tensors("prelu", weight=weight)
    channels = input.shape[1:2] if input.ndim > 1 else (1,)
    if weight.ndim > 1 or weight.shape not in ((), (1,), channels):
        raise ShapeError(
            f"prelu: weight of shape {weight.shape} for input of shape {input.shape}: "
            f"expected (1,){f' or {channels}' if channels != (1,) else ''}"
        )
    return prelu_op(input, weight)


@kernel("map", "x")
def glu_forward(x, *, axis):
    a, b = np.split(x, 2, axis)
    return a * (1 / (1 + np.exp(-b)))


@kernel("map", GIVEN)
def glu_dx(dy, x, *, axis):
    a, b = np.split(x, 2, axis)
    open_ = 1 / (1 + np.exp(-b))
    return np.concatenate([dy * open_, dy * (a * open_ * (1 / (1 + np.exp(b))))], axis)


def glu_backward(dy, x, to, axis):
    return (glu_dx(dy, x, axis=axis, to=to[0]),)


@op
def glu_op(x, *, axis):
    return glu_forward(x, axis=axis), (x,), glu_backward


@public("F", autocast="pointwise")
@takes_floats
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim` times the sigmoid of the second; ShapeError for an odd size."""
    axis = as_axis(dim, input.ndim, "glu: dim")
    if input.shape[axis] % 2:
        raise ShapeError(
            f"glu: input of shape {input.shape}: expected an even size along dim={dim}"
        )
    return glu_op(input, axis=axis)
