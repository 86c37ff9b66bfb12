"""What several architectures are made of: a convolution with its normalisation, stems and widths.

stem: what becomes of a picture first. "large" is the network as published, for pictures of 224 (or
299) pixels; "small" is for 32: 3x3 convolutions at full size and no pooling before the first stage,
as He et al. 2015 (arXiv:1512.03385, section 4.2) do on CIFAR-10; "smaller" halves these pictures
once, for a quarter of the work.
width: by what the number of channels of every layer is multiplied.
"""

from typing import Any

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import ArgumentError
from minifp.nn import functional as F

STEMS = ("large", "small", "smaller")


def check_stem(stem) -> int:
    """How often a picture is to be halved before the first stage, beyond "small".

    Raises ArgumentError for what is no stem. 0 for "small", 1 for "smaller"; 2 for "large", whose
    networks do it in their own way.
    """
    if stem not in STEMS:
        raise ArgumentError(f"stem={stem!r}: expected {', '.join(map(repr, STEMS))}")
    return {"large": 2, "small": 0, "smaller": 1}[stem]


def scaled(channels: int, width: float, multiple: int = 8) -> int:
    """`channels` times `width`, as the nearest multiple of `multiple`, and at least that many.

    With width=1 it is `channels` itself. Tensor cores want multiples of eight in float16.
    """
    check_range("width", width, 1 / 64, 64)
    if width == 1:
        return channels
    return max(multiple, int(channels * width / multiple + 0.5) * multiple)


class ConvNorm(nn.Module):
    """relu(bn(conv(x))); without normalisation relu(conv(x) + bias).

    Names as in torchvision's GoogLeNet and Inception: conv, bn.
    """

    def __init__(
        self, inputs: int, outputs: int, size=1, stride: int = 1, padding=0, norm: bool = True
    ) -> None:
        self.conv = nn.Conv2d(inputs, outputs, size, stride=stride, padding=padding, bias=not norm)
        self.bn = nn.BatchNorm2d(outputs, eps=0.001) if norm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(x)))


class Named(nn.Module):
    """Modules one after another, by names of one's own."""

    def __init__(self, **modules: nn.Module) -> None:
        for name, module in modules.items():
            setattr(self, name, module)

    def forward(self, x: Tensor) -> Tensor:
        for module in self.children():
            x = module(x)
        return x


def drawn_normal(model: nn.Module, linear: float | None = None, conv: float | None = None) -> None:
    """Draw weights anew: of convolutions from N(0, 2 / fan out) (He et al. 2015, arXiv:1502.01852)
    or with the deviation `conv`, of linear layers, where it is given, with the deviation `linear`.
    Biases of what was drawn become 0."""
    for module in model.modules():
        if isinstance(module, nn.Conv2d) and conv is not None:
            nn.init.normal_(module.weight, std=conv)
        elif isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(module, nn.Linear) and linear is not None:
            nn.init.normal_(module.weight, std=linear)
        else:
            continue
        fill_bias(module, 0.0)


def fill_bias(layer: Any, value: float) -> None:
    """Make the bias of a convolution or linear layer, where it has one, one number."""
    if layer.bias is not None:
        nn.init.constant_(layer.bias, value)
