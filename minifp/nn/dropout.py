"""Dropout."""

from minifp.nn import functional as F
from minifp.nn.checks import probability
from minifp.nn.module import Module
from minifp.tape import Tensor


class Dropout(Module):
    """In training, zero each element with probability p and divide the others by 1 - p."""

    def __init__(self, p: float = 0.5) -> None:
        probability("Dropout", p=p)
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"
