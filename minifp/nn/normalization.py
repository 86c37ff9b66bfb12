"""Normalisation. Scale, shift and running statistics are in the `norm_parameters` format."""

from typing import Any

import numpy as np

from minifp import ops
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag, check_range
from minifp.errors import ArgumentError
from minifp.nn import functional as F
from minifp.nn import initial
from minifp.nn.checks import positive
from minifp.nn.function_layer import FunctionLayer
from minifp.nn.module import Module
from minifp.nn.parameter import Buffer, Parameter
from minifp.numerics.formats import as_dtype, downcast
from minifp.ops.arguments import check_positive
from minifp.ops.missing_axes import guess_axes
from minifp.ops.normalization.layer_norm import as_normalized_shape
from minifp.typing import Ints

FORMAT = "norm_parameters"  # the switch of the precision that says it


def _scale(shape, there=True):
    """The parameter `weight` of ones, or None."""
    return Parameter(initial.ones(shape), dtype=FORMAT) if there else None


def _shift(shape, there=True):
    """The parameter `bias` of zeros, or None."""
    return Parameter(initial.zeros(shape), dtype=FORMAT) if there else None


class _Norm(Module):
    """weight, bias, running_mean, running_var: (C), in the precision's `norm_parameters` format.

    momentum: of the running statistics; None is their average over all batches so far.
    """

    multiplies = False

    running_mean: Any  # each of these a Buffer, or None
    running_var: Any
    num_batches_tracked: Any
    ndims: tuple[int, ...] = ()  # of the input
    shapes = ""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        bias: bool = True,
    ) -> None:
        layer = type(self).__name__
        positive(num_features=num_features)
        check_positive(f"{layer}: eps", eps)
        if momentum is not None:
            check_range(f"{layer}: momentum", momentum, high=1.0)
        switches = {"affine": affine, "track_running_stats": track_running_stats, "bias": bias}
        for name, value in switches.items():
            check_flag(f"{layer}: {name}", value)
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = _scale((num_features,), affine)
        self.bias = _shift((num_features,), affine and bias)
        self.running_mean = self.running_var = self.num_batches_tracked = None
        if track_running_stats:
            dtype = as_dtype(self.precision.norm_parameters)
            self.running_mean = Buffer(np.zeros(num_features, dtype))
            self.running_var = Buffer(downcast(np.ones(num_features), dtype))
            self.num_batches_tracked = Buffer(np.zeros((), np.int64))

    def _assign(self, precision):
        super()._assign(precision)
        if self.track_running_stats:
            for statistics in (self.running_mean, self.running_var):
                statistics.convert(as_dtype(precision.norm_parameters))

    def check(self, x: Any, channels: int) -> None:
        """Raise ArgumentError unless x is a tensor of this layer's shape."""
        ndim = getattr(x, "ndim", None)
        if ndim not in self.ndims or x.shape[channels] != self.num_features:
            given = f"a {type(x).__name__}" if ndim is None else f"a tensor of shape {x.shape}"
            shape, behind = getattr(x, "shape", ()), self.ndims[-1] - 2  # axes behind (N, C)
            guess = guess_axes(shape, behind, self.num_features)
            raise ArgumentError(
                f"{type(self).__name__}({self.num_features}) on {given}: "
                f"expected {' or '.join(str(n) for n in self.ndims)} dimensions and "
                f"{self.num_features} channels{guess}"
            )

    def _settings(self, momentum):
        """What operations are told of it, behind their input."""
        own = self.running_mean, self.running_var, self.weight, self.bias
        by_batch = self.training or not self.track_running_stats
        return *own, by_batch, 0.0 if momentum is None else momentum, self.eps

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Norm):
    def forward(self, x: Tensor) -> Tensor:
        """x (N, C), (N, C, L) or (N, C, H, W), as the class says: the result has its shape."""
        self.check(x, 1)
        momentum, before = self.momentum, None
        if self.track_running_stats:
            before = self.running_mean.storage.version
            if momentum is None:
                momentum = 1 / (self.num_batches_tracked.item() + 1)
        y = ops.batch_norm(x, *self._settings(momentum))
        if self.track_running_stats and self.running_mean.storage.version != before:
            count = self.num_batches_tracked
            count.storage.write(count.array, count.array + 1)
        return y


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of (N, C) or (N, C, L)."""

    ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of (N, C, H, W)."""

    ndims = (4,)


