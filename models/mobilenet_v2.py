"""MobileNetV2 (Sandler et al. 2018, arXiv:1801.04381, table 2): (N, C, 224, 224) -> (N, classes).
Names and weights as in torchvision."""

from minifp.models.parts import check_stem, drawn_normal, scaled

from minifp import nn
from minifp.autograd.tape import Tensor

# Of each group of blocks: expansion, channels, how many, the stride of the first.
GROUPS = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1),
)  # fmt: skip
FIRST, LAST = 32, 1280


def channels_of(count: int, width: float) -> int:
    """A multiple of eight that is no more than a tenth below `count` times `width`."""
    found = scaled(count, width)
    return found + 8 if found < 0.9 * count * width else found


def unit(inputs: int, outputs: int, size: int = 1, stride: int = 1, groups: int = 1) -> nn.Module:
    """A convolution, batch normalisation and ReLU6."""
    conv = nn.Conv2d(
        inputs, outputs, size, stride=stride, padding=size // 2, groups=groups, bias=False
    )
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU6())


class InvertedResidual(nn.Module):
    """1x1 to more channels, 3x3 in each by itself, 1x1 to few without ReLU; added to the input
    where shapes are equal (figure 4)."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int) -> None:
        inside = inputs * expansion
        self.conv = nn.Sequential(
            *([unit(inputs, inside)] if expansion > 1 else []),
            unit(inside, inside, 3, stride, inside),
            nn.Conv2d(inside, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.adds else self.conv(x)


class MobileNetV2(nn.Module):
    """Seventeen inverted residuals. stem, width: see parts.py; width is the paper's multiplier, the
    last convolution never has fewer than 1,280 channels with stem="large". In small pictures the
    first convolution and the first strided group keep the size, or the group alone.
    """

    def __init__(
        self,
        classes: int = 1000,
        channels: int = 3,
        stem: str = "large",
        width: float = 1.0,
        dropout: float = 0.2,
    ) -> None:
        halvings = check_stem(stem)
        large = stem == "large"
        inputs = channels_of(FIRST, width)
        features = [unit(channels, inputs, 3, 1 if halvings == 0 else 2)]
        for i, (expansion, count, blocks, first) in enumerate(GROUPS):
            outputs = channels_of(count, width)
            for j in range(blocks):
                stride = first if j == 0 and (large or i != 1) else 1
                features.append(InvertedResidual(inputs, outputs, stride, expansion))
                inputs = outputs
        last = channels_of(LAST, max(1.0, width) if large else width)
        self.features = nn.Sequential(*features, unit(inputs, last))
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, classes))
        drawn_normal(self, linear=0.01)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean((2, 3)))
