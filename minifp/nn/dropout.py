"""Dropout."""

from minifp.nn import functional as F
from minifp.nn.checks import probability
from minifp.nn.module import Module


class Dropout(Module):
    """In training, zero each element with probability p and divide the others by 1 - p."""

    def __init__(self, p=0.5):
        probability("Dropout", p=p)
        self.p = p

    def forward(self, x):
        return F.dropout(x, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}"
