"""torch.nn.utils: clipping before there are gradients, which scripts do in a first step."""

from typing import Any

from minifp.autograd.tape import Tensor
from minifp.compat.torch.nothing import say_once
from minifp.nn import utils
from minifp.ops import zeros

__all__ = ["clip_grad_norm", "clip_grad_norm_"]


def clip_grad_norm_(parameters: Any, *args: Any, **settings: Any) -> Tensor:
    """`nn.utils.clip_grad_norm_`; of parameters without gradients 0, which is said once."""
    every = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    if all(p.grad is None for p in every):
        say_once("nn.utils.clip_grad_norm_", "there are no gradients yet: call backward() before")
        return zeros(())
    return utils.clip_grad_norm_(every, *args, **settings)


clip_grad_norm = clip_grad_norm_  # as it was called before PyTorch 0.4
