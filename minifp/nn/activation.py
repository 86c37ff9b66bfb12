"""Activations as layers."""

from minifp.nn import functional as F
from minifp.nn.module import Module


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x):
        return F.relu(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x):
        return F.tanh(x)


class Sigmoid(Module):
    """1 / (1 + e^-x)."""

    def forward(self, x):
        return F.sigmoid(x)
