"""Dropout."""

from typing import Any

from minifp.nn import functional as F
from minifp.nn.checks import probability
from minifp.nn.function_layer import FunctionLayer


class Dropout(FunctionLayer, of=F.dropout):
    """In training, zero each element with probability p and divide the others by 1 - p.

    inplace: whether the input becomes the result, which is then the input.
    """

    p: float = 0.5
    inplace: bool = False

    def __post_init__(self) -> None:
        probability(type(self).__name__, p=self.p)
        super().__post_init__()

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """What the function gives, in training or not."""
        return super().forward(*inputs, training=self.training, **named)


class Dropout1d(Dropout, of=F.dropout1d):
    """In training, zero whole channels of (N, C, L) or (C, L) with probability p, as Dropout."""


class Dropout2d(Dropout, of=F.dropout2d):
    """In training, zero whole channels of (N, C, H, W) with probability p, as Dropout."""
