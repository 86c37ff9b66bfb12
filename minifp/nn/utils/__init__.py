"""What models need beside layers, by PyTorch's names."""

from typing import TYPE_CHECKING

from minifp.autograd.gradient_clip import clip_grad_norm_, clip_grad_value_
from minifp.nn.utils import rnn
from minifp.runtime import late

if TYPE_CHECKING:  # imported when they are first asked for: see `late`
    from minifp.nn.utils import parametrizations, parametrize
    from minifp.nn.utils.singular_value import remove_spectral_norm, spectral_norm
    from minifp.nn.utils.weight_length import remove_weight_norm, weight_norm
late.attach(__name__)

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parametrizations", "parametrize"]
__all__ += ["remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "weight_norm"]
