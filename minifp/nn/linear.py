"""Layers that are one product of matrices, and those that only reshape."""

import math

from minifp import ops
from minifp.nn import functional as F
from minifp.nn import init
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter


class Linear(Module):
    """y = x weightT + bias.   weight: (out, in)  bias: (out); both U(-1/sqrt(in), 1/sqrt(in))."""

    def __init__(self, in_features, out_features, bias=True):
        positive(in_features=in_features, out_features=out_features)
        bound = 1 / math.sqrt(in_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(init.uniform((out_features, in_features), bound))
        self.bias = Parameter(init.uniform((out_features,), bound)) if bias else None

    def forward(self, x):
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self):
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


class Flatten(Module):
    """All axes but the first as one (or those from start_dim to end_dim)."""

    def __init__(self, start_dim=1, end_dim=-1):
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x):
        return ops.flatten(x, self.start_dim, self.end_dim)
