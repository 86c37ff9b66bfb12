"""Inception v2, or BN-Inception (Ioffe and Szegedy 2015, arXiv:1502.03167, figure 5):
(N, C, 224, 224) -> (N, classes).

GoogLeNet with batch normalisation, two 3x3 convolutions in place of 5x5, and blocks that halve the
size themselves ("pass through": 3c and 4e). Where the table contradicts itself, in 4c and 4d, its
output of 576 channels holds, and 96 channels come after pooling (its 128 would make 608). The first
convolution is a plain one.
"""

from minifp.models.parts import ConvNorm, check_stem, drawn_normal, scaled

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.ops import cat

# Of each block: 1x1; 1x1 and 3x3; 1x1 and two of 3x3; 1x1 after pooling; 0 where there is none.
BLOCKS = {
    "3a": (64, 64, 64, 64, 96, 32),
    "3b": (64, 64, 96, 64, 96, 64),
    "3c": (0, 128, 160, 64, 96, 0),
    "4a": (224, 64, 96, 96, 128, 128),
    "4b": (192, 96, 128, 96, 128, 128),
    "4c": (160, 128, 160, 128, 160, 96),
    "4d": (96, 128, 192, 160, 192, 96),
    "4e": (0, 128, 192, 192, 256, 0),
    "5a": (352, 192, 320, 160, 224, 128),
    "5b": (352, 192, 320, 192, 224, 128),
}
LARGEST_POOLED = ("3c", "4e", "5b")  # which pool the largest, and the others the mean


class Block(nn.Module):
    """Branches side by side as channels; a block without 1x1 halves the size, and passes through
    what it has pooled."""

    def __init__(self, inputs: int, counts: tuple[int, ...], largest: bool) -> None:
        one, before3, three, before, double, after_pool = counts
        stride = 1 if one else 2
        if one:
            self.branch1 = ConvNorm(inputs, one)
        self.branch2 = nn.Sequential(
            ConvNorm(inputs, before3), ConvNorm(before3, three, 3, stride=stride, padding=1)
        )
        self.branch3 = nn.Sequential(
            ConvNorm(inputs, before),
            ConvNorm(before, double, 3, padding=1),
            ConvNorm(double, double, 3, stride=stride, padding=1),
        )
        pool = (nn.MaxPool2d if largest else nn.AvgPool2d)(3, stride, padding=1)
        projected = ConvNorm(inputs, after_pool) if after_pool else nn.Identity()
        self.branch4 = nn.Sequential(pool, projected)
        self.outputs = one + three + double + (after_pool or inputs)

    def forward(self, x: Tensor) -> Tensor:
        return cat([branch(x) for branch in self.children()], 1)


class InceptionV2(nn.Module):
    """Ten inception blocks. stem, width: see parts.py; dropout: before the last layer, none in the
    paper's own single networks."""

    def __init__(
        self,
        classes: int = 1000,
        channels: int = 3,
        stem: str = "large",
        width: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        halvings = check_stem(stem)
        large = stem == "large"
        first = scaled(64, width), scaled(64, width), scaled(192, width)
        size, stride = (7, 2) if large else (3, 1)
        self.conv1 = ConvNorm(channels, first[0], size, stride=stride, padding=size // 2)
        self.pool1 = nn.MaxPool2d(3, 2, padding=1) if large else nn.Identity()
        self.conv2 = ConvNorm(first[0], first[1])
        self.conv3 = ConvNorm(first[1], first[2], 3, padding=1)
        self.pool2 = nn.MaxPool2d(3, 2, padding=1) if halvings else nn.Identity()
        inputs = first[2]
        for name, counts in BLOCKS.items():
            mine = tuple(scaled(n, width) if n else 0 for n in counts)
            block = Block(inputs, mine, name in LARGEST_POOLED)
            setattr(self, f"inception{name}", block)
            inputs = block.outputs
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(inputs, classes)
        drawn_normal(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool2(self.conv3(self.conv2(self.pool1(self.conv1(x)))))
        for name in BLOCKS:
            x = getattr(self, f"inception{name}")(x)
        return self.fc(self.dropout(x.mean((2, 3))))
