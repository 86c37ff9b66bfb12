"""Pictures and sequences in another size."""

from minifp.autograd.tape import Tensor
from minifp.nn import functional as F
from minifp.nn.module import Module
from minifp.typing import Ints


class Upsample(Module):
    """`F.interpolate` to a size, or by a factor."""

    def __init__(
        self, size: Ints | None = None,
        scale_factor: float | tuple[float, ...] | list[float] | None = None, mode: str = "nearest",
        align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    ) -> None:  # fmt: skip
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, x: Tensor) -> Tensor:
        return F.interpolate(
            *(x, self.size, self.scale_factor, self.mode, self.align_corners),
            self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        given = (
            f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        )
        return f"{given}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """(N, C, H, W) at a size, or by a factor, with the nearest numbers."""

    def __init__(
        self, size: Ints | None = None,
        scale_factor: float | tuple[float, ...] | list[float] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """(N, C, H, W) at a size, or by a factor, bilinear between corners that stay where they are."""

    def __init__(
        self, size: Ints | None = None,
        scale_factor: float | tuple[float, ...] | list[float] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(size, scale_factor, "bilinear", align_corners=True)
