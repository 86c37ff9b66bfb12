"""ResNet of small pictures (He et al. 2015, arXiv:1512.03385): (N, C, H, W) -> (N, classes).

As in section 4.2: three stages of equally many blocks, with 1, 2 and 4 times `width` channels, at
full, half and quarter size. Each block is two 3x3 convolutions with batch normalisation, added to
its input. Where the size halves and the channels double, the input is taken at every second place
and padded with channels of zeros (option A of the paper, its authors' choice for CIFAR-10): the
shortcut has no weights.
"""

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.nn import functional as F


class Block(nn.Module):
    """relu(x' + bn(conv(relu(bn(conv(x)))))), where x' is x, or x at every second place."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride, self.added = stride, outputs - inputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride > 1 or self.added:
            x = x[:, :, :: self.stride, :: self.stride]
            x = F.pad(x, (0, 0, 0, 0, self.added // 2, self.added - self.added // 2))
        return F.relu(y + x)


class CIFARResNet(nn.Module):
    """depth: 6 n + 2 layers for n blocks a stage: 20, 32, 44, 56 or 110 in the paper.

    With 20 layers, 16 channels and 10 classes it has 269,722 weights ("0.27M" in the paper).
    Raises ArgumentError for another depth.
    """

    def __init__(
        self, classes: int = 10, depth: int = 20, channels: int = 3, width: int = 16
    ) -> None:
        if depth < 8 or depth % 6 != 2:
            raise ArgumentError(
                f"CIFARResNet: depth={depth}: expected 6 n + 2, such as 20, 32 or 56"
            )
        self.conv1 = nn.Conv2d(channels, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = self._stage(width, width, depth // 6, 1)
        self.layer2 = self._stage(width, 2 * width, depth // 6, 2)
        self.layer3 = self._stage(2 * width, 4 * width, depth // 6, 2)
        self.fc = nn.Linear(4 * width, classes)

    @staticmethod
    def _stage(inputs, outputs, blocks, stride):
        rest = (Block(outputs, outputs, 1) for _ in range(blocks - 1))
        return nn.Sequential(Block(inputs, outputs, stride), *rest)

    def forward(self, x: Tensor) -> Tensor:
        x = F.relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))
