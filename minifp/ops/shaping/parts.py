"""Writing into a part of a tensor, as operations: what they return is a copy.

    put:     y = x, but a value at a place;    dx = dy, but 0 there;  dvalue = dy there
    part_of: y = the view of x that a Part is; dx = 0, and dy there

A place is what an index names (Places of indexing.py), or a Part: what another tensor on the same
memory sees of x, which may be in another shape and order. Where an index names a place twice, the
last value is there, and each gets its gradient, as in PyTorch. Nothing is rounded.
"""

import math
from typing import Any, NamedTuple

from minifp.autograd.op import op
from minifp.autograd.storage import strided
from minifp.autograd.tape import Tensor
from minifp.numerics.formats import downcast, is_float
from minifp.ops.creation import Data, as_array
from minifp.ops.elementwise import pass_to
from minifp.ops.pointwise.arithmetic import cast, move
from minifp.runtime.device import address, device_of, full, placed


class Part(NamedTuple):
    """A view of arrays: of their elements in the order of `axes`, one after the other, those from
    `start` on, in a shape, so many apart along each of its axes."""

    axes: tuple[int, ...]
    start: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]

    def copied(self, x: Any) -> Any:
        """A copy of an array, in that order in memory."""
        return x.transpose(self.axes).copy().transpose(inverse(self.axes))

    def read(self, x: Any) -> Any:
        """The view of an array; of a copy, unless the array is in that order in memory."""
        x = x.transpose(self.axes)
        return strided(x if x.flags.c_contiguous else x.copy(), *self[1:])

    def write(self, x: Any, value: Any) -> None:
        """Write into the view of an array that is in that order in memory."""
        strided(x.transpose(self.axes), *self[1:])[...] = value

    def fits(self, y: Any) -> bool:
        """Whether an array has memory of its own, in that order."""
        return y.base is None and y.transpose(self.axes).flags.c_contiguous


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The order of axes that undoes another."""
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


def put_backward(dy, shape, to, place):
    dx = None
    if to[0] is not None:
        dx = place.copied(dy)
        place.write(dx, full((), 0, dy.dtype, like=dy))
        dx = pass_to(dx, dx.shape, to[0])
    if to[1] is None:
        return dx, None
    read = place.read(dy)
    return dx, pass_to(read.reshape((1,) * (len(shape) - read.ndim) + read.shape), shape, to[1])


@op(name="setitem")
def put(x, value, *, place):
    """x with a value (an array of its dtype that broadcasts) at a place: its Places, or a Part."""
    y = place.copied(x)
    place.write(y, value)
    return y, (value.shape,), put_backward


def part_backward(dy, shape, to, part):
    dy = pass_to(dy, tuple(n if s else 1 for n, s in zip(part.shape, part.steps)), to[0])
    dx = full(tuple(shape[i] for i in part.axes), 0, dy.dtype, like=dy)
    dx = dx.transpose(inverse(part.axes))
    part._replace(shape=dy.shape).write(dx, dy)
    return (dx,)


@op(name="view")
def part_of(x, *, part):
    """The view of x that a Part is."""
    return part.read(x), (x.shape,), part_backward


def put_value(x: Tensor, value: Data, place: Any) -> Tensor:
    """x with a value at a place, recorded: a tensor, or what `as_array` takes, which broadcasts."""
    if not (isinstance(value, Tensor) and is_float(value.dtype)):
        array = value.array if isinstance(value, Tensor) else as_array(value)
        value = Tensor(placed(downcast(array, x.array.dtype), like=x.array))
    value = value if value.dtype == x.dtype else cast(value, dtype=x.dtype)
    value = value if value.device == x.device else move(value, device=device_of(x.array))
    return put(x, value, place=place)


# ---- which part a view is -----------------------------------------------------------------------


def order_of(array: Any) -> tuple[int, ...]:
    """The axes of an array from the largest stride to the smallest."""
    return tuple(sorted(range(array.ndim), key=lambda i: -array.strides[i]))


def laid_as(array: Any, other: Any) -> Any:
    """`other`, with its axes in the order in memory that those of an array of its shape have."""
    axes = order_of(array)
    there = other.transpose(axes)
    return other if there.flags.c_contiguous else there.copy().transpose(inverse(axes))


def _runs(array):
    """The axes of an array whose strides get smaller as (size, stride), neighbours as one where
    these lie as one axis in memory; None where it has elements on one place."""
    runs: list = []
    for n, stride in zip(array.shape, array.strides):
        if n == 1:
            continue
        last = runs[-1][1] if runs else math.inf
        if not 0 < n * stride <= last:
            return None
        before = runs.pop()[0] if n * stride == last else 1
        runs.append((before * n, stride))
    return runs


def part_in(whole: Any, view: Any) -> Part | None:
    """Which part of an array's elements another array on its memory sees; None where it sees more,
    or other numbers, or where the first has two elements on one place."""
    axes = order_of(whole)
    runs = _runs(whole.transpose(axes))
    if runs is None or view.dtype != whole.dtype:
        return None
    counts = [n for n, _ in runs]
    start = _along(runs, address(view) - address(whole))
    steps = [_along(runs, s if n > 1 else 0) for n, s in zip(view.shape, view.strides)]
    if start is None or None in steps:
        return None
    for i, first in enumerate(start):
        reach = [(n - 1) * step[i] for n, step in zip(view.shape, steps)]
        low, high = (first + sum(f(r, 0) for r in reach) for f in (min, max))
        if low < 0 or high >= counts[i]:
            return None
    apart = [math.prod(counts[i + 1 :]) for i in range(len(counts))]
    number = lambda along: sum(a * b for a, b in zip(along, apart))  # noqa: E731
    return Part(axes, number(start), view.shape, tuple(map(number, steps)))


def _along(runs, offset):
    """How far along each of the runs a number of bytes leads; None where to no element."""
    sign, rest, along = (-1 if offset < 0 else 1), abs(offset), []
    for _, stride in runs:
        steps, rest = divmod(rest, stride)
        along.append(sign * steps)
    return None if rest else along
