"""Shapes and indices: nothing is computed, so nothing is rounded.

Where NumPy gives a view, so do these: a view shares its memory and its version with what it is a
view of. Only gradients that meet (an index used twice) are summed, in `reduce`, and rounded once.
"""

import math

import numpy as np

from minifp.backend import kernel
from minifp.errors import DTypeError, ShapeError
from minifp.ops.pointwise import pass_to
from minifp.ops.reduce import as_axes, as_axis
from minifp.policy import GIVEN
from minifp.recording import op
from minifp.tape import Tensor


def reshape_backward(dy, shape_before, to, shape=None):
    return (dy.reshape(shape_before),)


@op
def reshape_(x, *, shape):
    return x.reshape(shape), (x.shape,), reshape_backward


def reshape(x, *shape):
    """The numbers in another shape; one size may be -1. `reshape(x, 2, 3)` or `(x, (2, 3))`."""
    return reshape_(x, shape=_sizes(shape))


def _sizes(args):
    return tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args


def flatten(x, start_dim=0, end_dim=-1):
    """Merge the axes from start_dim to end_dim (both included) into one."""
    if x.ndim == 0:
        return reshape(x, 1)
    first = as_axis(start_dim, x.ndim, "flatten: start_dim")
    last = as_axis(end_dim, x.ndim, "flatten: end_dim")
    if first > last:
        raise ShapeError(f"flatten: start_dim={start_dim} comes after end_dim={end_dim}")
    return reshape(x, *x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


def squeeze(x, dim=None):
    """Without the axes of size 1 (all of them, or those in `dim` that have that size)."""
    axes = as_axes(dim, x.ndim, "squeeze: dim")
    return reshape(x, tuple(n for i, n in enumerate(x.shape) if not (i in axes and n == 1)))


def unsqueeze(x, dim):
    """With a new axis of size 1 at `dim`."""
    axis = as_axis(dim, x.ndim + 1, "unsqueeze: dim")
    return reshape(x, *x.shape[:axis], 1, *x.shape[axis:])


def permute_backward(dy, to, dims):
    return (dy.transpose(np.argsort(dims)),)


@op
def permute_(x, *, dims):
    return x.transpose(dims), (), permute_backward


def permute(x, *dims):
    """The axes in another order, as a view."""
    dims = _sizes(dims)
    if sorted(d % x.ndim if -x.ndim <= d < x.ndim else -1 for d in dims) != list(range(x.ndim)):
        raise ShapeError(f"permute{dims}: expected each of {x.ndim} dimensions once")
    return permute_(x, dims=tuple(d % x.ndim for d in dims))


def transpose(x, dim0, dim1):
    """With two axes exchanged, as a view."""
    dims = list(range(x.ndim))
    a, b = (as_axis(d, x.ndim, "transpose: dim") for d in (dim0, dim1))
    dims[a], dims[b] = b, a
    return permute_(x, dims=tuple(dims))


def expand_backward(dy, shape_before, to, shape=None):
    return (pass_to(dy, shape_before, to[0]),)


@op
def expand_(x, *, shape):
    return np.broadcast_to(x, shape), (x.shape,), expand_backward


def expand(x, *shape):
    """Stretched along axes of size 1, without copying; -1 keeps a size."""
    shape = _sizes(shape)
    added = len(shape) - x.ndim
    kept = tuple(
        (x.shape[i - added] if i >= added else -1) if n == -1 else n for i, n in enumerate(shape)
    )
    return expand_(x, shape=kept)


def cat_backward(dy, axis, ends, to, dim=0):
    parts = np.split(dy, ends, axis=axis)
    return tuple(None if t is None else pass_to(p, p.shape, t) for p, t in zip(parts, to))


@op
def cat_(*xs, dim=0):
    axis = as_axis(dim, xs[0].ndim)
    ends = np.cumsum([x.shape[axis] for x in xs])[:-1]
    return np.concatenate(xs, axis=axis), (axis, ends), cat_backward


def cat(tensors, dim=0):
    """Tensors joined along an existing axis. Floating formats meet in the widest."""
    if len(tensors) == 0:
        raise ShapeError("cat of no tensors")
    return cat_(*tensors, dim=dim)


def stack(tensors, dim=0):
    """Tensors of one shape joined along a new axis."""
    if len({t.shape for t in tensors}) != 1:
        shapes = ", ".join(str(t.shape) for t in tensors) or "no tensors"
        raise ShapeError(f"stack of {shapes}: expected tensors of one shape")
    return cat([unsqueeze(t, dim) for t in tensors], dim)


def split(x, split_size_or_sections, dim=0):
    """Views of pieces of a size (the last may be smaller), or of the sizes in a list."""
    axis = as_axis(dim, x.ndim, "split: dim")
    n, sizes = x.shape[axis], split_size_or_sections
    if isinstance(sizes, int):
        if sizes < 1:
            raise ShapeError(f"split into pieces of {sizes}: expected at least 1")
        sizes = [min(sizes, n - i) for i in range(0, n, sizes)] or [0]
    if sum(sizes) != n:
        raise ShapeError(f"split into {list(sizes)}: axis {axis} has size {n}, not {sum(sizes)}")
    ends = np.cumsum(sizes)
    before = (slice(None),) * axis
    return tuple(getitem(x, (*before, slice(e - s, e))) for s, e in zip(sizes, ends))


def chunk(x, chunks, dim=0):
    """Views of at most `chunks` pieces of equal size; the last may be smaller."""
    axis = as_axis(dim, x.ndim, "chunk: dim")
    if not isinstance(chunks, int) or chunks < 1:
        raise ShapeError(f"chunk into {chunks!r} pieces: expected at least 1")
    return split(x, max(-(-x.shape[axis] // chunks), 1), dim)


# ---- indices ------------------------------------------------------------------------------------


def scatter_add(dy, rows, n, sum):
    """Sum the entries of dy (K, ...) that have the same row: (n, ...), zero where there is none."""
    order = np.argsort(rows, kind="stable")
    found, starts, counts = np.unique(rows[order], return_index=True, return_counts=True)
    dx = np.zeros((n, *dy.shape[1:]), dy.dtype)
    dx[found] = dy[order[starts]]
    for i in np.flatnonzero(counts > 1):
        repeated = order[starts[i] : starts[i] + counts[i]]
        dx[found[i]] = sum(dy[repeated], axis=0)
    return dx


@kernel("reduce", GIVEN)
def getitem_dx(dy, *, shape, index, sum):
    if _is_basic(index):
        dx = np.zeros(shape, dy.dtype)
        dx[index] = dy
        return dx
    if isinstance(index, np.ndarray) and index.dtype.kind in "iu":
        rows = np.where(index < 0, np.add(index, shape[0], dtype=np.intp), index).reshape(-1)
        return scatter_add(dy.reshape(rows.size, *shape[1:]), rows, shape[0], sum)
    places = np.arange(math.prod(shape)).reshape(shape)[index].reshape(-1)
    return scatter_add(dy.reshape(-1), places, math.prod(shape), sum).reshape(shape)


def _is_basic(index):
    parts = index if isinstance(index, tuple) else (index,)
    return not any(isinstance(p, np.ndarray) for p in parts)


def getitem_backward(dy, shape, to, index):
    return (getitem_dx(dy, shape=shape, index=index, to=to[0]),)


@op
def getitem_(x, *, index):
    return np.asarray(x[index]), (x.shape,), getitem_backward


def getitem(x, index):
    """x[index], with NumPy's integers, slices, None, ellipsis, integer and boolean arrays."""
    return getitem_(x, index=as_index(index))


def as_index(i):
    """An index with its tensors and lists as arrays. Raises DTypeError for floating ones."""
    if isinstance(i, tuple):
        return tuple(as_index(part) for part in i)
    if isinstance(i, (Tensor, list)):
        i = np.array(i.array if isinstance(i, Tensor) else i)  # a copy: backward reads it again
    if isinstance(i, np.ndarray) and i.dtype.kind not in "iub":
        raise DTypeError(f"getitem: an index of {i.dtype}: expected integers or booleans")
    return i
