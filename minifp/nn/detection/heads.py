"""The layers of Faster R-CNN that are no backbone: names and shapes as in torchvision."""

from collections.abc import Sequence
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.nn import functional as F
from minifp.nn import init
from minifp.nn.activation import ReLU
from minifp.nn.container import Sequential
from minifp.nn.conv import Conv2d
from minifp.nn.detection.predictions import rows_of
from minifp.nn.dropout import Dropout
from minifp.nn.linear import Linear
from minifp.nn.module import Module


def draw(layer: Any, std: float) -> None:
    """Draw a layer's weights from N(0, std^2), and make its bias 0."""
    init.normal_(layer.weight, std=std)
    init.zeros_(layer.bias)


class RPNHead(Module):
    """A 3x3 convolution with ReLU, and behind it 1x1 convolutions for logits and rows.

    Weights are drawn from N(0, 0.01^2), as in the paper. Names as in torchvision.
    """

    def __init__(self, channels: int, anchors: int) -> None:
        first = Conv2d(channels, channels, 3, padding=1)
        self.conv = Sequential(Sequential(first, ReLU()))
        self.cls_logits = Conv2d(channels, anchors, 1)
        self.bbox_pred = Conv2d(channels, 4 * anchors, 1)
        for layer in (first, self.cls_logits, self.bbox_pred):
            draw(layer, 0.01)

    def forward(self, features: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """features: maps (N, channels, H, W). Logits (N, A) and rows (N, A, 4) of all anchors."""
        hidden = [self.conv(x) for x in features]
        logits = rows_of([self.cls_logits(h) for h in hidden], 1)
        return logits.squeeze(2), rows_of([self.bbox_pred(h) for h in hidden], 4)


class TwoMLPHead(Module):
    """Two linear layers with ReLU and dropout: (R, C, H, W) -> (R, hidden). Names: torchvision."""

    def __init__(self, inputs: int, hidden: int, dropout: float = 0.5) -> None:
        self.fc6, self.fc7 = Linear(inputs, hidden), Linear(hidden, hidden)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """x: what was pooled of R regions, (R, C, H, W)."""
        x = self.dropout(F.relu(self.fc6(x.flatten(1))))
        return self.dropout(F.relu(self.fc7(x)))


class FastRCNNPredictor(Module):
    """Logits (R, classes) and, for each class, rows (R, 4 classes) of R regions.

    Weights are drawn from N(0, 0.01^2) and N(0, 0.001^2) (Girshick 2015, section 2.3).
    """

    def __init__(self, inputs: int, classes: int) -> None:
        self.cls_score, self.bbox_pred = Linear(inputs, classes), Linear(inputs, 4 * classes)
        draw(self.cls_score, 0.01)
        draw(self.bbox_pred, 0.001)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """x: (R, inputs)."""
        return self.cls_score(x), self.bbox_pred(x)
