"""Writing at places that are named in PyTorch's ways; each is x[index] = value.

Those with a _ at the end write into their tensor, and return it; the others write into a copy.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from minifp.autograd.op import takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, ShapeError
from minifp.ops.arguments import as_axis
from minifp.ops.creation import Data
from minifp.ops.inspection import clone
from minifp.ops.public import public
from minifp.ops.reduce import array_given, array_of
from minifp.ops.shaping.slices import as_vector
from minifp.ops.shaping.where import booleans


def _along(name, input, dim, index):
    """The index of the slices along an axis that integers name, and how many these are."""
    axis = as_axis(dim, input.ndim, f"{name}: dim")
    places = as_vector(index, input.shape[axis], name, input)
    return (*(slice(None),) * axis, places), places.size


@public("Tensor")
@takes_tensor
def index_fill_(
    input: Tensor, dim: int, index: Tensor | np.ndarray, value: Tensor | float
) -> Tensor:
    """Write one number into the slices along `dim` that index (integers, one axis) names."""
    if shape := getattr(value, "shape", ()):
        raise ShapeError(f"index_fill_: value of shape {shape}: expected a number")
    input[_along("index_fill_", input, dim, index)[0]] = value
    return input


@public("Tensor")
@takes_tensor
def index_copy_(input: Tensor, dim: int, index: Tensor | np.ndarray, source: Tensor) -> Tensor:
    """Write slices of source, of which there is one for each place, into those that index names."""
    places, count = _along("index_copy_", input, dim, index)
    axis = len(places) - 1
    expected = (*input.shape[:axis], count, *input.shape[axis + 1 :])
    if source.shape != expected:
        raise ShapeError(f"index_copy_: source of shape {source.shape}: expected {expected}")
    input[places] = source
    return input


@public("Tensor")
@takes_tensor
def index_put_(
    input: Tensor, indices: tuple[Tensor | np.ndarray, ...], values: Data, accumulate: bool = False
) -> Tensor:
    """x[indices] = values: of integers or booleans, one for each axis. Raises ArgumentError for
    accumulate=True."""
    if accumulate:
        raise ArgumentError("index_put_: accumulate=True: write x.index_add_ or x.scatter_add_")
    input[tuple(indices)] = values
    return input


@public("Tensor")
@takes_tensor
def masked_scatter_(input: Tensor, mask: Tensor | np.ndarray, source: Tensor) -> Tensor:
    """Write the first numbers of source, in C order, where `mask` (booleans, which broadcast)
    holds. Raises ShapeError where there are too few, and DTypeError for another mask."""
    there = booleans("masked_scatter_: a mask", array_given("masked_scatter_: mask", mask))
    try:
        there = np.broadcast_to(there, input.shape)
    except ValueError as error:
        raise ShapeError(f"masked_scatter_: {error}") from error
    count = int(array_of(there).sum())
    if source.numel() < count:
        raise ShapeError(f"masked_scatter_: {source.numel()} numbers for {count} places")
    input[there] = source.reshape(-1)[:count]
    return input


@public("Tensor")
@takes_tensor
def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Write one number into the diagonal of a matrix, or of more dimensions of one size. wrap: of a
    tall matrix, into that of each square below, with a row between."""
    n = min(input.shape, default=0)
    if input.ndim < 2 or (input.ndim > 2 and set(input.shape) != {n}):
        raise ShapeError(
            f"fill_diagonal_: shape {input.shape}: expected a matrix, or dimensions of one size"
        )
    places = (np.arange(n),) * input.ndim
    if input.ndim == 2 and wrap:
        places = np.unravel_index(np.arange(0, input.numel(), input.shape[1] + 1), input.shape)
    input[places] = fill_value
    return input


def _of_copy(write: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function that writes into a copy."""

    @wraps(write)
    def apply(input: Tensor, *args: Any, **settings: Any) -> Tensor:
        return write(clone(input), *args, **settings)

    apply.__name__ = apply.__qualname__ = write.__name__[:-1]
    apply.__doc__ = f"As `{write.__name__}`, but into a copy."
    return public("Tensor")(takes_tensor(apply))


index_fill, index_copy = _of_copy(index_fill_), _of_copy(index_copy_)
index_put, masked_scatter = _of_copy(index_put_), _of_copy(masked_scatter_)
