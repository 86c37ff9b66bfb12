"""Pictures and sequences in another size."""

from minifp.nn import functional as F
from minifp.nn.module import Module


class Upsample(Module):
    """`F.interpolate` to a size, or by a factor."""

    def __init__(
        self, size=None, scale_factor=None, mode="nearest", align_corners=None,
        recompute_scale_factor=None,
    ):  # fmt: skip
        self.size, self.scale_factor, self.mode = size, scale_factor, mode
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def forward(self, x):
        return F.interpolate(
            *(x, self.size, self.scale_factor, self.mode, self.align_corners),
            self.recompute_scale_factor,
        )

    def extra_repr(self):
        given = (
            f"size={self.size}" if self.size is not None else f"scale_factor={self.scale_factor}"
        )
        return f"{given}, mode={self.mode!r}"
