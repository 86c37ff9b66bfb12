"""AlexNet: (N, C, 224, 224) -> (N, classes).

As in Krizhevsky 2014 (arXiv:1404.5997, footnote 1), which is torchvision's; `original=True` is that
of Krizhevsky, Sutskever and Hinton 2012 (section 3): 96 kernels first, convolutions 2, 4 and 5 in
two groups, local response normalisation after the first two, weights drawn with a deviation of
0.01, biases of 1 where it says so. Pooling windows overlap in both.
"""

import math

from minifp.models.parts import check_stem, drawn_normal, fill_bias, scaled

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag

TODAY, FIRST = (64, 192, 384, 256, 256), (96, 256, 384, 384, 256)
HIDDEN = 4096


def response_norm() -> nn.Module:
    """Section 3.3 with its constants; alpha there is of the sum, here of the mean of five."""
    return nn.LocalResponseNorm(5, alpha=5e-4, beta=0.75, k=2.0)


class AlexNet(nn.Module):
    """Five convolutions and three linear layers. stem, width: see parts.py; dropout: of both hidden
    linear layers."""

    def __init__(
        self,
        classes: int = 1000,
        channels: int = 3,
        stem: str = "large",
        width: float = 1.0,
        original: bool = False,
        dropout: float = 0.5,
    ) -> None:
        halvings = check_stem(stem)
        check_flag("AlexNet: original", original)
        counts = [scaled(n, width, 16) for n in (FIRST if original else TODAY)]
        groups = 2 if original else 1
        first = (11, 4, 2) if stem == "large" else (5, 1 + halvings, 2)  # size, stride, padding
        sides = ((5, 2), (3, 1), (3, 1), (3, 1))  # of the others: size, padding
        layers: list[nn.Module] = [nn.Conv2d(channels, counts[0], *first), nn.ReLU()]
        for i, (size, padding) in enumerate(sides, 1):
            if i < 3:
                layers += [*([response_norm()] if original else []), nn.MaxPool2d(3, 2)]
            split = groups if i != 2 else 1  # the third sees all of the second
            conv = nn.Conv2d(counts[i - 1], counts[i], size, padding=padding, groups=split)
            layers += [conv, nn.ReLU()]
        self.features = nn.Sequential(*layers, nn.MaxPool2d(3, 2))
        side, hidden = (6 if stem == "large" else 3 - halvings * 2), scaled(HIDDEN, width)
        self.avgpool = nn.AdaptiveAvgPool2d(side)
        head: list[nn.Module] = []
        for inputs in (counts[-1] * side**2, hidden):
            head += [nn.Dropout(dropout), nn.Linear(inputs, hidden), nn.ReLU()]
        self.classifier = nn.Sequential(*head, nn.Linear(hidden, classes))
        if original:
            self._draw_as_in_2012(width)

    def _draw_as_in_2012(self, width):
        """Section 5: N(0, 0.01^2); biases of convolutions 2, 4, 5 and of hidden layers are 1.

        At a fraction of the width the deviation is as many times larger as keeps that of sums.
        """
        deviation = 0.01 / math.sqrt(width)
        drawn_normal(self, linear=deviation, conv=deviation)
        convolutions = [m for m in self.features if isinstance(m, nn.Conv2d)]
        hidden = [m for m in self.classifier if isinstance(m, nn.Linear)][:-1]
        for layer in [*convolutions[1::2], convolutions[4], *hidden]:
            fill_bias(layer, 1.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))
