"""A loss times the loss scale S, as an operation: y = S x, dx = S dy.

x: any shape, usually (). A backward from y records S as the seed of all gradients, as if it had
been called on x with `seed=S`: see minifp/autograd/loss_seed.py.
"""

from minifp.autograd.loss_seed import scaled
from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN


@kernel("map", "x")
def scaled_loss_forward(x, *, scale):
    return x * scale


@kernel("map", GIVEN)
def scaled_loss_dx(dy, *, scale):
    return dy * scale


def _backward(dy, to, scale):
    return (scaled_loss_dx(dy, scale=scale, to=to[0]),)


@op
def scaled_loss_op(x, *, scale):
    """S x."""
    return scaled_loss_forward(x, scale=scale), (), _backward


def scaled_loss(loss: Tensor, scale: float) -> Tensor:
    """`loss` times `scale`, which the gradients of a backward know as their seed.

    loss: any shape. scale: a finite positive number. The result has the loss's format.
    """
    result = scaled_loss_op(loss, scale=float(scale))
    if result.node is not None:
        scaled.add(result.node)
    return result
