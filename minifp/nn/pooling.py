"""Pooling: each layer is the function of its name in `F`, with its arguments."""

from typing import Any

from minifp.autograd.tape import Tensor
from minifp.nn import functional as F
from minifp.nn.module import Module
from minifp.typing import Ints


class _MaxPool(Module):
    def __init__(
        self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0, dilation: Ints = 1,
        return_indices: bool = False, ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        self.kernel_size, self.padding, self.dilation = kernel_size, padding, dilation
        self.stride = kernel_size if stride is None else stride
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def _arguments(self):
        return (
            *(self.kernel_size, self.stride, self.padding, self.dilation),
            *(self.ceil_mode, self.return_indices),
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """The largest of each window of (N, C, L) or (C, L)."""

    def forward(self, x: Tensor) -> Any:
        return F.max_pool1d(x, *self._arguments())


class MaxPool2d(_MaxPool):
    """The largest of each window of (N, C, H, W) or (C, H, W)."""

    def forward(self, x: Tensor) -> Any:
        return F.max_pool2d(x, *self._arguments())


class _AvgPool(Module):
    kernel_size: Ints
    stride: Ints
    padding: Ints

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """The mean of each window of (N, C, L) or (C, L); padding counts unless it is told not to."""

    def __init__(
        self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool1d(
            *(x, self.kernel_size, self.stride, self.padding),
            *(self.ceil_mode, self.count_include_pad),
        )


class AvgPool2d(_AvgPool):
    """The mean of each window of (N, C, H, W) or (C, H, W); padding counts unless told not to."""

    def __init__(
        self, kernel_size: Ints, stride: Ints | None = None, padding: Ints = 0,
        ceil_mode: bool = False, count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, x: Tensor) -> Tensor:
        return F.avg_pool2d(
            *(x, self.kernel_size, self.stride, self.padding),
            *(self.ceil_mode, self.count_include_pad, self.divisor_override),
        )


class _Adaptive(Module):
    def __init__(self, output_size: Ints | tuple[int | None, ...]) -> None:
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The mean of each of output_size windows that cover (N, C, L) or (C, L) evenly."""

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(x, self.output_size)


class AdaptiveAvgPool2d(_Adaptive):
    """The mean of each of the windows that cover (N, C, H, W) or (C, H, W) evenly.

    output_size: how many along both axes, or a pair, in which None keeps a size; 1 is the mean of
    each picture.
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(x, self.output_size)


class _AdaptiveMax(_Adaptive):
    def __init__(
        self, output_size: Ints | tuple[int | None, ...], return_indices: bool = False
    ) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices


class AdaptiveMaxPool1d(_AdaptiveMax):
    """The largest of each of output_size windows that cover (N, C, L) or (C, L) evenly."""

    def forward(self, x: Tensor) -> Any:
        return F.adaptive_max_pool1d(x, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMax):
    """The largest of each of the windows that cover (N, C, H, W) or (C, H, W) evenly."""

    def forward(self, x: Tensor) -> Any:
        return F.adaptive_max_pool2d(x, self.output_size, self.return_indices)
