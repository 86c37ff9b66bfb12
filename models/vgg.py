"""VGG, small (Simonyan and Zisserman 2015, arXiv:1409.1556): (N, C, size, size) -> (N, classes)."""

from minifp import nn
from minifp.autograd.tape import Tensor


class VGG(nn.Module):
    """For each width two 3x3 convolutions with ReLU, and 2x2 max pooling; then one linear layer.

    size: of the square pictures, halved as often as there are widths.
    """

    def __init__(
        self,
        classes: int = 10,
        size: int = 32,
        channels: int = 3,
        widths: tuple[int, ...] = (64, 128, 256),
    ) -> None:
        layers: list[nn.Module] = []
        for width in widths:
            for inputs in (channels, width):
                layers += [nn.Conv2d(inputs, width, 3, padding=1), nn.ReLU()]
            layers.append(nn.MaxPool2d(2))
            channels, size = width, size // 2
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels * size**2, classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).flatten(1))
