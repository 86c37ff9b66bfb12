"""torch.nn: layers of this face's own functions of pictures."""

from typing import Any

from minifp.compat.torch.nn import composed as F
from minifp.nn import upsampling
from minifp.nn.function_layer import FunctionLayer

__all__ = ["MaxUnpool2d", "Upsample"]


class MaxUnpool2d(FunctionLayer, of=F.max_unpool2d):
    """max_unpool2d of what MaxPool2d found, and its indices."""

    kernel_size: Any
    stride: Any = None
    padding: Any = 0


class Upsample(upsampling.Upsample, of=F.interpolate):
    """Pictures, sequences and volumes in another size."""
