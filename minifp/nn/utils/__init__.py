"""What models need beside layers, by PyTorch's names."""

from minifp.autograd.gradient_clip import clip_grad_norm_, clip_grad_value_
from minifp.nn.utils import rnn

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "rnn",
]  # fmt: skip
