"""Diagonals as matrices, their sums, the places of triangles, and numbers by their place."""

from typing import Any

import numpy as np

from minifp.autograd.op import takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import DTypeError, ShapeError
from minifp.ops.arguments import is_integer
from minifp.ops.creation import tensor
from minifp.ops.factories.full import zeros
from minifp.ops.public import public
from minifp.ops.reduce import array_of, sum
from minifp.ops.shaping.gather_scatter import scatter
from minifp.ops.shaping.indexing import getitem
from minifp.ops.shaping.rearrange import diagonal as diagonal_of
from minifp.ops.shaping.shape import reshape
from minifp.runtime.device import device_of
from minifp.typing import DType


@public("fp Tensor")
@takes_tensor
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Of a vector (n) the matrix (n + |diagonal|, the same) with it on a diagonal; of a matrix that
    diagonal, as a view. Raises ShapeError for other shapes."""
    if input.ndim == 2:
        return diagonal_of(input, diagonal)
    if input.ndim != 1:
        raise ShapeError(f"diag: input of shape {input.shape}: expected a vector or a matrix")
    if not is_integer(diagonal):
        raise DTypeError(f"diag: diagonal={diagonal!r}: expected an integer")
    count, offset = input.shape[0], int(diagonal)
    size = count + abs(offset)
    places = np.arange(count) * (size + 1) + (offset if offset > 0 else -offset * size)
    flat = zeros(size * size, dtype=input.dtype, device=device_of(array_of(input)))
    return reshape(scatter(flat, 0, Tensor(places), input), size, size)


@public("fp Tensor")
@takes_tensor
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal. Raises ShapeError for other shapes."""
    if input.ndim != 2:
        raise ShapeError(f"trace: input of shape {input.shape}: expected a matrix")
    return sum(diagonal_of(input))


@public("fp Tensor")
@takes_tensor
def take(input: Tensor, index: Tensor) -> Tensor:
    """The numbers of the flattened input at the places `index`, in index's shape.

    Raises ShapeError for a place that is not there, DTypeError for places that are no integers.
    """
    if not isinstance(index, Tensor) or index.array.dtype.kind not in "iu":
        raise DTypeError("take: index: expected a tensor of integers")
    return getitem(reshape(input, -1), index)


def _triangle(name, places, row, col, offset, dtype, device):
    rows, columns = check_count(f"{name}: row", row, 0), check_count(f"{name}: col", col, 0)
    if not is_integer(offset):
        raise DTypeError(f"{name}: offset={offset!r}: expected an integer")
    return tensor(np.stack(places(rows, int(offset), columns)), dtype or "int64", device)


@public("fp")
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """(2, n): rows and columns of the places on and below a diagonal of a matrix, in int64."""
    return _triangle("tril_indices", np.tril_indices, row, col, offset, dtype, device)


@public("fp")
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """(2, n): rows and columns of the places on and above a diagonal of a matrix, in int64."""
    return _triangle("triu_indices", np.triu_indices, row, col, offset, dtype, device)
