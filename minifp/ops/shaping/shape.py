"""Shapes and the order of axes: nothing is computed, so nothing is rounded.

Where NumPy gives a view, so do these: a view shares its memory and its version with what it is a
view of.
"""

import math
from typing import Any

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.arguments import also_by_name, as_axes, as_axis, as_integers
from minifp.ops.public import public
from minifp.typing import Ints

# ---- the same numbers in another shape ----------------------------------------------------------


def reshape_backward(dy, shape_before, to, shape):
    return (dy.reshape(shape_before),)


@op
def reshape_op(x, *, shape):
    return x.reshape(shape), (x.shape,), reshape_backward


@public("fp Tensor", autocast="exact")
@takes_tensor
@also_by_name("shape")
def reshape(input: Tensor, *shape: Ints) -> Tensor:
    """The numbers in another shape; one size may be -1. `reshape(x, 2, 3)` or `(x, (2, 3))`.

    A view where the order in memory allows it, otherwise a copy; the tensor itself where it has
    that shape.
    """
    sizes = as_integers(shape, "reshape", -1)
    if isinstance(input, Tensor) and sizes == input.shape:
        return input
    return reshape_op(input, shape=sizes)


@op
def view_op(x, *, shape):
    y = x.reshape(shape)
    if x.size and not np.may_share_memory(x, y):
        raise ShapeError(
            f"view: {x.shape} as {y.shape} cannot be a view with the strides {x.strides}: use "
            "reshape"
        )
    return y, (x.shape,), reshape_backward


@public("Tensor", autocast="exact")
@takes_tensor
@also_by_name("size")
def view(input: Tensor, *shape: Ints) -> Tensor:
    """The numbers in another shape, as a view. Raises ShapeError where only a copy could do it."""
    return view_op(input, shape=as_integers(shape, "view", -1))


@public("Tensor")
@takes_tensor
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """A view in the shape of `other`."""
    return view(input, shape_of(other, "view_as"))


def shape_of(other, name):
    """The shape of a tensor. Raises DTypeError for what has none."""
    if not hasattr(other, "shape"):
        raise DTypeError(f"{name}: other is a {type(other).__name__}: expected a tensor")
    return other.shape


def contiguous_backward(dy, to):
    return (dy,)


@op
def contiguous_op(x):
    return x.copy(), (), contiguous_backward


@public("Tensor", autocast="exact")
@takes_tensor
def contiguous(input: Tensor) -> Tensor:
    """The tensor itself if its numbers lie in C order in memory, otherwise a copy that does."""
    array: Any = getattr(input, "array", input)
    return input if array.flags.c_contiguous else contiguous_op(input)


@public("fp Tensor")
@takes_tensor
def ravel(input: Tensor) -> Tensor:
    """All numbers in C order along one axis."""
    return reshape(input, -1)


@public("fp Tensor")
@takes_tensor
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the axes from start_dim to end_dim (both included) into one."""
    if input.ndim == 0:
        return reshape(input, 1)
    first = as_axis(start_dim, input.ndim, "flatten: start_dim")
    last = as_axis(end_dim, input.ndim, "flatten: end_dim")
    if first > last:
        raise ShapeError(f"flatten: start_dim={start_dim} comes after end_dim={end_dim}")
    if first == last and isinstance(input, Tensor):
        return input
    merged = math.prod(input.shape[first : last + 1])
    return reshape(input, *input.shape[:first], merged, *input.shape[last + 1 :])


@public("fp Tensor")
@takes_tensor
def unflatten(input: Tensor, dim: int, sizes: Ints) -> Tensor:
    """One axis as several of these sizes, of which one may be -1."""
    axis = as_axis(dim, input.ndim, "unflatten: dim")
    given, n = as_integers((sizes,), "unflatten: sizes ", -1), input.shape[axis]
    known = math.prod(s for s in given if s != -1)
    missing = given.count(-1)
    whole = tuple(n // max(known, 1) if s == -1 else s for s in given)
    if not given or missing > 1 or (missing and not known) or math.prod(whole) != n:
        raise ShapeError(f"unflatten: an axis of size {n} as {given}")
    return reshape(input, *input.shape[:axis], *whole, *input.shape[axis + 1 :])


@public("fp Tensor")
@takes_tensor
def squeeze(input: Tensor, dim: Ints | None = None) -> Tensor:
    """Without the axes of size 1 (all of them, or those in `dim` that have that size)."""
    axes = as_axes(dim, input.ndim, "squeeze: dim")
    kept = tuple(n for i, n in enumerate(input.shape) if not (i in axes and n == 1))
    return reshape(input, kept)


@public("fp Tensor")
@takes_tensor
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a new axis of size 1 at `dim`."""
    axis = as_axis(dim, input.ndim + 1, "unsqueeze: dim")
    return reshape(input, *input.shape[:axis], 1, *input.shape[axis:])


# ---- axes in another order ----------------------------------------------------------------------


def permute_backward(dy, to, dims):
    return (dy.transpose(np.argsort(dims)),)


@op
def permute_op(x, *, dims):
    return x.transpose(dims), (), permute_backward


@public("fp Tensor", autocast="exact")
@takes_tensor
@also_by_name("dims")
def permute(input: Tensor, *dims: Ints) -> Tensor:
    """The axes in another order, as a view."""
    dims, n = as_integers(dims, "permute"), input.ndim
    if sorted(d % n if -n <= d < n else n for d in dims) != list(range(n)):
        raise ShapeError(f"permute{dims}: expected each of {n} dimensions once")
    return permute_op(input, dims=tuple(d % n for d in dims))


@public("fp Tensor")
@takes_tensor
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """With two axes exchanged, as a view."""
    dims = list(range(input.ndim))
    a, b = (as_axis(d, input.ndim, "transpose: dim") for d in (dim0, dim1))
    dims[a], dims[b] = b, a
    return permute_op(input, dims=tuple(dims))


@public("fp Tensor")
@takes_tensor
def movedim(input: Tensor, source: Ints, destination: Ints) -> Tensor:
    """With some axes moved to other places, the rest in their order; a view."""
    given = [v if isinstance(v, (tuple, list)) else (v,) for v in (source, destination)]
    if len(given[0]) != len(given[1]):
        raise ArgumentError(f"movedim: {source} to {destination}: expected as many axes in both")
    for dims in given:
        as_axes(dims, input.ndim, "movedim: dim")
    moved = dict(sorted((d % input.ndim, s % input.ndim) for s, d in zip(*given)))
    rest = iter(i for i in range(input.ndim) if i not in moved.values())
    order = tuple(moved[i] if i in moved else next(rest) for i in range(input.ndim))
    return permute_op(input, dims=order)


@public("fp Tensor")
@takes_tensor
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix, as a view; a vector or a number as it is."""
    if input.ndim > 2:
        raise ShapeError(f"t: a tensor of shape {input.shape}: expected at most two dimensions")
    return permute_op(input, dims=tuple(range(input.ndim))[::-1])
