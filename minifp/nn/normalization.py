"""Normalisation. Scale, shift and running statistics are in the `norm_parameters` format."""

import numpy as np

from minifp.errors import ArgumentError
from minifp.formats import FORMATS
from minifp.nn import functional as F
from minifp.nn import init
from minifp.nn.checks import positive
from minifp.nn.module import Module
from minifp.nn.parameter import Buffer, Parameter


class _BatchNorm(Module):
    """weight, bias, running_mean, running_var: (C), in the precision's `norm_parameters` format."""

    ndims = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True):
        positive(num_features=num_features)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        stored = self.precision.norm_parameters
        self.weight = Parameter(init.ones((num_features,)), stored) if affine else None
        self.bias = Parameter(init.zeros((num_features,)), stored) if affine else None
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            dtype = FORMATS[stored].dtype
            self.running_mean = Buffer(np.zeros(num_features, dtype))
            self.running_var = Buffer(np.ones(num_features, dtype))
            self.num_batches_tracked = Buffer(np.zeros((), np.int64))

    def forward(self, x):
        if x.ndim not in self.ndims or x.shape[1] != self.num_features:
            raise ArgumentError(
                f"{type(self).__name__}({self.num_features}) on a tensor of shape {x.shape}: "
                f"expected {' or '.join(str(n) for n in self.ndims)} dimensions and "
                f"{self.num_features} channels"
            )
        before = self.running_mean.storage.version if self.track_running_stats else 0
        y = F.batch_norm(
            *(x, self.running_mean, self.running_var, self.weight, self.bias),
            *(self.training, self.momentum, self.eps),
        )
        if self.track_running_stats and self.running_mean.storage.version != before:
            self.num_batches_tracked.data = self.num_batches_tracked.array + 1
        return y

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L)."""

    ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    ndims = (4,)


class LayerNorm(Module):
    """Layer normalisation over the last axes. weight, bias: `normalized_shape`, norm parameters."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.normalized_shape, self.eps = shape, eps
        stored = self.precision.norm_parameters
        self.weight = Parameter(init.ones(shape), stored) if elementwise_affine else None
        self.bias = Parameter(init.zeros(shape), stored) if elementwise_affine and bias else None

    def forward(self, x):
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}"
