"""The largest and the smallest: over axes, along one axis with its place, or of two tensors.

    amax, amin, and max, min of all:  dx = dy / (how many x equal y)  where x = y, else 0
    max, min along one axis:          dx = dy at the place of the first extreme, else 0

x, y stored: an extreme is one of the numbers, so nothing is rounded. NaN is larger and smaller than
any number, as in PyTorch. argmax and argmin give int64 and have no gradient.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeAlias, cast, overload

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import as_axis
from minifp.ops.elementwise import Binary
from minifp.ops.pointwise import arithmetic
from minifp.ops.public import public
from minifp.ops.reduce import array_of, count_of, expand_like, reduced_axes
from minifp.runtime.cuda.arrays import is_on_device
from minifp.typing import Ints


class ValuesAndIndices(NamedTuple):
    """What max, min, sort and topk along an axis give: numbers, and the places they had (int64)."""

    values: Tensor
    indices: Tensor


def check_not_empty(name, shape, axes, dim):
    """Raise ShapeError where an extreme of no numbers is asked for."""
    if count_of(shape, axes) == 0:
        raise ShapeError(f"{name} of no numbers: shape {shape}, dim={dim}")


# ---- over any axes ------------------------------------------------------------------------------


@kernel("reduce", "x")
def amax_forward(x, *, axes, keepdims):
    return np.max(x, axis=axes, keepdims=keepdims)


@kernel("reduce", "x")
def amin_forward(x, *, axes, keepdims):
    return np.min(x, axis=axes, keepdims=keepdims)


@kernel("reduce", GIVEN)
def share_dx(dy, x, y, *, axes, nan_is_found):
    y = expand_like(y, x.shape, axes)
    chosen = x == y
    if nan_is_found:
        chosen = chosen | (np.isnan(x) & np.isnan(y))
    count = np.sum(chosen, axis=axes, keepdims=True)
    return np.where(chosen | (count == 0), expand_like(dy, x.shape, axes) * (chosen / count), 0)


def extreme(name, forward, nan_is_found=False):
    """The operation amax, amin, max or min over axes: the extremes share the gradient.

    PyTorch's amax and amin find no number that is NaN: their gradient is NaN for all of them.
    """

    def backward(dy, x, y, axes, to, keepdims, dim):
        return (share_dx(dy, x, y, axes=axes, nan_is_found=nan_is_found, to=to[0]),)

    def apply(x, *, dim, keepdims):
        axes = reduced_axes(dim, x.ndim, name)
        check_not_empty(name, x.shape, axes, dim)
        y = forward(x, axes=axes, keepdims=keepdims)
        return y, (x, y, axes), backward

    return op(apply, name=name)


amax_op, amin_op = extreme("amax", amax_forward), extreme("amin", amin_forward)
max_op, min_op = extreme("max", amax_forward, True), extreme("min", amin_forward, True)


@public("fp Tensor", autocast="exact")
@takes_tensor
def amax(input: Tensor, dim: Ints | None = None, keepdim: bool = False) -> Tensor:
    """The largest over `dim` (an axis, several, or None for all); equal ones share the gradient."""
    return amax_op(input, dim=dim, keepdims=keepdim)


@public("fp Tensor", autocast="exact")
@takes_tensor
def amin(input: Tensor, dim: Ints | None = None, keepdim: bool = False) -> Tensor:
    """The smallest over `dim` (an axis, several, or None for all); equal ones share the
    gradient."""
    return amin_op(input, dim=dim, keepdims=keepdim)


# ---- along one axis, with the place -------------------------------------------------------------


@kernel("reduce", "x")
def select_forward(x, indices, *, axis, keepdims):
    values = np.take_along_axis(x, indices, axis)
    return values if keepdims else values.squeeze(axis)


@kernel("reduce", GIVEN)
def select_dx(dy, indices, *, shape, axis):
    dx = np.zeros_like(dy, shape=shape)
    np.put_along_axis(dx, indices, dy.reshape(indices.shape), axis)  # no place is there twice
    return dx


def select_backward(dy, indices, shape, to, axis, keepdims=True):
    return select_dx(dy, indices, shape=shape, axis=axis, to=to[0]), None


def selection(x, indices, *, axis, keepdims=True):
    """The numbers at `indices` along an axis."""
    y = select_forward(x, indices, axis=axis, keepdims=keepdims)
    return y, (indices, x.shape), select_backward


SELECTIONS = {name: op(selection, name=name) for name in ("max", "min", "sort", "topk")}


def as_int64(found):
    """Places as an array of 64 bits, which they are on a GPU."""
    return found if is_on_device(found) else np.asarray(found, "int64")


def along(name, find, input, dim, keepdim):
    """(values, indices) of max or min along one axis."""
    x = array_of(input)
    axis = as_axis(dim, x.ndim, f"{name}: dim")
    check_not_empty(name, x.shape, (axis,), dim)
    indices = as_int64(find(x, axis=axis, keepdims=True))
    values = SELECTIONS[name](input, indices, axis=axis, keepdims=keepdim)
    return ValuesAndIndices(values, Tensor(indices if keepdim else indices.squeeze(axis)))


class Extreme(Protocol):
    """The function max or min."""

    @overload
    def __call__(self, input: Tensor, dim: None = None) -> Tensor: ...

    @overload
    def __call__(self, input: Tensor, dim: int, keepdim: bool = False) -> ValuesAndIndices: ...

    @overload
    def __call__(self, input: Tensor, dim: Tensor | np.ndarray) -> Tensor: ...

    @overload
    def __call__(self, input: Tensor, *, other: Tensor | np.ndarray) -> Tensor: ...


Other: TypeAlias = Tensor | np.ndarray | None


def one_of(
    name: str, all_of: Callable[..., Tensor], find: Callable[..., Any], of_two: Binary, doc: str
) -> Extreme:
    """torch.max or torch.min, which are three functions under one name."""

    def function(
        input: Tensor, dim: int | Other = None, keepdim: bool = False, *, other: Other = None
    ) -> Tensor | ValuesAndIndices:
        if isinstance(dim, (Tensor, np.ndarray)):
            other, dim = dim, None
        if other is not None:
            return of_two(input, other)
        if dim is None:
            return all_of(input, dim=None, keepdims=False)
        return along(name, find, input, dim, keepdim)

    function.__name__, function.__qualname__, function.__doc__ = name, name, doc
    return cast(Extreme, public("fp Tensor", autocast="exact")(takes_tensor(function)))


DOC = """The {0} of all; along one axis, with its place; or of two tensors, element by element.

    `{1}(input)`: a scalar; equal ones share the gradient. `{1}(input, dim, keepdim=False)`: a named
    tuple (values, indices), the first of equal ones. `{1}(input, other)`: as `{1}imum`.
    Raises ShapeError for the {0} of no numbers.
    """
max = one_of("max", max_op, np.argmax, arithmetic.maximum, DOC.format("largest", "max"))
min = one_of("min", min_op, np.argmin, arithmetic.minimum, DOC.format("smallest", "min"))


def _arg(name, input, dim, keepdim):
    x = array_of(input)
    axis = None if dim is None else as_axis(dim, x.ndim, f"{name}: dim")
    check_not_empty(name, x.shape, range(x.ndim) if axis is None else (axis,), dim)
    return Tensor(as_int64(getattr(np, name)(x, axis=axis, keepdims=keepdim)))


@public("fp Tensor")
@takes_tensor
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the first largest along `dim`, or in the flattened tensor."""
    return _arg("argmax", input, dim, keepdim)


@public("fp Tensor")
@takes_tensor
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the first smallest along `dim`, or in the flattened tensor."""
    return _arg("argmin", input, dim, keepdim)
