"""Numbers kept between limits.

    y = min(max(x, a), b);   dx = dy where a <= x <= b, else 0
                             da = sum of dy where x < a < b,   db = sum of dy where x > b or b < a

x, y: stored. a, b: numbers, or tensors that broadcast with x, whose formats then count as x's does.
Gradients of what was stretched are summed in `reduce`; all is rounded once. Backward keeps x, and
limits that are tensors.
"""

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.elementwise import Operand, as_numbers, check_operands, operation, sum_to
from minifp.ops.public import public
from minifp.runtime.device import is_array_like


def _clamp_slope(dy, x, min=-np.inf, max=np.inf):
    return np.where((x >= min) & (x <= max), dy, 0)


between_numbers = operation(
    "clamp", lambda x, min=None, max=None: np.clip(x, min, max), _clamp_slope
)


@kernel("map", "x low high")
def clamp_between(x, low, high):
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _sides(x, low, high):
    """Where x itself, where low and where high is the result; NaN among them is nowhere."""
    low, high = (-np.inf if low is None else low), (np.inf if high is None else high)
    return (x >= low) & (x <= high), (x < low) & (low < high), (x > high) | (high < low)


@kernel("map", GIVEN)
def clamp_between_dx(dy, x, low, high, *, side, shape, sum):
    return sum_to(np.where(_sides(x, low, high)[side], dy, 0), shape, sum)


def clamp_backward(dy, x, low, high, to):
    return tuple(
        None
        if t is None
        else clamp_between_dx(dy, x, low, high, side=side, shape=np.shape(a), to=t)
        for side, (a, t) in enumerate(zip((x, low, high), to))
    )


@op
def clamp_op(x, low, high):
    check_operands(*(a for a in (x, low, high) if a is not None))
    return clamp_between(x, low, high), (x, low, high), clamp_backward


@public("fp Tensor", in_place=True, autocast="pointwise")
@takes_tensor
def clamp(input: Tensor, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """input, no smaller than `min` and no larger than `max` (max wins): numbers, tensors, or None.

    The gradient is 0 outside the limits and 1 at them; limits that are tensors get it where they
    are the result. Raises DTypeError for a limit that is neither a number nor a tensor,
    ArgumentError without any.
    """
    if min is None and max is None:
        raise ArgumentError("clamp: without min and max: expected at least one")
    if is_array_like(min) or is_array_like(max):
        return clamp_op(input, min, max)
    limits = {n: v for n, v in (("min", min), ("max", max)) if v is not None}
    return between_numbers(input, **as_numbers("clamp", **limits))
