"""torch.nn.utils: clipping where PyTorch clips nothing that a step would read: before there are
gradients, as scripts do in a first step, and after the step that used them."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from minifp.autograd.gradients import is_consumed
from minifp.autograd.tape import Tensor
from minifp.compat.torch.nothing import say_once
from minifp.nn import utils
from minifp.ops import zeros

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]


def at_any_time(clip: Callable[..., Any], nothing: Callable[[], Any]) -> Callable[..., Any]:
    """A clipping function of minifp's that is no error before backward and after a step, and is
    said once. nothing: makes what it returns without gradients."""
    name = f"nn.utils.{clip.__name__}"

    @wraps(clip)
    def clipped(parameters: Any, *args: Any, **settings: Any) -> Any:
        every = [parameters] if isinstance(parameters, Tensor) else list(parameters)
        present = [p.grad for p in every if p.grad is not None]
        if not present:
            say_once(name, "there are no gradients yet: call backward() before")
            return nothing()
        if not all(map(is_consumed, present)):
            return clip(every, *args, **settings)
        say_once(f"{name} after step()", "the step has used these gradients: call it before")
        for gradient in present:
            gradient.consumed = None
        try:
            return clip(every, *args, **settings)
        finally:
            for gradient in present:
                gradient.consumed = gradient.storage.version

    return clipped


clip_grad_norm_ = at_any_time(utils.clip_grad_norm_, lambda: zeros(()))
clip_grad_norm = clip_grad_norm_  # as it was called before PyTorch 0.4
clip_grad_value_ = at_any_time(utils.clip_grad_value_, lambda: None)
