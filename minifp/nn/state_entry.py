"""An entry of a state_dict: a copy of a tensor's numbers, and what is written into it goes there.

So `best = model.state_dict()` stays what it was while the model is trained on, and averages that
are written into it reach the model, as in PyTorch, whose entries are the model's own memory:

    for name, v in average.state_dict().items():
        v.mul_(0.999).add_(model.state_dict()[name], alpha=0.001)
"""

from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from minifp.autograd.memory import write
from minifp.autograd.storage import Storage, seen_by
from minifp.autograd.tape import Tensor
from minifp.runtime.device import moved


class EntryStorage(Storage):
    """That of an entry. owner: a weak reference to the tensor whose numbers it has a copy of.

    numbers: the copy. shown: the same memory, read-only: what NumPy writes would reach the copy
    alone.
    """

    def __init__(self, owner: Tensor) -> None:
        self.owner, self.numbers = ref(owner), np.array(current(owner))
        self.shown = self.numbers.view()
        self.shown.flags.writeable = False

    def takes(self, array: Any) -> bool:
        """Whether each element of an array on this memory has a place of its own."""
        return all(s or n == 1 for n, s in zip(array.shape, array.strides))

    def refresh(self) -> None:
        """Have the numbers that the owner has now: a change begins from these."""
        owner = self.owner()
        if owner is not None and owner.shape == self.numbers.shape:
            self.numbers[...] = current(owner)

    def put(self, array: Any, put: Callable[[Any], None]) -> None:
        """Write into an array on this memory, and into the owner: unrounded, and rounded."""
        own = seen_by(array, self.shown, self.numbers)
        super().put(array if own is None else own, put)
        owner = self.owner()
        if owner is not None and own is not None and owner.shape == self.numbers.shape:
            write(owner, self.numbers)


def current(owner: Tensor) -> np.ndarray:
    """The numbers of a tensor, on the CPU: unrounded where it has them."""
    exact = owner.exact
    return moved(owner.array if exact is None else exact, "cpu")


def entry_of(owner: Tensor) -> Tensor:
    """An entry of a state_dict for a parameter or a buffer."""
    storage = EntryStorage(owner)
    return Tensor(storage.shown, storage=storage)
