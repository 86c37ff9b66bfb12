"""Pictures and sequences in another size."""

from minifp.nn import functional as F
from minifp.nn.function_layer import FunctionLayer
from minifp.typing import Factors, Ints


class Upsample(FunctionLayer, of=F.interpolate):
    """`F.interpolate` to a size, or by a factor."""

    size: Ints | None = None
    scale_factor: Factors = None
    mode: str = "nearest"
    align_corners: bool | None = None
    recompute_scale_factor: bool | None = None

    def extra_repr(self) -> str:
        given = (
            f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        )
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """(N, C, H, W) at a size, or by a factor, with the nearest numbers."""

    def __init__(self, size: Ints | None = None, scale_factor: Factors = None) -> None:
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """(N, C, H, W) at a size, or by a factor, bilinear between corners that stay where they are."""

    def __init__(self, size: Ints | None = None, scale_factor: Factors = None) -> None:
        super().__init__(size, scale_factor, "bilinear", align_corners=True)
