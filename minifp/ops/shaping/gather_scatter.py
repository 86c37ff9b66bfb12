"""Reading and adding numbers along an axis.   x: stored  i: integers, of x's number of axes.

    gather:       y[.., j, ..] = x[.., i[.., j, ..], ..]
    scatter_add:  y = x, and + src[.., j, ..] at [.., i[.., j, ..], ..]
    scatter:      y = x, but src[.., j, ..] there: of several the last

The gradient of reading is adding and the other way round; that of scatter is dsrc = dy there, and
dx = 0. What meets at a place, x[place] among it, is summed in `reduce` and rounded once.
"""

from typing import TypeAlias

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DeviceError, DTypeError, ShapeError
from minifp.numerics.formats import is_float
from minifp.numerics.kernels import kernel
from minifp.numerics.policy import get_precision
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import as_axis
from minifp.ops.elementwise import as_numbers, pass_to
from minifp.ops.on_host import on_host
from minifp.ops.public import public
from minifp.ops.reduce import array_of
from minifp.ops.shaping.expand import expand
from minifp.ops.shaping.gather_scatter_cuda import gathered
from minifp.ops.shaping.indexing import add_rows
from minifp.ops.shaping.shape import reshape
from minifp.ops.shaping.where import masked_fill
from minifp.runtime.cuda.arrays import is_on_device, to_device
from minifp.runtime.device import is_array_like


def as_indices(index, n, name, input):
    """A tensor of places of an axis of size n, as an array of its own, where `input` is.

    Raises DTypeError for anything but integers, ArgumentError for a place that is not there. On a
    GPU the places are not looked at, as one would have to wait for them: what is read of one that
    is not there is NaN, and nothing is added to it. Raises DeviceError for one on a GPU of an input
    that is not.
    """
    if not is_array_like(index):
        raise DTypeError(f"{name}: index is a {type(index).__name__}: expected a tensor")
    i = index if is_on_device(index) else array_of(index)
    on_device = is_on_device(input if is_on_device(input) else array_of(input))
    if i.dtype.kind not in "iu":
        raise DTypeError(f"{name}: index of {i.dtype}: expected integers")
    if is_on_device(i) and not on_device:
        raise DeviceError(f"{name}: an index on the GPU for an input on the CPU: move one of them")
    if i.size and not is_on_device(i) and (i.min() < 0 or i.max() >= n):
        bad = i.min() if i.min() < 0 else i.max()
        raise ArgumentError(f"{name}: index {bad}: expected 0 to {n - 1}")
    if is_on_device(i):
        return i.copy()
    return to_device(i) if on_device else np.array(i, np.intp)


def mesh(index, axis):
    """NumPy's index of all places [.., index[.., j, ..], ..]."""
    along = [np.arange(n, like=index) for n in index.shape]
    others = [i.reshape(-1, *(1,) * (index.ndim - k - 1)) for k, i in enumerate(along)]
    return tuple(index if k == axis else i for k, i in enumerate(others))


def read(x, index, axis):
    """x[.., index[.., j, ..], ..]."""
    y = gathered(x, index, axis) if is_on_device(x) and is_on_device(index) else None
    return x[mesh(index, axis)] if y is None else y


def places_of(index, axis, shape):
    """The numbers of those places, counted in C order of a shape."""
    rows = np.zeros(index.shape, np.intp, like=index)
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
def gather_op(x, index, *, axis):
    return read(x, index, axis), (index, x.shape), gather_backward


@public("fp Tensor", autocast="exact")
@takes_tensor
def gather(input: Tensor, dim: int, index: Tensor | np.ndarray) -> Tensor:
    """input at the places that index names along `dim`; the result has index's shape.

    Raises ArgumentError for a place that is not there, ShapeError where the shapes do not fit.
    """
    axis = as_axis(dim, input.ndim, "gather: dim")
    places = as_indices(index, input.shape[axis], "gather", input)
    check_gather("gather", input, axis, places)
    return gather_op(input, places, axis=axis)


@public("fp Tensor")
@takes_tensor
def take_along_dim(input: Tensor, indices: Tensor | np.ndarray, dim: int | None = None) -> Tensor:
    """`gather`, where input and indices broadcast; without `dim`, of the flattened tensors."""
    if not is_array_like(indices):
        raise DTypeError(
            f"take_along_dim: indices is a {type(indices).__name__}: expected a tensor"
        )
    if dim is None:
        return gather(reshape(input, -1), 0, array_of(indices).reshape(-1))
    axis, i = as_axis(dim, input.ndim, "take_along_dim: dim"), array_of(indices)
    if i.ndim != input.ndim:
        raise ShapeError(f"take_along_dim: indices of shape {i.shape} for input of {input.shape}")
    sizes = [1 if k == axis else n for k, n in enumerate(input.shape)]
    try:
        its = [1 if k == axis else n for k, n in enumerate(i.shape)]
        shape = list(np.broadcast_shapes(sizes, its))
    except ValueError:
        raise ShapeError(
            f"take_along_dim: indices of shape {i.shape} for input of {input.shape}: expected what "
            f"broadcasts with it, but for axis {axis}"
        ) from None
    own, its = shape.copy(), shape.copy()
    own[axis], its[axis] = input.shape[axis], i.shape[axis]
    return gather(expand(input, own), dim, np.broadcast_to(i, its))


