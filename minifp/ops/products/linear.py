"""y = x wT + b.   x: (N, I)  w: (O, I)  b: (O)  y: (N, O), all stored.

    dx = dy w        dw = dyT x        db = sum_n dy_n

Products are summed in `accumulate`, the bias is one addend more, and y is rounded once.
"""

from math import prod

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.products import WGRAD
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import check_tensors
from minifp.ops.public import public


@kernel("dot", "x", operands={"x": (1,), "w": (1,)})
def linear_forward(x, w, b, *, dot, accumulate):
    y = dot(x, w.T)
    if b is None:
        return y
    y += b
    return accumulate(y)


@kernel("dot", GIVEN, operands={"w": (0,)}, gradients={"dy": (1,)})
def linear_dx(dy, w, *, dot):
    return dot(dy, w)


@kernel("dot", GIVEN, operands={"x": (0,)}, gradients={"dy": (0,)}, product=WGRAD)
def linear_dw(dy, x, *, dot):
    return dot(dy.T, x)


@kernel("reduce", GIVEN)
def linear_db(dy, *, sum):
    return sum(dy, axis=0)


def linear_backward(dy, x, w, to):
    return (
        None if to[0] is None else linear_dx(dy, w, to=to[0]),
        None if to[1] is None else linear_dw(dy, x, to=to[1]),
        None if to[2] is None else linear_db(dy, to=to[2]),
    )


@op(weights=("w", "b"))
def linear_op(x, w, b):
    return linear_forward(x, w, b), (x, w), linear_backward


@public("F", autocast="product")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input weightT + bias. input: (..., I), weight: (O, I), bias: (O), result: (..., O)."""
    check_tensors("linear", input=input, weight=weight, bias=weight if bias is None else bias)
    shape, of_weight = input.shape, weight.shape
    if len(of_weight) != 2 or not shape or shape[-1] != of_weight[1]:
        raise ShapeError(
            f"linear: input of shape {shape} does not fit weight of shape {of_weight}: "
            f"expected (..., in) and (out, in){_guess(shape, of_weight)}"
        )
    if bias is not None and bias.shape != of_weight[:1]:
        raise ShapeError(f"linear: bias of shape {bias.shape} for weight {of_weight}")
    rows = input if len(shape) == 2 else input.reshape(prod(shape[:-1]), shape[-1])
    y = linear_op(rows, weight, bias)
    return y if len(shape) == 2 else y.reshape(*shape[:-1], of_weight[0])


def _guess(shape, w_shape):
    """The end of an error: what is missing where the numbers are as many as one example has."""
    if len(w_shape) == 2 and len(shape) > 1 and prod(shape) == w_shape[1]:
        return (
            "; this looks like a single example: give the model a batch axis, x.unsqueeze(0), and "
            "flatten from axis 1 on"
        )
    if len(w_shape) == 2 and len(shape) > 2 and prod(shape[1:]) == w_shape[1]:
        return "; it fits as x.flatten(1)"
    return ""
