"""Methods that PyTorch's tensors have, which minifp refuses with what to write instead: attached
where the mirror is installed, for scripts cannot write something else."""

from collections.abc import Callable
from inspect import getattr_static
from typing import Any

import numpy as np

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.compat.unknown_names import Missing
from minifp.errors import ArgumentError
from minifp.ops import randint

LARGEST = 2**24  # up to which float32 has all integers


def _random_(self: Tensor, low: int = 0, high: int | None = None, **settings: Any) -> Tensor:
    """Fill with integers from low to high - 1; with one number, from 0 to it."""
    if high is None:
        low, high = 0, int(low) or LARGEST
    if low >= high:
        raise ArgumentError(f"random_: {low}, {high}: expected a range")
    with no_grad():
        return self.copy_(randint(int(low), int(high), tuple(self.shape)).to(self.dtype))


def _apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Set each number to what a function of Python's makes of it."""
    before = self.detach().numpy()
    numbers = np.array([callable(n) for n in before.ravel().tolist()], before.dtype)
    with no_grad():
        return self.copy_(Tensor(numbers.reshape(before.shape)))


METHODS: dict[str, Any] = {
    "apply_": _apply_,
    "byte": lambda self: self.to("uint8"),
    "ndimension": lambda self: self.ndim,
    "random_": _random_,
    "dist": lambda self, other, p=2: (self - other).norm(p),
    "is_complex": lambda self: False,
    "get_device": lambda self: -1,
    "pin_memory": lambda self, *device: self,
    "share_memory_": lambda self: self,
}


def attach() -> None:
    """Give Tensor what it has not of METHODS."""
    for name, method in METHODS.items():
        held = getattr_static(Tensor, name, None)
        if held is None or isinstance(held, Missing):
            setattr(Tensor, name, method)


def teach(x2num: Any) -> None:
    """Let tensorboardX, of which this module makes arrays, take tensors."""
    make = x2num.make_np
    x2num.make_np = lambda x: make(x.detach().numpy() if isinstance(x, Tensor) else x)
