"""y = x m / (1 - p) with m = [u >= p], u uniform in [0, 1).   dx = dy m / (1 - p).

(Srivastava et al. 2014, "inverted".) The random numbers are counter-based and drawn in float32, so
that every precision drops the same elements.
"""

from minifp import random
from minifp.backend import kernel
from minifp.errors import ArgumentError
from minifp.policy import GIVEN
from minifp.recording import op, takes_tensor
from minifp.tape import Tensor


@kernel("map", "x")
def dropout_forward(x, mask, *, p):
    return x * mask * (1 / (1 - p))


@kernel("map", GIVEN)
def dropout_dx(dy, mask, *, p):
    return dy * mask * (1 / (1 - p))


def dropout_backward(dy, mask, to, p):
    return dropout_dx(dy, mask, p=p, to=to[0]), None


@op
def dropout_(x, mask, *, p):
    return dropout_forward(x, mask, p=p), (mask,), dropout_backward


@takes_tensor
def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """In training, set each element to 0 with probability p and divide the others by 1 - p."""
    if not (isinstance(p, (int, float)) and 0 <= p <= 1):
        raise ArgumentError(f"dropout: p={p!r}: expected a probability between 0 and 1")
    if not training or p == 0:
        return input
    mask = random.uniform(input.shape, purpose="dropout") >= p
    return input * 0.0 if p == 1 else dropout_(input, mask, p=p)
