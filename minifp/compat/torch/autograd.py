"""torch.autograd: what is older there, or changes nothing."""

from contextlib import nullcontext
from typing import Any

from minifp.autograd.grad_mode import enable_grad, no_grad, set_grad_enabled
from minifp.autograd.gradient_check import gradcheck
from minifp.autograd.tape import Tensor
from minifp.autograd.variable import Variable
from minifp.compat.torch.nothing import call, decorator

__all__ = ["Variable", "backward", "detect_anomaly", "enable_grad", "gradcheck", "no_grad"]
__all__ += ["once_differentiable", "set_detect_anomaly", "set_grad_enabled"]
WHY = "backward does not look for NaN; --microscope OUT shows where numbers overflow"
set_detect_anomaly = call("autograd.set_detect_anomaly", WHY)


def detect_anomaly(*args: Any, **settings: Any) -> nullcontext:
    """A context that changes nothing, and says so."""
    set_detect_anomaly()
    return nullcontext()


once_differentiable = decorator("autograd.function.once_differentiable", "all operations are")


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Any = None) -> None:
    """`backward` of one tensor after the other."""
    every = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    firsts = [grad_tensors] if isinstance(grad_tensors, Tensor) else grad_tensors
    for i, (tensor, first) in enumerate(zip(every, firsts or [None] * len(every))):
        keeps = bool(retain_graph) or i + 1 < len(every)
        tensor.backward(first, retain_graph=keeps)
