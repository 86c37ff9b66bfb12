"""The same numbers in other places, and zeros.

    flip, roll, diagonal, tril, triu, pixel_shuffle:  dx = dy, back where each number came from

diagonal is a view. Nothing is computed, so nothing is rounded.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.arguments import also_by_name, as_axes, as_axis, as_integers, is_integer
from minifp.ops.elementwise import pass_to
from minifp.ops.public import public
from minifp.ops.shaping.shape import permute, reshape
from minifp.runtime.device import full
from minifp.typing import Ints

# ---- backwards and round ------------------------------------------------------------------------


def flip_backward(dy, to, axes):
    return (np.flip(dy, axes),)


@op
def flip_op(x, *, axes):
    return np.flip(x, axes).copy(), (), flip_backward


@public("fp Tensor", autocast="exact")
@takes_tensor
@also_by_name("dims")
def flip(input: Tensor, *dims: Ints) -> Tensor:
    """Backwards along some axes: `flip(x, 0, 1)` or `flip(x, (0, 1))`. A copy, as in PyTorch."""
    dims = dims[0] if len(dims) == 1 else dims
    if dims is None:
        raise DTypeError("flip: dims=None: expected an integer, or several of them")
    return flip_op(input, axes=as_axes(dims, input.ndim, "flip: dims"))


def roll_backward(dy, to, shifts, axes):
    return (np.roll(dy, [-s for s in shifts], axes),)


@op
def roll_op(x, *, shifts, axes):
    return np.roll(x, shifts, axes), (), roll_backward


@public("fp Tensor", autocast="exact")
@takes_tensor
def roll(input: Tensor, shifts: Ints, dims: Ints | None = None) -> Tensor:
    """Moved along axes, what leaves at the end entering at the start.

    shifts, dims: an integer, or several; an axis may be there twice. Without dims one shift moves
    through the flattened tensor.
    """
    if dims is None:
        return reshape(roll(reshape(input, -1), shifts, 0), input.shape)
    dims = dims if isinstance(dims, (tuple, list)) else (dims,)
    shifts = as_integers((shifts,), "roll: shifts=")
    if len(shifts) != len(dims):
        raise ArgumentError(f"roll: shifts={shifts}, dims={dims}: expected equally many")
    axes = tuple(as_axis(d, input.ndim, "roll: dims") for d in dims)
    return roll_op(input, shifts=shifts, axes=axes)


# ---- diagonals and triangles --------------------------------------------------------------------


def diagonal_of(x, offset, axes):
    """The diagonal as a view that can be written to if x can."""
    y = np.diagonal(x, offset, *axes)
    if type(y) is np.ndarray:
        y.flags.writeable = x.flags.writeable
    return y


def diagonal_backward(dy, shape, to, offset, axes):
    dx = full(shape, 0, dy.dtype, like=dy)
    diagonal_of(dx, offset, axes)[...] = dy
    return (pass_to(dx, shape, to[0]),)


@op
def diagonal_op(x, *, offset, axes):
    return diagonal_of(x, offset, axes), (x.shape,), diagonal_backward


@public("fp Tensor", autocast="exact")
@takes_tensor
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of the matrices in two axes, along a new last axis, as a view.

    offset: how far above the main diagonal (below it where negative).
    """
    axes = tuple(as_axis(d, input.ndim, "diagonal: dim") for d in (dim1, dim2))
    if axes[0] == axes[1]:
        raise ShapeError(f"diagonal: dim1={dim1}, dim2={dim2}: expected different axes")
    if not is_integer(offset):
        raise DTypeError(f"diagonal: offset={(offset,)}: expected integers")
    return diagonal_op(input, offset=int(offset), axes=axes)


class Triangle(Protocol):
    """The function tril or triu."""

    def __call__(self, input: Tensor, diagonal: int = 0) -> Tensor: ...


def triangle(name: str, keep: Callable[..., np.ndarray], doc: str) -> Triangle:
    """The function tril or triu: `keep` is NumPy's."""

    def backward(dy, to, diagonal):
        return (keep(dy, diagonal),)

    def recorded(x, *, diagonal):
        return keep(x, diagonal), (), backward

    recorded.__name__ = name
    apply = op(recorded)

    def function(input: Tensor, diagonal: int = 0) -> Tensor:
        if input.ndim < 2:
            raise ShapeError(f"{name}: input of shape {input.shape}: expected matrices")
        if not is_integer(diagonal):
            raise DTypeError(f"{name}: diagonal={(diagonal,)}: expected integers")
        return apply(input, diagonal=int(diagonal))

    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return public("fp Tensor", in_place=True, autocast="exact")(takes_tensor(function))


WITHOUT = "The matrices in the last two axes, with 0 {} a diagonal (0: the main one, 1: above it)."
tril = triangle("tril", np.tril, WITHOUT.format("above"))
triu = triangle("triu", np.triu, WITHOUT.format("below"))


# ---- pictures -----------------------------------------------------------------------------------


@public("fp F")
@takes_tensor
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """(..., C r r, H, W) as pictures (..., C, H r, W r), with r the upscale_factor.

    Source: Shi et al. 2016, arXiv:1609.05158, section 3.2.
    """
    r = check_count("pixel_shuffle: upscale_factor", upscale_factor)
    if input.ndim < 3 or input.shape[-3] % (r * r):
        raise ShapeError(
            f"pixel_shuffle: input of shape {input.shape}: expected (..., C {r * r}, H, W)"
        )
    *lead, c, h, w = input.shape
    n = len(lead)
    x = reshape(input, *lead, c // (r * r), r, r, h, w)
    x = permute(x, *range(n), n, n + 3, n + 1, n + 4, n + 2)
    return reshape(x, *lead, c // (r * r), h * r, w * r)


@public("fp F")
@takes_tensor
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """(..., C, H r, W r) as (..., C r r, H, W): what undoes pixel_shuffle."""
    r = check_count("pixel_unshuffle: downscale_factor", downscale_factor)
    if input.ndim < 3 or input.shape[-2] % r or input.shape[-1] % r:
        raise ShapeError(
            f"pixel_unshuffle: input of shape {input.shape}: expected (..., C, H, W) with H and W "
            f"multiples of {r}"
        )
    *lead, c, h, w = input.shape
    n = len(lead)
    x = reshape(input, *lead, c, h // r, r, w // r, r)
    x = permute(x, *range(n), n, n + 2, n + 4, n + 1, n + 3)
    return reshape(x, *lead, c * r * r, h // r, w // r)
