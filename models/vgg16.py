"""VGG-D, of 16 layers (Simonyan and Zisserman 2015, arXiv:1409.1556, table 1), and the same with
batch normalisation: (N, C, 224, 224) -> (N, classes). Names as in torchvision."""

from minifp.models.parts import check_stem, drawn_normal, scaled

from minifp import nn
from minifp.autograd.tape import Tensor

STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # channels, and how many convolutions
HIDDEN = 4096


class VGG16(nn.Module):
    """Thirteen 3x3 convolutions in five stages, each with 2x2 max pooling, and three linear layers.

    stem, width: see parts.py; with "smaller" the first convolution takes the place of the first
    pooling. Weights are drawn as by torchvision.
    """

    norm = False

    def __init__(
        self, classes: int = 1000, channels: int = 3, stem: str = "large", width: float = 1.0,
        dropout: float = 0.5,
    ) -> None:  # fmt: skip
        stride = 2 if stem == "smaller" else 1
        check_stem(stem)
        layers: list[nn.Module] = []
        for count, convolutions in STAGES:
            for _ in range(convolutions):
                outputs = scaled(count, width)
                step = stride if not layers else 1
                layers.append(nn.Conv2d(channels, outputs, 3, stride=step, padding=1))
                layers += [*([nn.BatchNorm2d(outputs)] if self.norm else []), nn.ReLU()]
                channels = outputs
            is_halved = stride == 2 and count == STAGES[0][0]
            layers.append(nn.Identity() if is_halved else nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        side, hidden = (7 if stem == "large" else 1), scaled(HIDDEN, width)
        self.avgpool = nn.AdaptiveAvgPool2d(side)
        self.classifier = nn.Sequential(
            nn.Linear(channels * side**2, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, classes),
        )  # fmt: skip
        drawn_normal(self, linear=0.01)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class VGG16BN(VGG16):
    """VGG16 with batch normalisation between each convolution and its ReLU."""

    norm = True
