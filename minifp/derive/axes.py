"""Axes of a call: which of those of its arguments are the same one."""

from typing import Any

from minifp.derive.symbol import Untraceable


class Axis:
    """An axis of an argument: perhaps the same as another's, or one along which it is stretched."""

    def __init__(self, argument: Any, place: int, size: int) -> None:
        self.source, self.size = (argument, place), size
        self.same: Axis | None = self

    def __repr__(self):
        return f"axis {self.source[1]} of argument {self.source[0]}"


def found(axis: Axis | None) -> Axis | None:
    """The axis that stands for all that are the same; None for one along which is stretched."""
    while axis is not None and axis.same is not axis:
        axis = axis.same
    return axis


def one_of(x: Axis | None, y: Axis | None) -> Axis | None:
    """The axis of two arrays that broadcast, of these axes, which are the same from here on."""
    x, y = found(x), found(y)
    if x is None or y is None or x is y:
        return x or y
    if x.size == y.size:
        y.same = x
        return x
    if 1 not in (x.size, y.size):
        raise Untraceable(f"{x} does not broadcast with {y}")
    x, y = (x, y) if x.size == 1 else (y, x)
    x.same = None
    return y
