"""Convolutions."""

import math

from minifp.errors import ArgumentError
from minifp.nn import functional as F
from minifp.nn import init
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.parameter import Parameter
from minifp.ops.conv2d import as_pair


class Conv2d(Module):
    """2-D convolution of (N, in, H, W).   weight: (out, in/groups, KH, KW)  bias: (out)."""

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
    ):
        positive(in_channels=in_channels, out_channels=out_channels, groups=groups)
        if in_channels % groups or out_channels % groups:
            raise ArgumentError(
                f"groups={groups} must divide {in_channels} and {out_channels} channels"
            )
        size = as_pair(kernel_size, "kernel_size", 1)
        self.geometry = {
            "stride": as_pair(stride, "stride", 1),
            "padding": as_pair(padding, "padding", 0),
            "dilation": as_pair(dilation, "dilation", 1),
            "groups": groups,
        }
        shape = (out_channels, in_channels // groups, *size)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        self.weight = Parameter(init.uniform(shape, bound))
        self.bias = Parameter(init.uniform((out_channels,), bound)) if bias else None

    def forward(self, x):
        return F.conv2d(x, self.weight, self.bias, **self.geometry)

    def extra_repr(self):
        geometry = ", ".join(f"{k}={v}" for k, v in self.geometry.items())
        return f"weight={self.weight.shape}, {geometry}, bias={self.bias is not None}"
