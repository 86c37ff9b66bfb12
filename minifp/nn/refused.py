"""PyTorch's layers that are not computed here: names that refuse when a layer is made.

So a table of layers that has them, and `isinstance(layer, nn.Conv3d)`, work. They are no public
names: `dir(nn)` has none of them. Those of volumes are of (N, C, D, H, W).
"""

from typing import Any

from minifp.errors import ArgumentError
from minifp.nn.module import Module

IN_TWO = "{}2d of x.flatten(2, 3), and its result as x.shape"  # statistics are of a whole channel
IN_TURN = "{0}2d of (N D, C, H, W), then {0}1d along D"
SLICES = "{}2d of slices, (N D, C, H, W), or of x.flatten(1, 2), whose slices are channels"
VOLUMES = {
    **dict.fromkeys(("Conv", "ConvTranspose", "LazyConv", "LazyConvTranspose"), SLICES),
    **dict.fromkeys(("BatchNorm", "InstanceNorm", "Dropout"), IN_TWO),
    **dict.fromkeys(("LazyBatchNorm", "LazyInstanceNorm"), IN_TWO),
    **dict.fromkeys(("MaxPool", "AvgPool", "AdaptiveMaxPool", "AdaptiveAvgPool"), IN_TURN),
    **dict.fromkeys(("ConstantPad", "ZeroPad"), "F.pad"),
    **dict.fromkeys(("ReflectionPad", "ReplicationPad", "CircularPad"), IN_TURN),
}
REASONS = {
    **{f"{n}3d": ("layers of volumes", text.format(f"nn.{n}")) for n, text in VOLUMES.items()},
    "SyncBatchNorm": ("statistics of several processes", "nn.BatchNorm2d, or nn.BatchNorm1d"),
    "EmbeddingBag": ("bags", "nn.Embedding, and the sum, mean or max of its result along dim=1"),
}


class _Refused(Module):
    """A layer that is not there."""

    reason = "", ""

    def __init__(self, *args: Any, **named: Any) -> None:
        text = "{}: {} are not computed here; instead: {}"
        raise ArgumentError(text.format(type(self).__name__, *self.reason))


def convert_sync_batchnorm(module: Module, process_group: Any = None) -> Module:
    """The module: its batch norms have the statistics of the only process there is."""
    return module


LAYERS: dict[str, Any] = {
    name: type(name, (_Refused,), {"reason": reason}) for name, reason in REASONS.items()
}
LAYERS["SyncBatchNorm"].convert_sync_batchnorm = staticmethod(convert_sync_batchnorm)
