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
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import as_axis, check_tensors
from minifp.ops.elementwise import sum_to, takes_floats
from minifp.ops.public import public
from minifp.runtime.device import as_array, full


def beside(w, ndim):
    """w (C) so that it broadcasts along axis 1 of x, w (1) along all."""
    return w.reshape(()) if w.size == 1 else w.reshape(-1, *(1,) * (ndim - 2))


@kernel("map", "x")
def prelu_forward(x, w):
    return np.where(x > 0, x, w * x)


@kernel("map", GIVEN)
def prelu_dx(dy, x, w):
    return np.where(x > 0, dy, w * dy)


@kernel("map", GIVEN)
def prelu_dw(dy, x, *, shape, sum):
    return sum_to(np.where(x > 0, 0, dy * x), shape, sum)


def prelu_backward(dy, x, w, to):
    by = beside(w, x.ndim)
    dw = None if to[1] is None else prelu_dw(dy, x, shape=by.shape, to=to[1])
    return (
        None if to[0] is None else prelu_dx(dy, x, by, to=to[0]),
        None if dw is None else as_array(dw).reshape(w.shape),
    )


@op(weights=("w",))
def prelu_op(x, w):
    return prelu_forward(x, beside(w, x.ndim)), (x, w), prelu_backward


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


def halves(x, axis):
    """a and b, which lie beside each other along a new axis."""
    z = x.reshape(*x.shape[:axis], 2, x.shape[axis] // 2, *x.shape[axis + 1 :])
    before = (slice(None),) * axis
    return z[(*before, slice(1))], z[(*before, slice(1, 2))]


@kernel("map", "a")
def glu_forward(a, b):
    return a * (1 / (1 + np.exp(-b)))


@kernel("map", GIVEN)
def glu_dx(dy, a, b, second):
    """Both halves at once: of that of b, `second` is 1."""
    e = np.exp(-np.abs(b))
    more = 1 / (1 + e)  # the sigmoids of b and -b are this and e times this, in either order
    return np.where(second > 0, dy * (a * more * (e * more)), dy * np.where(b < 0, e * more, more))


def glu_backward(dy, x, to, axis):
    a, b = halves(x, axis)
    second = full((2, *(1,) * (x.ndim - axis)), 0, x.dtype, like=x)
    second[1:] = 1
    return (glu_dx(dy.reshape(a.shape), a, b, second, to=to[0]).reshape(x.shape),)


@op
def glu_op(x, *, axis):
    y = glu_forward(*halves(x, axis))
    return y.reshape(*y.shape[:axis], *y.shape[axis + 1 :]), (x,), glu_backward


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
