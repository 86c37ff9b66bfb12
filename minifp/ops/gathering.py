"""Reading and adding numbers along an axis.   x: stored  i: integers, of x's number of axes.

    gather:       y[.., j, ..] = x[.., i[.., j, ..], ..]
    scatter_add:  y = x, and + src[.., j, ..] at [.., i[.., j, ..], ..]
    scatter:      y = x, but src[.., j, ..] there: of several the last

The gradient of reading is adding and the other way round; that of scatter is dsrc = dy there, and
dx = 0. What meets at a place, x[place] among it, is summed in `reduce` and rounded once.
"""

import numpy as np

from minifp.backend import kernel
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.formats import is_float
from minifp.ops.dims import as_axis
from minifp.ops.elementwise import as_numbers, pass_to
from minifp.ops.indexing import add_rows
from minifp.ops.reduce import array_of
from minifp.ops.selection import masked_fill
from minifp.ops.shape import reshape
from minifp.ops.stretching import expand
from minifp.policy import GIVEN, get_precision
from minifp.recording import op, takes_tensor
from minifp.tape import Tensor


def as_indices(index, n, name):
    """A tensor of places of an axis of size n, as an array of its own.

    Raises DTypeError for what are no integers, ArgumentError for a place that is not there.
    """
    if not hasattr(index, "ndim"):
        raise DTypeError(f"{name}: index is a {type(index).__name__}: expected a tensor")
    i = np.array(array_of(index))
    if i.dtype.kind not in "iu":
        raise DTypeError(f"{name}: index of {i.dtype}: expected integers")
    if i.size and (i.min() < 0 or i.max() >= n):
        bad = i.min() if i.min() < 0 else i.max()
        raise ArgumentError(f"{name}: index {bad}: expected 0 to {n - 1}")
    return np.asarray(i, np.intp)


def mesh(index, axis):
    """NumPy's index of all places [.., index[.., j, ..], ..]."""
    return tuple(
        index if k == axis else i for k, i in enumerate(np.indices(index.shape, sparse=True))
    )


def places_of(index, axis, shape):
    """The numbers of those places, counted in C order of a shape."""
    rows = np.zeros(index.shape, np.intp)
    for n, i in zip(shape, mesh(index, axis)):
        rows = rows * n + i
    return rows.reshape(-1)


# ---- gather and scatter_add ---------------------------------------------------------------------


def check_gather(name, input, axis, index):
    """Raise ShapeError unless index has as many axes as input, none longer but along `axis`."""
    if index.ndim != input.ndim or any(
        i > n for k, (i, n) in enumerate(zip(index.shape, input.shape)) if k != axis
    ):
        raise ShapeError(
            f"{name}: index of shape {index.shape} for input of shape {input.shape}: expected as "
            f"many dimensions, none longer except along {axis}"
        )


@kernel("reduce", GIVEN)
def gather_dx(dy, index, *, axis, shape, sum):
    rows = places_of(index, axis, shape)
    return add_rows(dy.reshape(-1), rows, int(np.prod(shape)), sum).reshape(shape)


def gather_backward(dy, index, shape, to, axis):
    return gather_dx(dy, index, axis=axis, shape=shape, to=to[0]), None


@op
def gather_(x, index, *, axis):
    return x[mesh(index, axis)], (index, x.shape), gather_backward


@takes_tensor
def gather(input: Tensor, dim: int, index: Tensor | np.ndarray) -> Tensor:
    """input at the places that index names along `dim`; the result has index's shape.

    Raises ArgumentError for a place that is not there, ShapeError where the shapes do not fit.
    """
    axis = as_axis(dim, input.ndim, "gather: dim")
    places = as_indices(index, input.shape[axis], "gather")
    check_gather("gather", input, axis, places)
    return gather_(input, places, axis=axis)


@takes_tensor
def take_along_dim(input: Tensor, indices: Tensor | np.ndarray, dim: int | None = None) -> Tensor:
    """`gather`, where input and indices broadcast; without `dim`, of the flattened tensors."""
    if not hasattr(indices, "ndim"):
        raise DTypeError(
            f"take_along_dim: indices is a {type(indices).__name__}: expected a tensor"
        )
    if dim is None:
        return gather(reshape(input, -1), 0, array_of(indices).reshape(-1))
    axis, i = as_axis(dim, input.ndim, "take_along_dim: dim"), array_of(indices)
    if i.ndim != input.ndim:
        raise ShapeError(f"take_along_dim: indices of shape {i.shape} for input of {input.shape}")
    sizes = [1 if k == axis else n for k, n in enumerate(input.shape)]
    shape = list(np.broadcast_shapes(sizes, [1 if k == axis else n for k, n in enumerate(i.shape)]))
    own, its = shape.copy(), shape.copy()
    own[axis], its[axis] = input.shape[axis], i.shape[axis]
    return gather(expand(input, own), dim, np.broadcast_to(i, its))


