"""y = x m / (1 - p) with m = [u >= p], u uniform in [0, 1).   dx = dy m / (1 - p).

(Srivastava et al. 2014, "inverted".) The random numbers are counter-based and drawn in float32, so
that every precision drops the same elements.
"""

from importlib import import_module

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.public import public
from minifp.runtime import random
from minifp.runtime.callers import warn_once
from minifp.runtime.device import device_of, placed

PURPOSE = "dropout"


@kernel("map", "x")
def dropout_forward(x, mask, *, p):
    return x * mask * (1 / (1 - p))


@kernel("map", GIVEN)
def dropout_dx(dy, mask, *, p):
    return dy * mask * (1 / (1 - p))


def dropout_backward(dy, mask, to, p):
    return dropout_dx(dy, mask, p=p, to=to[0]), None


@op
def dropout_op(x, mask, *, p):
    return dropout_forward(x, mask, p=p), (mask,), dropout_backward


# On a GPU the mask is not stored: it is drawn again in backward.


@kernel("map", GIVEN)
def dropped(x, *, p, draw):
    kept = random.uniform(x.shape, purpose=draw.purpose, call=draw.call) >= p
    return x * placed(kept, like=x) * (1 / (1 - p))


def dropped_backward(dy, to, p, draw):
    return (dropped(dy, p=p, draw=draw, to=to[0]),)


@op
def dropout_drawn_op(x, *, p, draw):
    return dropped(x, p=p, draw=draw, to=x.dtype), (), dropped_backward


def drop_on_device(input, p, shape):
    """What `drop` does with a tensor on a GPU."""
    device = import_module("minifp.ops.pointwise.dropout_cuda")
    if tuple(shape) == input.shape:
        return dropout_drawn_op(input, p=p, draw=device.Draw(PURPOSE))
    return dropout_op(input, device.kept(tuple(shape), p, PURPOSE), p=p)


def drop(name, input, p, training, shape):
    """input, or, in training, without what a mask of this shape, which broadcasts, drops."""
    if not (isinstance(p, (int, float)) and 0 <= p <= 1):
        raise ArgumentError(f"{name}: p={p!r}: expected a probability between 0 and 1")
    check_flag(f"{name}: training", training)
    if not training or p == 0:
        return input
    if device_of(getattr(input, "array", input)) != "cpu" and p != 1:
        return drop_on_device(input, p, shape)
    mask = random.uniform(shape, purpose=PURPOSE) >= p
    return input * 0.0 if p == 1 else dropout_op(input, mask, p=p)


@public("fp F", autocast="pointwise")
@takes_tensor
def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """In training, set each element to 0 with probability p and divide the others by 1 - p."""
    return drop("dropout", input, p, training, input.shape)


@public("F")
@takes_tensor
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """dropout of whole channels of (N, C, L) or (C, L), each of them kept or set to 0."""
    if input.ndim not in (2, 3):
        raise ShapeError(f"dropout1d: input of shape {input.shape}: expected (N, C, L) or (C, L)")
    return drop("dropout1d", input, p, training, (*input.shape[:-1], 1))


@public("F")
@takes_tensor
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """dropout of whole channels of (N, C, H, W), each of them kept or set to 0.

    Of (N, C, L) it takes the channels too, and of (N, C) each number, as in PyTorch, and says so
    once. Raises ShapeError for other shapes.
    """
    if input.ndim not in (2, 3, 4):
        raise ShapeError(f"dropout2d: input of shape {input.shape}: expected (N, C, H, W)")
    if input.ndim < 4:
        warn_once(
            f"dropout2d of {input.ndim} axes",
            f"dropout2d of a tensor of {input.ndim} axes: each "
            f"{'number' if input.ndim == 2 else 'channel'} is kept or set to 0, as in PyTorch: "
            f"write {'dropout' if input.ndim == 2 else 'dropout1d'}",
        )
    return drop("dropout2d", input, p, training, (*input.shape[:2], 1, 1)[: input.ndim])
