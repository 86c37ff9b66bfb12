"""Padding, as layers: an integer for all sides, or (before, after) of each axis, the last first."""

from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, ShapeError
from minifp.nn import functional as F
from minifp.nn.module import Module
from minifp.typing import Ints


class _Pad(Module):
    multiplies = False
    mode, ndim = "constant", 1

    def __init__(self, padding: Ints) -> None:
        sizes = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,)
        sizes = sizes * (2 * self.ndim) if len(sizes) == 1 else sizes
        integers = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in sizes)
        if len(sizes) != 2 * self.ndim or not integers:
            raise ArgumentError(
                f"{type(self).__name__}: padding={padding!r}: expected an integer, or "
                f"{2 * self.ndim} of them"
            )
        self.padding = tuple(int(n) for n in sizes)

    def forward(self, x: Tensor) -> Tensor:
        shape: Any = getattr(x, "shape", None)
        dims = (self.ndim + 1, self.ndim + 2)
        if self.mode != "constant" and shape is not None and len(shape) not in dims:
            raise ShapeError(
                f"{type(self).__name__} on a tensor of shape {shape}: expected {dims[0]} or "
                f"{dims[1]} dimensions"
            )
        return F.pad(x, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_Pad):
    """Zeros around the last axis; a negative width cuts off."""


class ZeroPad2d(_Pad):
    """Zeros around the last two axes; a negative width cuts off."""

    ndim = 2


class ConstantPad1d(_Pad):
    """`value` around the last axis; a negative width cuts off."""

    def __init__(self, padding: Ints, value: float) -> None:
        super().__init__(padding)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise ArgumentError(f"{type(self).__name__}: value={value!r}: expected a number")
        self.value = value

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """`value` around the last two axes; a negative width cuts off."""

    ndim = 2


class ReflectionPad1d(_Pad):
    """(N, C, L) or (C, L) with its numbers mirrored at both ends, the border not repeated."""

    mode = "reflect"


class ReflectionPad2d(_Pad):
    """(N, C, H, W) or (C, H, W) with its numbers mirrored at all sides, the border not repeated."""

    mode, ndim = "reflect", 2


class ReplicationPad1d(_Pad):
    """(N, C, L) or (C, L) with its first and last numbers repeated."""

    mode = "replicate"


class ReplicationPad2d(_Pad):
    """(N, C, H, W) or (C, H, W) with its border repeated."""

    mode, ndim = "replicate", 2


class CircularPad1d(_Pad):
    """(N, C, L) or (C, L) as a part of what repeats for ever."""

    mode = "circular"


class CircularPad2d(_Pad):
    """(N, C, H, W) or (C, H, W) as a part of what repeats for ever."""

    mode, ndim = "circular", 2
