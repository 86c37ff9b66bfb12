"""PyTorch's layers of volumes (N, C, D, H, W), which are not computed here: names that refuse when
a layer is made.

So a table of layers that has them, and `isinstance(layer, nn.Conv3d)`, work. They are no public
names: `dir(nn)` has none of them.
"""

from typing import Any

from minifp.errors import ArgumentError
from minifp.nn.module import Module

IN_TWO = "{}2d of x.flatten(2, 3), and its result as x.shape"  # statistics are of a whole channel
IN_TURN = "{0}2d of (N D, C, H, W), then {0}1d along D"
SLICES = "{}2d of slices, (N D, C, H, W), or of x.flatten(1, 2), whose slices are channels"
INSTEAD = {
    **dict.fromkeys(("Conv", "ConvTranspose"), SLICES),
    **dict.fromkeys(("BatchNorm", "InstanceNorm", "Dropout"), IN_TWO),
    **dict.fromkeys(("MaxPool", "AvgPool", "AdaptiveMaxPool", "AdaptiveAvgPool"), IN_TURN),
    **dict.fromkeys(("ConstantPad", "ZeroPad"), "F.pad"),
    **dict.fromkeys(("ReflectionPad", "ReplicationPad", "CircularPad"), IN_TURN),
}


class _Volumes(Module):
    """A layer that is not there."""

    instead = ""

    def __init__(self, *args: Any, **named: Any) -> None:
        raise ArgumentError(
            f"{type(self).__name__}: layers of volumes are not computed here; instead: "
            f"{self.instead}"
        )


LAYERS = {
    f"{name}3d": type(
        f"{name}3d",
        (_Volumes,),
        {"instead": text.format(f"nn.{name}"), "__module__": __name__},
    )
    for name, text in INSTEAD.items()
}
