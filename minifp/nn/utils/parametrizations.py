"""Parametrizations by PyTorch's names."""

from minifp.nn.utils.singular_value import parametrized_spectral_norm as spectral_norm
from minifp.nn.utils.weight_length import parametrized_weight_norm as weight_norm

__all__ = ["spectral_norm", "weight_norm"]
