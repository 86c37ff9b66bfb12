"""Distributions of numbers and of vectors."""

import math
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.compat.torch.distributions.base import Distribution, as_floats
from minifp.errors import ArgumentError, ShapeError
from minifp.ops import rand, randn, where, zeros_like

__all__ = ["Independent", "MultivariateNormal", "Normal", "Uniform"]
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class Normal(Distribution):
    """Of numbers with the mean loc and the standard deviation scale, which broadcast."""

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self.loc, self.scale = map(as_floats, (loc, scale))
        shape = np.broadcast_shapes(tuple(self.loc.shape), tuple(self.scale.shape))
        self.loc, self.scale = self.loc.expand(*shape), self.scale.expand(*shape)
        self.batch_shape = tuple(shape)

    mean = property(lambda self: self.loc)
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale**2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """loc + scale * draws of the standard normal distribution."""
        return self.loc + self.scale * randn(*sample_shape, *self.batch_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """ln of the density."""
        return -(((value - self.loc) / self.scale) ** 2) / 2 - self.scale.log() - HALF_LOG_2PI

    def entropy(self) -> Tensor:
        """In nats, of batch_shape."""
        return self.scale.log() + zeros_like(self.loc) + 0.5 + HALF_LOG_2PI


class MultivariateNormal(Distribution):
    """Of vectors whose covariance (..., n, n) is diagonal. Raises ArgumentError for another one."""

    def __init__(self, loc: Tensor, covariance_matrix: Any = None, **settings: Any) -> None:
        if covariance_matrix is None or any(v is not None for v in settings.values()):
            raise ArgumentError("MultivariateNormal: expected covariance_matrix")
        covariance = covariance_matrix.detach().numpy()
        n = covariance.shape[-1]
        if covariance.shape[-2:] != (n, n) or loc.shape[-1] != n:
            raise ShapeError(f"MultivariateNormal: {covariance.shape} for a mean of {loc.shape}")
        if np.any(covariance * (1 - np.eye(n))):
            raise ArgumentError("MultivariateNormal: expected a diagonal covariance")
        self.each = Normal(loc, covariance_matrix.diagonal(0, -2, -1).sqrt())
        self.batch_shape, self.event_shape = self.each.batch_shape[:-1], (n,)

    mean = property(lambda self: self.each.loc)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """One vector for each member of the batch, and of sample_shape."""
        return self.each.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """ln of the density."""
        return self.each.log_prob(value).sum(-1)

    def entropy(self) -> Tensor:
        """In nats, of batch_shape."""
        return self.each.entropy().sum(-1)


class Uniform(Distribution):
    """Of numbers from low to high, which broadcast."""

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        self.low, self.high = map(as_floats, (low, high))
        self.batch_shape = np.broadcast_shapes(tuple(self.low.shape), tuple(self.high.shape))

    mean = property(lambda self: (self.low + self.high) / 2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """low + (high - low) * draws from 0 to 1."""
        return self.low + (self.high - self.low) * rand(*sample_shape, *self.batch_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """ln of the density: of numbers outside, -Inf."""
        is_inside = (value >= self.low) & (value < self.high)
        return where(is_inside, -(self.high - self.low).log(), -math.inf)

    def entropy(self) -> Tensor:
        """In nats, of batch_shape."""
        return (self.high - self.low).log().expand(*self.batch_shape)


class Independent(Distribution):
    """A distribution whose last axes are one event: their logarithms are added."""

    def __init__(
        self,
        base_distribution: Distribution,
        reinterpreted_batch_ndims: int,
        validate_args: Any = None,
    ) -> None:
        self.base_dist, self.added = base_distribution, int(reinterpreted_batch_ndims)
        shape, count = base_distribution.batch_shape, self.added
        if not 0 <= count <= len(shape):
            raise ArgumentError(f"Independent: {count} axes of {shape}: expected these or less")
        split = len(shape) - self.added
        self.batch_shape = shape[:split]
        self.event_shape = (*shape[split:], *base_distribution.event_shape)

    mean = property(lambda self: self.base_dist.mean)
    variance = property(lambda self: self.base_dist.variance)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """As those of the distribution itself."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """As those of the distribution itself."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """ln of the density of each event."""
        return self._sum(self.base_dist.log_prob(value))

    def entropy(self) -> Tensor:
        """In nats, of batch_shape."""
        return self._sum(self.base_dist.entropy())

    def _sum(self, numbers):
        return numbers.sum(tuple(range(-self.added, 0))) if self.added else numbers
