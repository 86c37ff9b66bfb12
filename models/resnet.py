"""ResNets of large pictures (He et al. 2015, arXiv:1512.03385, table 1): (N, C, 224, 224) ->
(N, classes). Names and weights as in torchvision.

Each stage begins with a block that halves the size, except for the first; its shortcut is a 1x1
convolution (option B). In a bottleneck the 3x3 convolution halves, as in torchvision and NVIDIA's
examples ("v1.5"); with original=True the 1x1 before it does, as in the paper.
"""

from typing import Any

from minifp.models.parts import check_stem, drawn_normal, scaled

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.nn import functional as F


def conv3x3(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    """A 3x3 convolution without bias that keeps the size, or halves it."""
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)


def conv1x1(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    """A 1x1 convolution without bias."""
    return nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)


class Residual(nn.Module):
    """relu(branch(x) + shortcut(x)). expansion: channels out for each inside."""

    expansion = 1
    downsample: nn.Module | None

    def shorten(self, inputs: int, outputs: int, stride: int) -> None:
        """The shortcut: x itself, or, where shapes differ, a 1x1 convolution of it."""
        self.downsample = None
        if stride > 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                conv1x1(inputs, outputs, stride), nn.BatchNorm2d(outputs)
            )

    def branch(self, x: Tensor) -> Tensor:
        """What is added to x."""
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.branch(x) + (x if self.downsample is None else self.downsample(x)))


class BasicBlock(Residual):
    """Two 3x3 convolutions."""

    def __init__(self, inputs: int, inside: int, stride: int, original: bool = False) -> None:
        self.conv1, self.bn1 = conv3x3(inputs, inside, stride), nn.BatchNorm2d(inside)
        self.conv2, self.bn2 = conv3x3(inside, inside), nn.BatchNorm2d(inside)
        self.shorten(inputs, inside, stride)

    def branch(self, x: Tensor) -> Tensor:
        return self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))


class Bottleneck(Residual):
    """A 3x3 convolution between two of 1x1, of which the last has four times as many channels."""

    expansion = 4

    def __init__(self, inputs: int, inside: int, stride: int, original: bool = False) -> None:
        strides = (stride, 1) if original else (1, stride)
        outputs = inside * self.expansion
        self.conv1, self.bn1 = conv1x1(inputs, inside, strides[0]), nn.BatchNorm2d(inside)
        self.conv2, self.bn2 = conv3x3(inside, inside, strides[1]), nn.BatchNorm2d(inside)
        self.conv3, self.bn3 = conv1x1(inside, outputs), nn.BatchNorm2d(outputs)
        self.shorten(inputs, outputs, stride)

    def branch(self, x: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        return self.bn3(self.conv3(F.relu(self.bn2(self.conv2(x)))))


class ResNet(nn.Module):
    """What ResNets of all depths share; `block` and `depths`, of the four stages, tell them apart.

    stem, width: see parts.py.
    """

    block: Any = BasicBlock
    depths = (2, 2, 2, 2)

    def __init__(
        self,
        classes: int = 1000,
        channels: int = 3,
        stem: str = "large",
        width: float = 1.0,
        original: bool = False,
    ) -> None:
        halvings = check_stem(stem)
        check_flag(f"{type(self).__name__}: original", original)
        self.first(channels, scaled(64, width), stem, halvings)
        inputs = scaled(64, width)
        for i, depth in enumerate(self.depths):
            inside, blocks = scaled(64 * 2**i, width), []
            for j in range(depth):
                stride = 2 if i > 0 and j == 0 else 1
                blocks.append(self.block(inputs, inside, stride, original))
                inputs = inside * self.block.expansion
            setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
        self.last(inputs)
        self.fc = nn.Linear(inputs, classes)
        drawn_normal(self)

    def first(self, channels: int, outputs: int, stem: str, halvings: int) -> None:
        """The layers before the first stage."""
        large = stem == "large"
        size, stride = (7, 2) if large else (3, 1 + halvings)
        self.conv1 = nn.Conv2d(
            channels, outputs, size, stride=stride, padding=size // 2, bias=False
        )
        self.bn1 = nn.BatchNorm2d(outputs)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1) if large else nn.Identity()

    def last(self, inputs: int) -> None:
        """The layers between the last stage and the mean over its pictures."""

    def begin(self, x: Tensor) -> Tensor:
        """What the first stage sees."""
        return self.maxpool(F.relu(self.bn1(self.conv1(x))))

    def end(self, x: Tensor) -> Tensor:
        """What is averaged."""
        return x

    def forward(self, x: Tensor) -> Tensor:
        x = self.begin(x)
        for i in range(len(self.depths)):
            x = getattr(self, f"layer{i + 1}")(x)
        return self.fc(self.end(x).mean((2, 3)))


class ResNet18(ResNet):
    """18 layers: two basic blocks a stage; 11,689,512 weights with 1,000 classes."""


class ResNet34(ResNet):
    """34 layers: 3, 4, 6 and 3 basic blocks."""

    depths = (3, 4, 6, 3)


class ResNet50(ResNet):
    """50 layers: 3, 4, 6 and 3 bottlenecks; 25,557,032 weights with 1,000 classes."""

    block = Bottleneck
    depths = (3, 4, 6, 3)
