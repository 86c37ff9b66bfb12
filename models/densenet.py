"""DenseNet of 121 layers (Huang et al. 2017, arXiv:1608.06993, table 1): (N, C, 224, 224) ->
(N, classes). Names and weights as in torchvision."""

from minifp.models.parts import Named, check_stem, drawn_normal, fill_bias, scaled

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.nn import functional as F
from minifp.ops import cat

GROWTH, FIRST, BOTTLENECK = 32, 64, 4
DEPTHS = (6, 12, 24, 16)


class DenseLayer(Named):
    """bn, ReLU and a 1x1 convolution to 4 k channels, and again with 3x3 to k: (N, k, H, W)."""

    def __init__(self, inputs: int, growth: int) -> None:
        inside = BOTTLENECK * growth
        super().__init__(
            norm1=nn.BatchNorm2d(inputs),
            relu1=nn.ReLU(),
            conv1=nn.Conv2d(inputs, inside, 1, bias=False),
            norm2=nn.BatchNorm2d(inside),
            relu2=nn.ReLU(),
            conv2=nn.Conv2d(inside, growth, 3, padding=1, bias=False),
        )


class DenseBlock(nn.Module):
    """Layers, each of which sees what all before it have made, and the block's input."""

    def __init__(self, inputs: int, depth: int, growth: int) -> None:
        for i in range(depth):
            setattr(self, f"denselayer{i + 1}", DenseLayer(inputs + i * growth, growth))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.children():
            x = cat([x, layer(x)], 1)
        return x


class DenseNet121(nn.Module):
    """Dense blocks of 6, 12, 24 and 16 layers, with growth k = 32; between them a 1x1 convolution
    to half of the channels, and 2x2 mean pooling. stem, width: see parts.py; width multiplies k."""

    def __init__(
        self, classes: int = 1000, channels: int = 3, stem: str = "large", width: float = 1.0
    ) -> None:
        halvings = check_stem(stem)
        large = stem == "large"
        inputs, growth = scaled(FIRST, width), scaled(GROWTH, width, 4)
        size, stride = (7, 2) if large else (3, 1 + halvings)
        self.features = Named(
            conv0=nn.Conv2d(channels, inputs, size, stride=stride, padding=size // 2, bias=False),
            norm0=nn.BatchNorm2d(inputs),
            relu0=nn.ReLU(),
            pool0=nn.MaxPool2d(3, 2, padding=1) if large else nn.Identity(),
        )
        for i, depth in enumerate(DEPTHS, 1):
            setattr(self.features, f"denseblock{i}", DenseBlock(inputs, depth, growth))
            inputs += depth * growth
            if i < len(DEPTHS):
                conv = nn.Conv2d(inputs, inputs // 2, 1, bias=False)
                halved = Named(
                    norm=nn.BatchNorm2d(inputs), relu=nn.ReLU(), conv=conv, pool=nn.AvgPool2d(2)
                )
                setattr(self.features, f"transition{i}", halved)
                inputs //= 2
        self.features.norm5 = nn.BatchNorm2d(inputs)
        self.classifier = nn.Linear(inputs, classes)
        drawn_normal(self)
        fill_bias(self.classifier, 0.0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(F.relu(self.features(x)).mean((2, 3)))
