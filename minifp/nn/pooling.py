"""Pooling."""

from minifp.nn import functional as F
from minifp.nn.module import Module


class _Pool2d(Module):
    def __init__(self, kernel_size, stride=None, padding=0):
        self.kernel_size, self.padding = kernel_size, padding
        self.stride = kernel_size if stride is None else stride

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool2d(_Pool2d):
    """The largest of each window of (N, C, H, W)."""

    def forward(self, x):
        return F.max_pool2d(x, self.kernel_size, self.stride, self.padding)


class AvgPool2d(_Pool2d):
    """The mean of each window of (N, C, H, W), padding included."""

    def forward(self, x):
        return F.avg_pool2d(x, self.kernel_size, self.stride, self.padding)
