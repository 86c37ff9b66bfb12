"""torch.distributions: those that reinforcement learning and variational training use most."""

from minifp.compat.torch.distributions import continuous, discrete
from minifp.compat.torch.distributions.base import Distribution
from minifp.compat.torch.distributions.continuous import *
from minifp.compat.torch.distributions.discrete import *
from minifp.compat.torch.distributions.kl import kl_divergence

__all__ = [*continuous.__all__, *discrete.__all__, "Distribution", "kl_divergence"]
