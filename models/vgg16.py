"""VGG-D, of 16 layers (Simonyan and Zisserman 2015, arXiv:1409.1556, table 1), and the same with
batch normalisation: (N, C, 224, 224) -> (N, classes). Names as in torchvision."""

from minifp.models.parts import check_stem, drawn_normal, scaled

from minifp import nn
from minifp.autograd.tape import Tensor

STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))  # channels, and how many convolutions
DEPTHS = tuple(convolutions for _, convolutions in STAGES)
HIDDEN = 4096


def stages_of(
    channels: int,
    stem: str = "large",
    width: float = 1.0,
    norm: bool = False,
    count: int = 5,
    depths: tuple[int, ...] = DEPTHS,
) -> list[list[nn.Module]]:
    """The layers of each of the first stages, with its pooling at the end.

    channels: of the pictures. stem, width, norm: as of VGG16; with "smaller" the first pooling is
    an Identity. count: how many stages. depths: how many convolutions each stage has.
    """
    check_stem(stem)
    stages: list[list[nn.Module]] = []
    for (published, _), convolutions in zip(STAGES[:count], depths):
        layers: list[nn.Module] = []
        for _ in range(convolutions):
            is_first, outputs = not stages and not layers, scaled(published, width)
            stride = 2 if stem == "smaller" and is_first else 1
            layers.append(nn.Conv2d(channels, outputs, 3, stride=stride, padding=1))
            layers += [*([nn.BatchNorm2d(outputs)] if norm else []), nn.ReLU()]
            channels = outputs
        is_halved = stem == "smaller" and not stages
        stages.append([*layers, nn.Identity() if is_halved else nn.MaxPool2d(2)])
    return stages


class VGG16(nn.Module):
    """Thirteen 3x3 convolutions in five stages, each with 2x2 max pooling, and three linear layers.

    stem, width: see parts.py; with "smaller" the first convolution takes the place of the first
    pooling. Weights are drawn as by torchvision.
    """

    norm, depths = False, DEPTHS

    def __init__(
        self,
        classes: int = 1000,
        channels: int = 3,
        stem: str = "large",
        width: float = 1.0,
        dropout: float = 0.5,
    ) -> None:
        stages = stages_of(channels, stem, width, self.norm, depths=self.depths)
        self.features = nn.Sequential(*(layer for stage in stages for layer in stage))
        channels = scaled(STAGES[-1][0], width)
        side, hidden = (7 if stem == "large" else 1), scaled(HIDDEN, width)
        self.avgpool = nn.AdaptiveAvgPool2d(side)
        head: list[nn.Module] = []
        for inputs in (channels * side**2, hidden):
            head += [nn.Linear(inputs, hidden), nn.ReLU(), nn.Dropout(dropout)]
        self.classifier = nn.Sequential(*head, nn.Linear(hidden, classes))
        drawn_normal(self, linear=0.01)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


class VGG16BN(VGG16):
    """VGG16 with batch normalisation between each convolution and its ReLU."""

    norm = True
