"""Indexing as in PyTorch, which is NumPy's but for one case: an integer beside arrays.

    y = x[index]              dx = 0, and at each place that was read the sum of its dy

An index is taken in two steps. First integers, slices, None and an ellipsis select a view; then the
arrays of integers, broadcast together, select among its axes (booleans are the places where they
are true). So `x[0, :, i]` is `x[0][:, i]`, where NumPy takes 0 for an array. The axes of the arrays
come where the first array is, or in front where they are apart. Nothing is rounded forward. A place
read several times sums its gradients in `reduce`: in float16 such a sum would stop at 2048 parts.
"""

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.op import explained, op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError, ShapeError
from minifp.numerics.kernels import is_array, kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.public import public
from minifp.ops.shaping.indexing_cuda import read as read_on_device
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda.arrays import is_on_device, to_host
from minifp.runtime.device import placed


def add_rows(dy, rows, n, sum):
    """Sum the entries of dy (K, ...) that have the same row: (n, ...), zero where there is none.

    Rows with equally many entries are summed at once, each row's entries in their order.
    """
    rows = np.asarray(rows, np.uint16 if n <= 2**16 else np.intp, like=dy)  # short ones sort fast
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=n)
    starts = np.cumsum(counts) - counts
    found = np.flatnonzero(counts)
    found = found[np.argsort(counts[found], kind="stable")]
    dx = np.zeros((n, *dy.shape[1:]), dy.dtype, like=dy)
    ends = (np.flatnonzero(np.diff(counts[found])) + 1).tolist()
    for alike in np.split(found, ends):
        if alike.size:
            count = int(counts[alike[0]])
            entries = dy[order[starts[alike, None] + np.arange(count, like=dy)]]
            dx[alike] = sum(entries, axis=1) if count > 1 else entries[:, 0]
    return dx


# ---- the two steps of an index ------------------------------------------------------------------


def two_steps(index, shape):
    """An index into a shape as (basic, arrays): x[index] is x[basic], and of that [arrays].

    arrays: for each axis of x[basic] an array of places, or the whole slice; None without any
    array. Raises DTypeError for what is no index, ShapeError for one that does not fit.
    """
    parts = [as_part(p) for p in (index if isinstance(index, tuple) else (index,))]
    left = len(shape) - sum(axes_taken(p) for p in parts)
    dots = [i for i, p in enumerate(parts) if p is ...]
    if left < 0 or len(dots) > 1:
        raise ShapeError(f"too many indices, or ellipses: expected at most {len(shape)}, or one")
    where = dots[0] if dots else len(parts)
    parts[where : where + 1] = [slice(None)] * left
    basic: list[Any] = []  # of slices, integers and None
    arrays: list[Any] = []  # of slices and arrays
    axis = 0
    for p in parts:
        if is_array(p):
            places = as_places(p, shape[axis : axis + axes_taken(p)], axis)
            basic += [slice(None)] * len(places)
            arrays += places
        elif isinstance(p, bool):  # an axis of size 1, of which True reads all and False nothing
            basic.append(None)
            arrays.append(np.zeros(int(p), np.intp))
        else:
            basic.append(p if p is None or isinstance(p, slice) else in_range(p, shape[axis], axis))
            arrays += [] if isinstance(p, int) else [slice(None)]
        axis += axes_taken(p)
    has_arrays = any(map(is_array, arrays))
    return (*basic, ...), tuple(arrays) if has_arrays else None  # with dots it is a view, always


def axes_taken(part):
    """Of how many axes a part of an index takes."""
    if is_array(part):
        return part.ndim if part.dtype.kind == "b" else 1
    return int(isinstance(part, (slice, int)) and not isinstance(part, bool))


def as_part(p):
    """A part of an index as None, ..., a slice, a Python integer or boolean, or an array."""
    if p is None or p is ...:
        return p
    if isinstance(p, slice):
        return slice(*(as_bound(b) for b in (p.start, p.stop, p.step)))
    if isinstance(p, (list, tuple, range)):
        p = as_list(p)
    a = p.array if isinstance(p, Tensor) else p
    if not is_array(a) and not isinstance(a, (np.generic, int)):
        raise DTypeError(
            f"getitem: an index of type {type(a).__name__}: expected integers, slices, None, an "
            "ellipsis, or tensors of integers or booleans"
        )
    a = a if is_array(a) else np.asarray(a)
    if a.dtype.kind not in "iub":
        raise DTypeError(f"getitem: an index of {a.dtype}: expected integers or booleans")
    if a.dtype == "uint8" and (a.ndim or isinstance(p, Tensor)):
        warn_once(
            "index of uint8",
            "an index of uint8 is a mask, as in PyTorch: write x[i.bool()], or x[i.long()] for "
            "places",
        )
        a = a != 0
    return a if a.ndim else a.item()


def as_list(p):
    """A list of indices as an array; an empty one is of integers."""
    try:
        a = np.array([v.array if isinstance(v, Tensor) else v for v in p])
    except ValueError as error:
        raise DTypeError(f"getitem: an index that is not an array: {error}") from None
    return a if a.size else np.zeros(a.shape, np.intp)


