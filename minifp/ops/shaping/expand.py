"""The same numbers several times along axes: as a view (expand), or as copies (repeat).

    y = x wherever it is stretched to        dx = the sum of dy over what x was stretched along

x, y stored. The sum is in `reduce`, and rounded once.
"""

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ShapeError
from minifp.ops.arguments import also_by_name, as_integers, check_room
from minifp.ops.elementwise import pass_to
from minifp.ops.public import public
from minifp.ops.reduce import sum_forward
from minifp.ops.shaping.shape import shape_of
from minifp.typing import Ints


def expand_backward(dy, shape_before, to, shape):
    return (pass_to(dy, shape_before, to[0]),)


@op
def expand_op(x, *, shape):
    return np.broadcast_to(x, shape), (x.shape,), expand_backward


@public("fp Tensor", autocast="exact")
@takes_tensor
@also_by_name("size")
def expand(input: Tensor, *shape: Ints) -> Tensor:
    """Stretched along axes of size 1, without copying; -1 keeps a size."""
    shape = as_integers(shape, "expand", -1)
    added = len(shape) - input.ndim
    if -1 in shape[: max(added, 0)]:
        raise ShapeError(f"expand of {input.shape} to {shape}: -1 keeps an existing axis")
    kept = tuple(input.shape[i - added] if n == -1 else n for i, n in enumerate(shape))
    return expand_op(input, shape=kept)


@public("Tensor")
@takes_tensor
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Stretched to the shape of `other`, without copying."""
    return expand(input, shape_of(other, "expand_as"))


@public("fp Tensor")
@takes_tensor
def broadcast_to(input: Tensor, size: Ints) -> Tensor:
    """Stretched to a shape, without copying, as arithmetic would."""
    return expand(input, size)


def repeat_backward(dy, shape, wide, to, repeats):
    axes = tuple(range(0, len(wide), 2))
    dx = sum_forward(dy.reshape(wide), axes=axes, keepdims=False, to=to[0])
    return (dx.reshape(shape),)


@op
def repeat_op(x, *, repeats):
    shape = (1,) * (len(repeats) - x.ndim) + x.shape
    wide = tuple(size for r, n in zip(repeats, shape) for size in (r, n))  # (r0, n0, r1, n1, ...)
    return np.tile(x, repeats), (x.shape, wide), repeat_backward


@public("Tensor", autocast="exact")
@takes_tensor
@also_by_name("repeats")
def repeat(input: Tensor, *repeats: Ints) -> Tensor:
    """Copies side by side, so many along each axis; more numbers than axes add axes in front."""
    repeats = as_integers(repeats, "repeat", 0)
    if len(repeats) < input.ndim:
        raise ShapeError(
            f"repeat{repeats} of a tensor of {input.ndim} dimensions: expected a number for each"
        )
    check_room("repeat", (*repeats, *input.shape))  # NumPy does not look, and ends the process
    return repeat_op(input, repeats=repeats)


@public("fp Tensor")
@takes_tensor
@also_by_name("dims")
def tile(input: Tensor, *dims: Ints) -> Tensor:
    """`repeat`, where fewer numbers than axes are for the last ones."""
    dims = as_integers(dims, "tile", 0)
    return repeat(input, (1,) * (input.ndim - len(dims)) + dims)
