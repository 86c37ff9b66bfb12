"""Methods that PyTorch's tensors have, which minifp refuses with what to write instead: attached
where the mirror is installed, for scripts cannot write something else."""

import gc
from collections.abc import Callable, Sequence
from functools import partial
from inspect import getattr_static
from types import NoneType
from typing import Any

import numpy as np

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.storage import Storage
from minifp.autograd.tape import Tensor
from minifp.compat.torch.nothing import say_once
from minifp.compat.unknown_names import Missing
from minifp.errors import ArgumentError, UnknownNameError
from minifp.ops import eye, randint
from minifp.runtime.device import address

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


class Numbers(Sequence[Any]):
    """What x.storage() returns: the numbers of the memory that tensors share, in its order, to be
    read. array: a copy of them."""

    def __init__(self, storage: Storage) -> None:
        tensors = [t for t in gc.get_referrers(storage) if isinstance(t, Tensor)]
        self.array = max(tensors, key=Tensor.numel).detach().cpu().numpy().ravel("K").copy()

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, place: Any) -> Any:
        return self.array[place].tolist()

    def tolist(self) -> list[Any]:
        """The numbers."""
        return self.array.tolist()

    size = __len__


def _forget(self: Tensor, value: Any) -> None:
    """Take what a script sets by a name that is no attribute of PyTorch's, though it looks like
    one."""
    say_once("Tensor.require_grad", "gradients are asked for by requires_grad")


class MadeBy:
    """What x.grad_fn returns: the operation that made x, to be printed. Raises UnknownNameError for
    its next_functions."""

    def __init__(self, op: str) -> None:
        self._op = "".join(part.capitalize() for part in op.split("_"))

    def name(self) -> str:
        """As PyTorch writes it: "AddBackward0"."""
        return f"{self._op}Backward0"

    @property
    def next_functions(self) -> Any:
        """Refused."""
        why = "minifp has no grad_fn.next_functions; x.node.parents are what an operation had"
        raise UnknownNameError(partial(str, why))

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def _grad_fn(self: Tensor) -> MadeBy | None:
    """The operation that made a tensor; None for a leaf."""
    return None if self.node is None else MadeBy(str(self.node.op))


def diag_embed(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices (..., n, n) with the numbers (..., n) on their diagonals. Raises ArgumentError for
    other diagonals and axes."""
    if (offset, dim1, dim2) != (0, -2, -1):
        raise ArgumentError("diag_embed: expected offset=0, dim1=-2, dim2=-1")
    return self.unsqueeze(-1) * eye(self.shape[-1]).to(self.dtype)


METHODS: dict[str, Any] = {
    "apply_": _apply_,
    "data_ptr": lambda self: address(self.array),
    "require_grad": property(lambda self: self.requires_grad, _forget),
    "byte": lambda self: self.to("uint8"),
    "ndimension": lambda self: self.ndim,
    "random_": _random_,
    "clamp_max": lambda self, max: self.clamp(max=max),
    "clamp_min": lambda self, min: self.clamp(min=min),
    "diag_embed": diag_embed,
    "grad_fn": property(_grad_fn),
    "dist": lambda self, other, p=2: (self - other).norm(p),
    "is_complex": lambda self: False,
    "get_device": lambda self: -1,
    "pin_memory": lambda self, *device: self,
    "share_memory_": lambda self: self,
}


def attach(name: str, method: Any) -> None:
    """Give Tensor a method unless it has it."""
    if isinstance(getattr_static(Tensor, name, None), (Missing, NoneType)):
        setattr(Tensor, name, method)


def attach_all() -> None:
    """Give Tensor what it has not of METHODS."""
    setattr(Storage, "__call__", lambda storage: Numbers(storage))  # noqa: B010
    for name, method in METHODS.items():
        attach(name, method)


def teach(x2num: Any) -> None:
    """Let tensorboardX, of which this module makes arrays, take tensors."""
    make = x2num.make_np
    x2num.make_np = lambda x: make(x.detach().numpy() if isinstance(x, Tensor) else x)
