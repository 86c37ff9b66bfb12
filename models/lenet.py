"""LeNet (LeCun et al. 1998), with ReLU and max pooling: (N, 1, size, size) -> (N, classes)."""

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.nn import functional as F


class LeNet(nn.Module):
    """Two 5x5 convolutions (3x3 below 16 pixels), each with 2x2 pooling, and two linear layers.

    size: of the square pictures, 28 for MNIST and 8 for the bundled digits.
    """

    def __init__(self, classes: int = 10, size: int = 28, channels: int = 1) -> None:
        kernel = 5 if size >= 16 else 3
        self.conv1 = nn.Conv2d(channels, 16, kernel, padding=kernel // 2)
        self.conv2 = nn.Conv2d(16, 32, kernel, padding=kernel // 2)
        self.fc1 = nn.Linear(32 * (size // 4) ** 2, 128)
        self.fc2 = nn.Linear(128, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))
