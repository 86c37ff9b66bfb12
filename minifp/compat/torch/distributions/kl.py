"""The divergence of one distribution from another of the same kind."""

import math
from collections.abc import Callable
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.compat.torch.distributions.base import Distribution
from minifp.compat.torch.distributions.continuous import Independent, MultivariateNormal, Normal
from minifp.compat.torch.distributions.discrete import Bernoulli, Categorical
from minifp.errors import ArgumentError
from minifp.nn.functional import softplus
from minifp.ops import where

__all__ = ["kl_divergence"]


def of_normals(p: Normal, q: Normal) -> Tensor:
    """r^2 / 2 + ((p - q) / s)^2 / 2 - 1 / 2 - ln r, r the ratio of the deviations, s that of q."""
    ratio, distance = (p.scale / q.scale) ** 2, ((p.loc - q.loc) / q.scale) ** 2
    return 0.5 * (ratio + distance - 1 - ratio.log())


def of_classes(p: Categorical, q: Categorical) -> Tensor:
    """The sum of p ln(p / q) over the classes: 0 where p is 0, and Inf where only q is."""
    terms = where(q.probs == 0, math.inf, p.probs * (p.logits - q.logits))
    return where(p.probs == 0, 0.0, terms).sum(-1)


def of_yes_or_no(p: Bernoulli, q: Bernoulli) -> Tensor:
    """p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)), from logits."""
    ones = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    return ones + (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))


RULES: dict[type, Callable[[Any, Any], Tensor]] = {
    Normal: of_normals,
    Categorical: of_classes,
    Bernoulli: of_yes_or_no,
    MultivariateNormal: lambda p, q: of_normals(p.each, q.each).sum(-1),
    Independent: lambda p, q: p._sum(kl_divergence(p.base_dist, q.base_dist)),
}


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean under p of ln p - ln q, of batch_shape, with gradients.

    Raises ArgumentError for two kinds, or one that is not among RULES.
    """
    for kind, rule in RULES.items():
        if isinstance(p, kind) and isinstance(q, kind):
            return rule(p, q)
    kinds = ", ".join(kind.__name__ for kind in RULES)
    raise ArgumentError(
        f"kl_divergence of a {type(p).__name__} and a {type(q).__name__}: expected two of one "
        f"kind: {kinds}"
    )
