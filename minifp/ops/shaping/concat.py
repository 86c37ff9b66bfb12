"""Joining tensors, and cutting them into pieces: nothing is computed.

Pieces are views. Floating formats meet in the widest; integers never decide. The gradient of cat is
cut at the same places, and that of a piece is 0 outside of it.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice
from minifp.errors import DTypeError, ShapeError
from minifp.numerics.formats import downcast, is_float
from minifp.numerics.rules import promote
from minifp.ops.arguments import as_axis, as_integers, is_integer
from minifp.ops.elementwise import pass_to
from minifp.ops.public import public
from minifp.ops.shaping.expand import expand
from minifp.ops.shaping.indexing import getitem
from minifp.ops.shaping.shape import reshape, unsqueeze
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import empty, is_array_like
from minifp.typing import Ints


def check_tensors(name, tensors):
    """Raise DTypeError unless `tensors` is a list or tuple of tensors, ShapeError if empty."""
    if not isinstance(tensors, (list, tuple)):
        raise DTypeError(
            f"{name} of a {type(tensors).__name__}: expected a list or tuple of tensors"
        )
    for t in tensors:
        if not is_array_like(t):
            raise DTypeError(f"{name}: one is a {type(t).__name__}: expected tensors")
    if not tensors:
        raise ShapeError(f"{name} of no tensors: expected at least one")


NOTHING = (0,)  # the shape of fp.tensor([]), onto which what is collected is joined


def cat_backward(dy, axis, ends, shapes, to, dim):
    before, borders = (slice(None),) * axis, (0, *ends, dy.shape[axis])
    parts = [dy[(*before, slice(*pair))] for pair in zip(borders, borders[1:])]
    parts = [p.reshape(s) if s == NOTHING else p for p, s in zip(parts, shapes)]
    return tuple(None if t is None else pass_to(p, p.shape, t) for p, t in zip(parts, to))


@op
def cat_op(*xs, dim):
    joins = [x for x in xs if x.shape != NOTHING] or xs
    axis = as_axis(dim, joins[0].ndim)
    rest = {x.shape[:axis] + x.shape[axis + 1 :] for x in joins if x.ndim == joins[0].ndim}
    if len(rest) > 1 or any(x.ndim != joins[0].ndim for x in joins):
        raise ShapeError(f"expected the same sizes, except along axis {axis}")
    shapes = tuple([x.shape for x in xs])
    ends = tuple(accumulate([0 if s == NOTHING else s[axis] for s in shapes]))[:-1]
    floating = {x.dtype for x in xs if is_float(x.dtype)}
    dtype = promote(floating) if floating else np.result_type(*[x.dtype for x in xs])
    return joined(joins, axis, dtype), (axis, ends, shapes), cat_backward


def joined(arrays, axis, dtype):
    """Arrays joined along an axis, each converted to a dtype before."""
    arrays = [downcast(a, dtype) for a in arrays]
    if not any(map(is_on_device, arrays)):
        return np.concatenate(arrays, axis=axis)
    # One by one: CuPy's own would copy a table of addresses from the host, which no graph can.
    sizes, first = [a.shape[axis] for a in arrays], arrays[0]
    shape = (*first.shape[:axis], sum(sizes), *first.shape[axis + 1 :])
    y, start = empty(shape, dtype, like=first), 0
    for a, n in zip(arrays, sizes):
        y[(*(slice(None),) * axis, slice(start, start + n))] = a
        start += n
    return y


@public("fp", autocast="exact")
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors joined along an existing axis, along which alone their sizes may differ.

    One of shape (0,), such as `fp.tensor([])`, is left out, whatever the shape of the others.
    """
    check_tensors("cat", tensors)
    return cat_op(*tensors, dim=dim)


@public("fp")
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the second axis; vectors and numbers along the only one."""
    check_tensors("hstack", tensors)
    rows = [reshape(t, 1) if t.ndim == 0 else t for t in tensors]
    return cat(rows, dim=min(1, rows[0].ndim - 1))


@public("fp")
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors joined along the first axis; vectors and numbers as rows."""
    check_tensors("vstack", tensors)
    return cat([reshape(t, 1, -1) if t.ndim < 2 else t for t in tensors])


