"""torch.autograd: what is older there, or changes nothing."""

from contextlib import nullcontext
from typing import Any

import numpy as np

from minifp.autograd.grad_mode import enable_grad, no_grad, set_grad_enabled
from minifp.autograd.gradient_check import gradcheck
from minifp.autograd.tape import Tensor
from minifp.compat.torch.nothing import answers, decorator
from minifp.errors import DTypeError

__all__ = [
    "Variable", "backward", "detect_anomaly", "enable_grad", "gradcheck", "no_grad",
    "once_differentiable", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip
set_detect_anomaly = answers(None)  # a step that is skipped says what overflowed
detect_anomaly = nullcontext
once_differentiable = decorator("autograd.function.once_differentiable", "all operations are")


class OfTensors(type):
    """The class of Variable, of which all tensors are."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)

    def __call__(cls, data: Any = (), requires_grad: bool = False, volatile: bool = False) -> Any:
        """The tensor itself; with requires_grad another one on its memory, which does."""
        tensor = Tensor(np.asarray(data, np.float32)) if data == () else data
        if not isinstance(tensor, Tensor):
            raise DTypeError(f"Variable: a {type(data).__name__}: expected a tensor")
        if volatile or not requires_grad or tensor.requires_grad:
            return tensor.detach() if volatile else tensor
        return tensor.detach().requires_grad_()


class Variable(metaclass=OfTensors):
    """What tensors were called before PyTorch 0.4."""


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: Any = None) -> None:
    """`backward` of one tensor after the other."""
    every = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    firsts = [grad_tensors] if isinstance(grad_tensors, Tensor) else grad_tensors
    for i, (tensor, first) in enumerate(zip(every, firsts or [None] * len(every))):
        keeps = bool(retain_graph) or i + 1 < len(every)
        tensor.backward(first, retain_graph=keeps)