@kernel("reduce", "x")
def scatter_add_forward(x, src, index, *, axis, sum):
    src = src[tuple(slice(n) for n in index.shape)]
    rows = np.concatenate([np.arange(x.size, like=x), places_of(index, axis, x.shape)])
    addends = np.concatenate([x.reshape(-1), src.reshape(-1)])
    return add_rows(addends, rows, x.size, sum).reshape(x.shape)


def scatter_add_backward(dy, index, src_shape, to, axis):
    dx = pass_to(dy, dy.shape, to[0])
    return dx, source_gradient(dy, index, src_shape, to[1], axis), None


def source_gradient(dy, index, shape, dtype, axis):
    """dy at the places of index, and 0 where a source is longer; None where `dtype` is."""
    if dtype is None:
        return None
    d = read(dy, index, axis)
    if d.shape != shape:
        d, d_read = np.zeros_like(dy, shape=shape), d
        d[tuple(slice(n) for n in index.shape)] = d_read
    return pass_to(d, shape, dtype)


@op
def scatter_add_op(x, src, index, *, axis):
    y = scatter_add_forward(x, src, index, axis=axis)
    return y, (index, src.shape), scatter_add_backward


@public("fp Tensor", in_place=True, autocast="meeting")
@takes_tensor
def scatter_add(input: Tensor, dim: int, index: Tensor | np.ndarray, src: Tensor) -> Tensor:
    """input, with each number of src added at the place that index names along `dim`.

    src may be longer than index: the rest is left out. Raises as `gather` does.
    """
    axis = as_axis(dim, input.ndim, "scatter_add: dim")
    places = as_indices(index, input.shape[axis], "scatter_add", input)
    check_gather("scatter_add", input, axis, places)
    check_source("scatter_add", input, src)
    check_gather("scatter_add: src", src, None, places)
    return scatter_add_op(input, src, places, axis=axis)


def scatter_backward(dy, index, src_shape, to, axis):
    dx = np.array(dy)
    dx[mesh(index, axis)] = 0
    dx = pass_to(dx, dx.shape, to[0])
    return dx, source_gradient(dy, index, src_shape, to[1], axis), None


@op
def scatter_op(x, src, index, *, axis):
    y = np.array(x)
    y[mesh(index, axis)] = src[tuple(slice(n) for n in index.shape)]
    return y, (index, src.shape), scatter_backward


Index: TypeAlias = Tensor | np.ndarray
Source: TypeAlias = Tensor | float | None


@public("fp Tensor", in_place=True, autocast="exact")
@on_host("if several values go to one place, the last one wins: CuPy writes them in any order")
@takes_tensor
def scatter(
    input: Tensor, dim: int, index: Index, src: Source = None, *, value: float | None = None
) -> Tensor:
    """input, with numbers of src (or one number) at the places that index names along `dim`.

    Where a place is named several times, the last wins; each of its sources gets its gradient, as
    in PyTorch. src may be longer than index: the rest is left out. Raises as `gather` does, and
    ArgumentError unless there is one of src and value.
    """
    if (src is None) == (value is None):
        raise ArgumentError("scatter: expected src or value, and not both")
    axis = as_axis(dim, input.ndim, "scatter: dim")
    places = as_indices(index, input.shape[axis], "scatter", input)
    check_gather("scatter", input, axis, places)
    given = value if src is None else src
    if not is_array_like(given):
        mask = np.zeros(input.shape, bool)
        mask[mesh(places, axis)] = True
        return masked_fill(input, mask, as_numbers("scatter", value=given)["value"])
    check_source("scatter", input, given)
    check_gather("scatter: src", given, None, places)
    return scatter_op(input, given, places, axis=axis)


def check_source(name, input, src):
    """Raise DTypeError unless src is a tensor of input's dtype; where autocast has a row for the
    operation that lets formats meet, unless both are floating."""
    meet = get_precision().operations is not None and name != "scatter"
    same = is_array_like(src) and (
        src.dtype == input.dtype or (meet and is_float(src.dtype) and is_float(input.dtype))
    )
    if not same:
        given = getattr(src, "dtype", type(src).__name__)
        own = f"a tensor of {input.dtype}, as by src.to(input.dtype)"
        raise DTypeError(f"{name}: source of {given}: expected {own}")


# ---- places as numbers --------------------------------------------------------------------------


@public("F")
def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """int64 (..., num_classes) with a 1 at the class and 0 elsewhere.

    tensor: integers, any shape. num_classes: by default as many as there are. Raises ArgumentError
    for one that is no class.
    """
    if not is_array_like(tensor):
        raise DTypeError(f"one_hot: a {type(tensor).__name__}: expected a tensor of integers")
    i = array_of(tensor)
    if i.dtype.kind not in "iu":
        raise DTypeError(f"one_hot: index of {i.dtype}: expected integers")
    if num_classes == -1:
        if not i.size:
            raise ArgumentError("one_hot of no numbers: give num_classes")
        num_classes = int(np.max(i)) + 1
    i, classes = as_indices(i, num_classes, "one_hot", i), np.arange(num_classes)
    classes = to_device(classes) if is_on_device(i) else classes
    return Tensor(np.where(i[..., None] == classes, np.int64(1), np.int64(0)))
