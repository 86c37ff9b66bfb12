"""Windows of pictures as columns, and channels as places: each layer is the function in `F`."""

from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.nn import functional as F
from minifp.nn.module import Module
from minifp.ops.windows import as_sizes
from minifp.typing import Ints


class _Windows(Module):
    settings: tuple[str, ...] = ("kernel_size", "dilation", "padding", "stride")

    def _set_up(self, **sizes):
        for name, value in sizes.items():
            as_sizes(value, f"{type(self).__name__}: {name}", int(name != "padding"), 2)
            setattr(self, name, value)

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.settings)


class Unfold(_Windows):
    """The windows of (N, C, H, W) as columns (N, C KH KW, L), L windows row by row."""

    def __init__(
        self, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
    ) -> None:
        self._set_up(kernel_size=kernel_size, dilation=dilation, padding=padding, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        return F.unfold(x, *(getattr(self, name) for name in self.settings))


class Fold(_Windows):
    """Columns (N, C KH KW, L) as pictures (N, C, H, W) of output_size, overlapping ones summed."""

    settings = ("output_size", "kernel_size", "dilation", "padding", "stride")

    def __init__(
        self, output_size: Ints, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0,
        stride: Ints = 1,
    ) -> None:  # fmt: skip
        self._set_up(
            output_size=output_size, kernel_size=kernel_size, dilation=dilation, padding=padding,
            stride=stride,
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return F.fold(x, *(getattr(self, name) for name in self.settings))


class PixelShuffle(Module):
    """(..., C r r, H, W) as pictures (..., C, H r, W r), with r the upscale_factor."""

    def __init__(self, upscale_factor: int) -> None:
        self.upscale_factor = check_count("PixelShuffle: upscale_factor", upscale_factor)

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_shuffle(x, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """(..., C, H r, W r) as (..., C r r, H, W), with r the downscale_factor."""

    def __init__(self, downscale_factor: int) -> None:
        self.downscale_factor = check_count("PixelUnshuffle: downscale_factor", downscale_factor)

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_unshuffle(x, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
