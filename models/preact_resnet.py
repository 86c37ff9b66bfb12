"""The pre-activation ResNet of 50 layers (He et al. 2016, arXiv:1603.05027): (N, C, 224, 224) ->
(N, classes).

Normalisation and ReLU stand before each convolution (figure 4e), so that nothing but additions lies
on the way from the last block to the first: y = x + branch(relu(bn(x))). Where shapes differ, the
shortcut is a 1x1 convolution of the activated x; after the last block comes one more bn and ReLU.
"""

from minifp.models.resnet import ResNet, conv1x1, conv3x3

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.nn import functional as F


class PreActBottleneck(nn.Module):
    """A 3x3 convolution between two of 1x1, each after its own bn and ReLU."""

    expansion = 4

    def __init__(self, inputs: int, inside: int, stride: int, original: bool = False) -> None:
        outputs = inside * self.expansion
        self.bn1, self.conv1 = nn.BatchNorm2d(inputs), conv1x1(inputs, inside)
        self.bn2, self.conv2 = nn.BatchNorm2d(inside), conv3x3(inside, inside, stride)
        self.bn3, self.conv3 = nn.BatchNorm2d(inside), conv1x1(inside, outputs)
        differ = stride > 1 or inputs != outputs
        self.downsample = conv1x1(inputs, outputs, stride) if differ else None

    def forward(self, x: Tensor) -> Tensor:
        active = F.relu(self.bn1(x))
        y = self.conv2(F.relu(self.bn2(self.conv1(active))))
        y = self.conv3(F.relu(self.bn3(y)))
        return y + (x if self.downsample is None else self.downsample(active))


class PreActResNet50(ResNet):
    """3, 4, 6 and 3 pre-activated bottlenecks. stem, width: see parts.py."""

    block = PreActBottleneck
    depths = (3, 4, 6, 3)

    def __init__(
        self, classes: int = 1000, channels: int = 3, stem: str = "large", width: float = 1.0
    ) -> None:
        super().__init__(classes, channels, stem, width)

    def first(self, channels: int, outputs: int, stem: str, halvings: int) -> None:
        super().first(channels, outputs, stem, halvings)
        self.bn1 = None  # the first block has its own

    def last(self, inputs: int) -> None:
        self.bn = nn.BatchNorm2d(inputs)

    def begin(self, x: Tensor) -> Tensor:
        return self.maxpool(self.conv1(x))

    def end(self, x: Tensor) -> Tensor:
        return F.relu(self.bn(x))
