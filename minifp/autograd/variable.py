"""PyTorch's older name of a tensor with a gradient: a tensor, since 0.4 of PyTorch."""

import warnings
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError
from minifp.runtime.callers import level_of_user


class _AnyTensor(type):
    """The class of Variable, of which every tensor is one."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_AnyTensor):
    """`Variable(data, requires_grad)`: a leaf on the memory of a tensor, which stays as it is.

    volatile: what `fp.no_grad()` is for now; True has no effect, and is warned of.
    `isinstance(x, Variable)` asks whether x is a tensor. Raises DTypeError for what is none, and
    TapeError for integers with requires_grad.
    """

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise DTypeError(f"Variable of a {type(data).__name__}: expected a Tensor")
        if volatile:
            text = "Variable(volatile=True) has no effect: use fp.no_grad()"
            warnings.warn(text, DeprecationWarning, stacklevel=level_of_user())
        return data.detach().requires_grad_(requires_grad)
