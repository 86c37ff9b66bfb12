"""Distributions of classes and of counts."""

import math
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.compat.torch.distributions.base import Distribution
from minifp.errors import ArgumentError
from minifp.nn import functional as F
from minifp.ops import as_tensor, bernoulli, log_softmax, multinomial, ones_like, zeros_like

__all__ = ["Bernoulli", "Binomial", "Categorical", "OneHotCategorical"]


class Categorical(Distribution):
    """Of numbers from 0 to k - 1, by probabilities or logits (..., k), one of both."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise ArgumentError("Categorical: expected probs or logits, one of both")
        if logits is not None:
            self.logits = log_softmax(logits, -1)
            self.probs = self.logits.exp()
        else:
            self.probs = probs / probs.sum(-1, keepdim=True)
            tiny = float(np.finfo(np.float32).eps)
            self.logits = self.probs.clamp(tiny, 1 - tiny).log()  # as PyTorch has it
        self.batch_shape = tuple(self.probs.shape[:-1])

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Indices, int64."""
        count = math.prod(sample_shape)
        flat = self.probs.detach().float().reshape(-1, self.probs.shape[-1])
        drawn = multinomial(flat, count, True).t()
        return drawn.reshape(*sample_shape, *self.batch_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        """ln of the probability of each index; value broadcasts with batch_shape."""
        shape = np.broadcast_shapes(tuple(value.shape), self.batch_shape)
        logits = self.logits.expand(*shape, self.logits.shape[-1])
        index = value.long().expand(*shape).unsqueeze(-1)
        return logits.gather(-1, index).squeeze(-1)

    def entropy(self) -> Tensor:
        """In nats, of batch_shape."""
        return -(self.probs * self.logits).sum(-1)


class OneHotCategorical(Categorical):
    """Of vectors with 1 at the number that Categorical draws, and 0 elsewhere."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        super().__init__(probs, logits)
        self.event_shape = tuple(self.probs.shape[-1:])

    mean = property(lambda self: self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """0 and 1 as floats."""
        drawn = super().sample(sample_shape)
        return F.one_hot(drawn, *self.event_shape).to(self.probs.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        """ln of the probability of each vector."""
        return super().log_prob(value.argmax(-1))


class Bernoulli(Distribution):
    """Of 0 and 1, by probabilities or logits, one of both."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        if (probs is None) == (logits is None):
            raise ArgumentError("Bernoulli: expected probs or logits, one of both")
        if logits is None:
            self.probs = as_tensor(probs)
            tiny = float(np.finfo(np.float32).eps)
            inside = self.probs.clamp(tiny, 1 - tiny)
            self.logits = inside.log() - (1 - inside).log()
        else:
            self.logits, self.probs = logits, logits.sigmoid()
        self.batch_shape = tuple(self.probs.shape)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """0 and 1 as floats."""
        return bernoulli(self.probs.detach().expand(*sample_shape, *self.batch_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """ln of the probability of each 0 or 1."""
        shape = np.broadcast_shapes(tuple(value.shape), self.batch_shape)
        logits = self.logits.expand(*shape)
        return -F.binary_cross_entropy_with_logits(
            logits, value.to(logits.dtype).expand(*shape), reduction="none"
        )

    def entropy(self) -> Tensor:
        """In nats, of batch_shape."""
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Binomial(Distribution):
    """Of how many of total_count draws of 0 or 1 are 1; total_count is one int for all."""

    def __init__(
        self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: Any = None
    ) -> None:
        self.total_count, self.each = total_count, Bernoulli(probs, logits)
        check_count("Binomial: total_count", total_count)
        self.probs, self.batch_shape = self.each.probs, self.each.batch_shape

    mean = property(lambda self: self.total_count * self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Counts, as floats."""
        return self.each.sample((self.total_count, *sample_shape)).sum(0)

    def log_prob(self, value: Tensor) -> Tensor:
        """ln of the probability of each count."""
        ways = [math.comb(self.total_count, int(k)) for k in value.detach().reshape(-1).tolist()]
        of_1, of_0 = (self.each.log_prob(like(self.probs)) for like in (ones_like, zeros_like))
        order = as_tensor(np.log(ways)).reshape(tuple(value.shape))
        return value * of_1 + (self.total_count - value) * of_0 + order
