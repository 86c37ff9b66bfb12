"""Windows of pictures as columns, and channels as places: each layer is the function in `F`."""

from minifp.checks import check_count
from minifp.nn import functional as F
from minifp.nn.function_layer import FunctionLayer
from minifp.ops.windows import as_sizes
from minifp.typing import Ints


class _Windows(FunctionLayer):
    def __post_init__(self) -> None:
        for name in self.settings:
            as_sizes(
                getattr(self, name), f"{type(self).__name__}: {name}", int(name != "padding"), 2
            )


class Unfold(_Windows, of=F.unfold):
    """The windows of (N, C, H, W) as columns (N, C KH KW, L), L windows row by row."""

    kernel_size: Ints
    dilation: Ints = 1
    padding: Ints = 0
    stride: Ints = 1


class Fold(_Windows, of=F.fold):
    """Columns (N, C KH KW, L) as pictures (N, C, H, W) of output_size, overlapping ones summed."""

    output_size: Ints
    kernel_size: Ints
    dilation: Ints = 1
    padding: Ints = 0
    stride: Ints = 1


class _Shuffle(FunctionLayer):
    def __post_init__(self) -> None:
        for name in self.settings:
            check_count(f"{type(self).__name__}: {name}", getattr(self, name))


class PixelShuffle(_Shuffle, of=F.pixel_shuffle):
    """(..., C r r, H, W) as pictures (..., C, H r, W r), with r the upscale_factor."""

    upscale_factor: int


class PixelUnshuffle(_Shuffle, of=F.pixel_unshuffle):
    """(..., C, H r, W r) as (..., C r r, H, W), with r the downscale_factor."""

    downscale_factor: int