@public("fp")
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Tensors of one shape joined along a new axis."""
    check_tensors("stack", tensors)
    if len({t.shape for t in tensors}) != 1:
        shapes = ", ".join(str(t.shape) for t in tensors)
        raise ShapeError(f"stack of {shapes}: expected tensors of one shape")
    axis = as_axis(dim, tensors[0].ndim + 1, "stack: dim")
    return cat([unsqueeze(t, axis) for t in tensors], axis)


def piece(input, axis, start, stop):
    """The view of input from start to before stop along an axis."""
    return getitem(input, (*(slice(None),) * axis, slice(start, stop)))


@public("fp Tensor")
@takes_tensor
def split(input: Tensor, split_size_or_sections: Ints, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of a size (the last may be smaller), or of the sizes in a list."""
    axis = as_axis(dim, input.ndim, "split: dim")
    n, sizes = input.shape[axis], split_size_or_sections
    if is_integer(sizes):
        if sizes < (n > 0):
            raise ShapeError(f"split into pieces of {sizes}: expected at least {int(n > 0)}")
        sizes = [min(sizes, n - i) for i in range(0, n, max(sizes, 1))] or [0]
    if not isinstance(sizes, (list, tuple)) or not all(is_integer(s) for s in sizes):
        raise DTypeError(f"split into {sizes!r}: expected an integer, or a list of integers")
    if min(sizes, default=0) < 0:
        raise ShapeError(f"split into {list(sizes)}: expected sizes of at least 0")
    if sum(sizes) != n:
        raise ShapeError(f"split into {list(sizes)}: axis {axis} has size {n}, not {sum(sizes)}")
    ends = np.cumsum(sizes, dtype=int).tolist()
    return tuple(piece(input, axis, e - s, e) for s, e in zip(sizes, ends))


@public("fp Tensor")
@takes_tensor
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` pieces of equal size; the last may be smaller."""
    axis = as_axis(dim, input.ndim, "chunk: dim")
    if not is_integer(chunks) or chunks < 1:
        raise ShapeError(f"chunk into {chunks!r} pieces: expected at least 1")
    if input.shape[axis] == 0:
        return split(input, [0] * chunks, axis)
    return split(input, -(-input.shape[axis] // chunks), axis)


@public("fp Tensor")
@takes_tensor
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all slices along an axis, without it, as a tuple."""
    axis = as_axis(dim, input.ndim, "unbind: dim")
    before = (slice(None),) * axis
    return tuple(getitem(input, (*before, i)) for i in range(input.shape[axis]))


@public("fp Tensor")
@takes_tensor
def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """The view of `length` slices along an axis, from `start` (counted from either end) on."""
    axis = as_axis(dim, input.ndim, "narrow: dim")
    start, length = as_integers((start, length), "narrow: start, length ")
    n = input.shape[axis]
    first = start + n if start < 0 else start
    if first < 0 or length < 0 or first + length > n:
        raise ShapeError(f"narrow: {length} from {start} on, along an axis of size {n}")
    return piece(input, axis, first, first + length)


@public("fp Tensor")
@takes_tensor
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """The view of one slice along an axis, without it."""
    axis = as_axis(dim, input.ndim, "select: dim")
    if not is_integer(index):
        raise DTypeError(f"select: index={index!r}: expected an integer")
    return getitem(input, (*(slice(None),) * axis, index))


@public("fp")
def meshgrid(
    *tensors: Tensor | Sequence[Tensor], indexing: str | None = None
) -> tuple[Tensor, ...]:
    """The coordinates of a grid, whose axes are these vectors (or numbers): views.

    indexing: "ij", which is also None's meaning, for axes in the order given; "xy" exchanges the
    first two.
    """
    packed = len(tensors) == 1 and isinstance(tensors[0], (list, tuple))
    given: Any = tensors[0] if packed else tensors
    check_tensors("meshgrid", given)
    axes = [reshape(t, 1) if t.ndim == 0 else t for t in given]
    if any(t.ndim != 1 for t in axes):
        raise ShapeError(f"meshgrid of {[t.shape for t in axes]}: expected vectors or numbers")
    if indexing is not None:
        check_choice("meshgrid: indexing", indexing, ("ij", "xy"))
    order = list(range(len(axes)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    shape = [axes[i].shape[0] for i in order]
    return tuple(
        expand(reshape(t, *(-1 if order[k] == i else 1 for k in range(len(axes)))), shape)
        for i, t in enumerate(axes)
    )
