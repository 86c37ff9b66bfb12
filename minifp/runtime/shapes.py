"""Shapes, of arrays on any device: reduced, stretched by broadcasting, and with fewer axes."""

from math import prod
from typing import Any


class Size(tuple[int, ...]):
    """The shape of a tensor, a tuple of its sizes."""

    __slots__ = ()

    def numel(self) -> int:
        """How many elements a tensor of this shape has."""
        return prod(self)


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """A shape without the axes that are reduced, or with size 1 along them."""
    if keepdims:
        return tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return tuple([n for i, n in enumerate(shape) if i not in axes])


def stretched(whole: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of `whole` along which broadcasting stretches `shape`."""
    added = len(whole) - len(shape)
    return tuple(i for i, n in enumerate(whole) if i < added or (n != 1 and shape[i - added] == 1))


def as_one(x: Any, axis: int, axes: int = 1) -> Any:
    """x with one axis before and one behind this one, or `axes` of them, which become one."""
    before, behind = prod(x.shape[:axis]), prod(x.shape[axis + axes :])
    return x.reshape(before, prod(x.shape[axis : axis + axes]), behind)