class _InstanceNorm(_Norm):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """x with or without N, as the class says: the result has its shape."""
        whole = self.ndims[-1]  # with a batch
        self.check(x, 1 if getattr(x, "ndim", None) == whole else 0)
        batch = x if x.ndim == whole else x.reshape(1, *x.shape)
        y = ops.instance_norm(batch, *self._settings(self.momentum))
        return y.reshape(x.shape) if batch is not x else y


class InstanceNorm1d(_InstanceNorm):
    """Instance normalisation of (N, C, L) or (C, L).

    As in PyTorch num_batches_tracked stays 0, and momentum=None leaves running statistics alone.
    """

    ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Instance normalisation of (N, C, H, W) or (C, H, W).

    As in PyTorch num_batches_tracked stays 0, and momentum=None leaves running statistics alone.
    """

    ndims = (3, 4)


class GroupNorm(Module):
    """Normalisation of `num_groups` groups of channels of (N, C, ...). weight, bias: (C)."""

    multiplies = False

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        *,
        bias: bool = True,
    ) -> None:
        positive(num_groups=num_groups, num_channels=num_channels)
        check_positive("GroupNorm: eps", eps)
        check_flag("GroupNorm: affine", affine)
        if num_channels % num_groups:
            raise ArgumentError(
                f"GroupNorm: num_groups={num_groups} does not divide num_channels={num_channels}"
            )
        self.num_groups, self.num_channels = num_groups, num_channels
        self.eps, self.affine = eps, affine
        self.weight = _scale((num_channels,), affine)
        self.bias = _shift((num_channels,), affine and bias)

    def forward(self, x: Tensor) -> Tensor:
        """x (N, C, ...): the result has its shape."""
        shape: tuple[int, ...] = getattr(x, "shape", ())
        if len(shape) > 1 and shape[1] != self.num_channels:
            raise ArgumentError(
                f"GroupNorm({self.num_groups}, {self.num_channels}) on a tensor of shape {shape}: "
                f"expected {self.num_channels} channels"
            )
        return ops.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LayerNorm(Module):
    """Layer normalisation over the last axes. weight, bias: `normalized_shape`, norm parameters."""

    multiplies = False

    def __init__(
        self,
        normalized_shape: Ints,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        self.normalized_shape = as_normalized_shape("LayerNorm", normalized_shape)
        check_range("LayerNorm: eps", eps)
        check_flag("LayerNorm: elementwise_affine", elementwise_affine)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = _scale(self.normalized_shape, elementwise_affine)
        self.bias = _shift(self.normalized_shape, elementwise_affine and bias)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., *normalized_shape): the result has its shape."""
        return ops.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Division by the root of the mean square of the last axes. weight: `normalized_shape`.

    eps: None is that of the format in which it is computed, float32's at least.
    """

    multiplies = False

    def __init__(
        self, normalized_shape: Ints, eps: float | None = None, elementwise_affine: bool = True
    ) -> None:
        self.normalized_shape = as_normalized_shape("RMSNorm", normalized_shape)
        if eps is not None:
            check_range("RMSNorm: eps", eps)
        check_flag("RMSNorm: elementwise_affine", elementwise_affine)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = _scale(self.normalized_shape, elementwise_affine)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., *normalized_shape): the result has its shape."""
        return ops.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class LocalResponseNorm(FunctionLayer, of=F.local_response_norm):
    """Division by a power of the mean square of `size` neighbouring channels of (N, C, L, ...)."""

    size: int
    alpha: float = 1e-4
    beta: float = 0.75
    k: float = 1.0

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