def as_bound(b):
    """A slice's start, stop or step as a Python integer or None. Raises DTypeError."""
    try:
        return None if b is None else operator.index(b.item() if isinstance(b, Tensor) else b)
    except TypeError:
        raise DTypeError(f"getitem: a slice with {b!r}: expected integers or None") from None


def in_range(i, n, axis):
    """The place i, or -n <= i, counted from the start. Raises ShapeError where it is not there."""
    if not -n <= i < n:
        raise ShapeError(f"index {i} is out of bounds for axis {axis} with size {n}")
    return i % n


def as_places(a, sizes, axis):
    """An array of an index as a list of arrays of places, one for each axis it takes: copies.

    Of booleans on a GPU it is waited for how many are true. Integers there are not looked at.
    """
    if a.dtype.kind == "b":
        if a.shape != sizes:
            raise ShapeError(f"boolean index of shape {a.shape} from axis {axis} on, {sizes}")
        return list((to_host(a) if is_on_device(a) else a).nonzero())
    (n,) = sizes
    if is_on_device(a):
        return [np.where(a < 0, a + n, a)]
    if a.size:
        in_range(int(a.min()), n, axis), in_range(int(a.max()), n, axis)
    places = np.array(a, np.intp)
    places[places < 0] += n
    return [places]


# ---- the operation ------------------------------------------------------------------------------


def scatter(dy, arrays, shape, sum):
    """The sum of dy at each place of a shape: what x[arrays] read there."""
    axes = [i for i, a in enumerate(arrays) if is_array(a)]
    places = np.broadcast_arrays(*(np.asarray(arrays[i], like=dy) for i in axes))
    first = axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0
    read = places[0].ndim
    rest = [n for i, n in enumerate(shape) if i not in axes]
    dy = np.moveaxis(dy, range(first, first + read), range(read))
    rows, n = np.zeros(places[0].shape, np.intp, like=dy), 1
    for i, place in zip(axes, places):
        rows, n = rows * shape[i] + place, n * shape[i]
    dx = add_rows(dy.reshape(rows.size, math.prod(rest)), rows.reshape(-1), n, sum)
    return np.moveaxis(dx.reshape([shape[i] for i in axes] + rest), range(len(axes)), axes)


@kernel("reduce", GIVEN)
def getitem_dx(dy, *, shape, basic, arrays, sum):
    dx = np.zeros_like(dy, order="C", shape=shape)
    view = dx[basic]
    view[...] = dy if arrays is None else scatter(dy, arrays, view.shape, sum)
    return dx


def getitem_backward(dy, shape, to, basic, arrays):
    return (getitem_dx(dy, shape=shape, basic=basic, arrays=arrays, to=to[0]),)


def read(x, arrays):
    """x[arrays], in C order."""
    y = read_on_device(x, arrays) if is_on_device(x) else None
    return np.asarray(x[arrays], order="C", like=x) if y is None else y


@op
def getitem_op(x, *, basic, arrays):
    view = x[basic]
    return view if arrays is None else read(view, arrays), (x.shape,), getitem_backward


@public(operator="x[i]", autocast="exact")
@takes_tensor
def getitem(input: Tensor, index: Any) -> Tensor:
    """input[index], with integers, slices, None, an ellipsis, and arrays of integers or booleans.

    Without arrays it is a view. Raises ShapeError where the index does not fit input's shape; but
    integers on a GPU are not looked at, as one would have to wait for them: what is read of a
    place that is not there is NaN.
    """
    try:
        basic, arrays = two_steps(index, input.shape)
    except ShapeError as error:
        raise explained(error, "getitem", [input]) from None
    return getitem_op(input, basic=basic, arrays=arrays)


class Places(NamedTuple):
    """What an index names, in its two steps."""

    basic: tuple
    arrays: tuple | None

    def copied(self, x: Any) -> Any:
        """A copy of an array, into which `write` may write."""
        return x.copy()

    def read(self, x: Any) -> Any:
        """x[index]."""
        return x[self.basic] if self.arrays is None else read(x[self.basic], self.arrays)

    def write(self, x: Any, value: Any) -> None:
        """x[index] = value, where x is and in its dtype; of several for one place the last is
        written, so that a GPU's arrays go to the CPU and back where there are arrays of places."""
        view = x[self.basic]
        if self.arrays is None:
            view[...] = value
        elif is_on_device(x):
            arrays = tuple(to_host(a) if is_on_device(a) else a for a in self.arrays)
            host = to_host(view)
            host[arrays] = to_host(value)
            view[...] = placed(host, like=x)
        else:
            view[self.arrays] = value


def places(index: Any, shape: tuple[int, ...]) -> Places:
    """Those that an index names in a tensor of a shape, to write there. Raises ShapeError where it
    does not fit."""
    try:
        return Places(*two_steps(index, shape))
    except ShapeError as error:
        raise ShapeError(f"x[index] = value for x of shape {shape}: {error}") from None
