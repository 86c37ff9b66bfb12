"""Pooling: each layer is the function of its name in `F`, with its arguments."""

from dataclasses import dataclass

from minifp.nn import functional as F
from minifp.nn.function_layer import FunctionLayer
from minifp.typing import Ints


@dataclass(eq=False, repr=False)
class _Pool(FunctionLayer):
    kernel_size: Ints
    stride: Ints | None = None
    padding: Ints = 0

    def __post_init__(self) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride


@dataclass(eq=False, repr=False)
class _MaxPool(_Pool):
    shown = "kernel_size", "stride", "padding", "dilation", "ceil_mode"

    dilation: Ints = 1
    return_indices: bool = False
    ceil_mode: bool = False


class MaxPool1d(_MaxPool, of=F.max_pool1d):
    """The largest of each window of (N, C, L) or (C, L)."""


class MaxPool2d(_MaxPool, of=F.max_pool2d):
    """The largest of each window of (N, C, H, W) or (C, H, W)."""


@dataclass(eq=False, repr=False)
class _AvgPool(_Pool):
    shown = "kernel_size", "stride", "padding"

    ceil_mode: bool = False
    count_include_pad: bool = True


class AvgPool1d(_AvgPool, of=F.avg_pool1d):
    """The mean of each window of (N, C, L) or (C, L); padding counts unless it is told not to."""


class AvgPool2d(_AvgPool, of=F.avg_pool2d):
    """The mean of each window of (N, C, H, W) or (C, H, W); padding counts unless told not to."""

    divisor_override: int | None = None


@dataclass(eq=False, repr=False)
class _Adaptive(FunctionLayer):
    shown = ("output_size",)

    output_size: Ints | tuple[int | None, ...]


class AdaptiveAvgPool1d(_Adaptive, of=F.adaptive_avg_pool1d):
    """The mean of each of output_size windows that cover (N, C, L) or (C, L) evenly."""


class AdaptiveAvgPool2d(_Adaptive, of=F.adaptive_avg_pool2d):
    """The mean of each of the windows that cover (N, C, H, W) or (C, H, W) evenly.

    output_size: how many along both axes, or a pair, in which None keeps a size; 1 is the mean of
    each picture.
    """


class AdaptiveMaxPool1d(_Adaptive, of=F.adaptive_max_pool1d):
    """The largest of each of output_size windows that cover (N, C, L) or (C, L) evenly."""

    return_indices: bool = False


class AdaptiveMaxPool2d(_Adaptive, of=F.adaptive_max_pool2d):
    """The largest of each of the windows that cover (N, C, H, W) or (C, H, W) evenly."""

    return_indices: bool = False
