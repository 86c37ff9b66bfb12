"""Dropout."""

from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.nn import functional as F
from minifp.nn.checks import probability
from minifp.nn.module import Module


class Dropout(Module):
    """In training, zero each element with probability p and divide the others by 1 - p.

    inplace: taken as in PyTorch; the result is the same, and nothing is overwritten.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        layer = type(self).__name__
        probability(layer, p=p)
        check_flag(f"{layer}: inplace", inplace)
        self.p, self.inplace = p, inplace

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}" + (", inplace=True" if self.inplace else "")


class Dropout1d(Dropout):
    """In training, zero whole channels of (N, C, L) or (C, L) with probability p, as Dropout."""

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout1d(x, self.p, self.training)


class Dropout2d(Dropout):
    """In training, zero whole channels of (N, C, H, W) with probability p, as Dropout."""

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout2d(x, self.p, self.training)