@kernel("reduce", "x")
def scatter_add_forward(x, src, index, *, axis, sum):
    src = src[tuple(slice(n) for n in index.shape)]
    rows = np.concatenate([np.arange(x.size), places_of(index, axis, x.shape)])
    addends = np.concatenate([x.reshape(-1), src.reshape(-1)])
    return add_rows(addends, rows, x.size, sum).reshape(x.shape)


def scatter_add_backward(dy, index, src_shape, to, axis):
    dx = pass_to(dy, dy.shape, to[0])
    if to[1] is None:
        return dx, None, None
    read = np.zeros(src_shape, dy.dtype)
    read[tuple(slice(n) for n in index.shape)] = dy[mesh(index, axis)]
    return dx, pass_to(read, src_shape, to[1]), None


@op
def scatter_add_(x, src, index, *, axis):
    y = scatter_add_forward(x, src, index, axis=axis)
    return y, (index, src.shape), scatter_add_backward


@takes_tensor
def scatter_add(input: Tensor, dim: int, index: Tensor | np.ndarray, src: Tensor) -> Tensor:
    """input, with each number of src added at the place that index names along `dim`.

    src may be longer than index: the rest is left out. Raises as `gather` does.
    """
    axis = as_axis(dim, input.ndim, "scatter_add: dim")
    places = as_indices(index, input.shape[axis], "scatter_add")
    check_gather("scatter_add", input, axis, places)
    check_source("scatter_add", input, src)
    check_gather("scatter_add: src", src, None, places)
    return scatter_add_(input, src, places, axis=axis)


def scatter_backward(dy, index, src_shape, to, axis):
    dx = np.array(dy)
    dx[mesh(index, axis)] = 0
    dx = pass_to(dx, dx.shape, to[0])
    if to[1] is None:
        return dx, None, None
    read = np.zeros(src_shape, dy.dtype)
    read[tuple(slice(n) for n in index.shape)] = dy[mesh(index, axis)]
    return dx, pass_to(read, src_shape, to[1]), None


@op
def scatter_(x, src, index, *, axis):
    y = np.array(x)
    y[mesh(index, axis)] = src[tuple(slice(n) for n in index.shape)]
    return y, (index, src.shape), scatter_backward


@takes_tensor
def scatter(
    input: Tensor, dim: int, index: Tensor | np.ndarray, src: Tensor | float | None = None, *,
    value: float | None = None,
) -> Tensor:  # fmt: skip
    """input, with numbers of src (or one number) at the places that index names along `dim`.

    Where a place is named several times, the last wins; each of its sources gets its gradient, as
    in PyTorch. src may be longer than index: the rest is left out. Raises as `gather` does, and
    ArgumentError unless there is one of src and value.
    """
    if (src is None) == (value is None):
        raise ArgumentError("scatter: expected src or value, and not both")
    axis = as_axis(dim, input.ndim, "scatter: dim")
    places = as_indices(index, input.shape[axis], "scatter")
    check_gather("scatter", input, axis, places)
    given = value if src is None else src
    if not hasattr(given, "ndim"):
        mask = np.zeros(input.shape, bool)
        mask[mesh(places, axis)] = True
        return masked_fill(input, mask, as_numbers("scatter", value=given)["value"])
    check_source("scatter", input, given)
    check_gather("scatter: src", given, None, places)
    return scatter_(input, given, places, axis=axis)


def check_source(name, input, src):
    """Raise DTypeError unless src is a tensor of input's dtype; where autocast has a row for the
    operation that lets formats meet, unless both are floating."""
    meet = get_precision().operations is not None and name != "scatter"
    same = hasattr(src, "ndim") and (
        src.dtype == input.dtype or (meet and is_float(src.dtype) and is_float(input.dtype))
    )
    if not same:
        given = getattr(src, "dtype", type(src).__name__)
        raise DTypeError(f"{name}: source of {given}: expected a tensor of {input.dtype}")


# ---- places as numbers --------------------------------------------------------------------------


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 (..., num_classes) with a 1 at the class and 0 elsewhere.

    tensor: integers, any shape. num_classes: by default as many as there are. Raises ArgumentError
    for one that is no class.
    """
    if not hasattr(tensor, "ndim"):
        raise DTypeError(f"one_hot: a {type(tensor).__name__}: expected a tensor of integers")
    i = array_of(tensor)
    if num_classes == -1:
        if not i.size:
            raise ArgumentError("one_hot of no numbers: say how many classes there are")
        num_classes = int(i.max()) + 1
    i = as_indices(i, num_classes, "one_hot")
    y = np.zeros((*i.shape, num_classes), np.int64)
    np.put_along_axis(y, i[..., None], 1, -1)
    return Tensor(y)
