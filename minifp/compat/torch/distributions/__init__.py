"""torch.distributions: those that reinforcement learning and variational training use most."""

from minifp.compat.torch.distributions.base import Distribution
from minifp.compat.torch.distributions.continuous import (
    Independent,
    MultivariateNormal,
    Normal,
    Uniform,
)
from minifp.compat.torch.distributions.discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    OneHotCategorical,
)
from minifp.compat.torch.distributions.kl import kl_divergence

__all__ = [
    "Bernoulli", "Binomial", "Categorical", "Distribution", "Independent", "MultivariateNormal",
    "Normal", "OneHotCategorical", "Uniform", "kl_divergence",
]  # fmt: skip
