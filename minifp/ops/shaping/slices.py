"""Reading and adding whole slices along an axis.   x: stored  i: integers, along one axis.

    index_select: y[.., j, ..] = x[.., i_j, ..]
    index_add:    y = x, and + alpha src[.., j, ..] at [.., i_j, ..]

The gradient of reading is adding and the other way round. What meets at a place, x[place] among it,
is summed in `reduce` and rounded once.
"""

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import as_axis, check_room
from minifp.ops.elementwise import as_numbers, pass_to
from minifp.ops.public import public
from minifp.ops.reduce import array_given
from minifp.ops.shaping.gather_scatter import as_indices, check_source
from minifp.ops.shaping.indexing import add_rows
from minifp.ops.shaping.indexing_cuda import read_places
from minifp.ops.shaping.shape import reshape
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.shapes import as_one


@kernel("reduce", GIVEN)
def index_select_dx(dy, index, *, axis, n, sum):
    return np.moveaxis(add_rows(np.moveaxis(dy, axis, 0), index, n, sum), 0, axis)


def index_select_backward(dy, index, n, to, axis):
    return index_select_dx(dy, index, axis=axis, n=n, to=to[0]), None


def read(x, index, axis):
    """The slices along an axis that index names."""
    if is_on_device(x) and is_on_device(index):
        y = read_places(as_one(x, axis), index)
        if y is not None:
            return y.reshape(*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    return np.take(x, index, axis)


@op
def index_select_op(x, index, *, axis):
    return read(x, index, axis), (index, x.shape[axis]), index_select_backward


def as_vector(index, n, name, input):
    """`as_indices`, of one axis at most."""
    places = as_indices(index, n, name, input)
    if places.ndim > 1:
        raise ShapeError(f"{name}: index of shape {places.shape}: expected one dimension")
    return places.reshape(-1)


@public("fp Tensor", autocast="exact")
@takes_tensor
def index_select(input: Tensor, dim: int, index: Tensor | np.ndarray) -> Tensor:
    """The slices along `dim` that index (integers, one axis) names, in its order."""
    axis = as_axis(dim, input.ndim, "index_select: dim")
    places = as_vector(index, input.shape[axis], "index_select", input)
    return index_select_op(input, places, axis=axis)


@kernel("reduce", "x")
def index_add_forward(x, src, index, *, axis, alpha, sum):
    rows = np.concatenate([np.arange(x.shape[axis], like=x), index])
    addends = np.moveaxis(np.concatenate([x, src if alpha == 1 else alpha * src], axis), axis, 0)
    return np.moveaxis(add_rows(addends, rows, x.shape[axis], sum), 0, axis)


def index_add_backward(dy, index, to, axis, alpha):
    dsrc = read(dy, index, axis)
    return pass_to(dy, dy.shape, to[0]), pass_to(dsrc, dsrc.shape, to[1], alpha), None


@op
def index_add_op(x, src, index, *, axis, alpha):
    return index_add_forward(x, src, index, axis=axis, alpha=alpha), (index,), index_add_backward


@public("fp Tensor", in_place=True, autocast="meeting")
@takes_tensor
def index_add(
    input: Tensor, dim: int, index: Tensor | np.ndarray, source: Tensor, *, alpha: float = 1
) -> Tensor:
    """input, with alpha times each slice of source added to the slice that index names."""
    axis = as_axis(dim, input.ndim, "index_add: dim")
    places = as_vector(index, input.shape[axis], "index_add", input)
    check_source("index_add", input, source)
    expected = (*input.shape[:axis], places.size, *input.shape[axis + 1 :])
    if source.shape != expected:
        raise ShapeError(f"index_add: source of shape {source.shape}: expected {expected}")
    return index_add_op(input, source, places, axis=axis, **as_numbers("index_add", alpha=alpha))


@public("fp Tensor")
@takes_tensor
def repeat_interleave(
    input: Tensor, repeats: int | Tensor | np.ndarray, dim: int | None = None
) -> Tensor:
    """Each slice along `dim` (of the flattened tensor without it) `repeats` times in a row.

    repeats: an integer, or integers (a tensor), one for each slice.
    """
    if dim is None:
        input, dim = reshape(input, -1), 0
    axis = as_axis(dim, input.ndim, "repeat_interleave: dim")
    counts = array_given("repeat_interleave: repeats", repeats)
    if counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ArgumentError(
            f"repeat_interleave: repeats={repeats!r}: expected integers, at least 0"
        )
    if counts.size != 1 and counts.shape != input.shape[axis : axis + 1]:
        raise ShapeError(
            f"repeat_interleave: repeats of shape {counts.shape} for axis {axis} of {input.shape}"
        )
    counts = np.broadcast_to(counts, input.shape[axis])
    check_room("repeat_interleave", (int(counts.sum(dtype="float64")),))  # where int64 would wrap
    return index_select(input, axis, np.repeat(np.arange(input.shape[axis]), counts))
