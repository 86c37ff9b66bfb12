"""Storage: what tensors that share memory share.

How often it was written to, for the tape and for optimizers; of a leaf, which tensors look at the
same memory, for who moves it; and, where storing rounds, the unrounded numbers behind it.
"""

from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from minifp.cuda.arrays import is_on_device
from minifp.cuda.arrays import restrided as restrided_on_device
from minifp.device import placed
from minifp.formats import narrow, widen


class Unrounded(NamedTuple):
    """The unrounded numbers of stored ones, of the same shape, and the version for which they hold.

    Both lie in C order without gaps; `numbers` may be an optimizer's masters.
    """

    version: int
    stored: Any
    numbers: Any


class Storage:
    """What tensors that share memory share.

    version: how often it was written to. unrounded: what is behind a leaf's stored numbers, or
    None. sharing: the tensors on this memory, or None where nobody needs to know.
    """

    __slots__ = ("version", "unrounded", "sharing")
    version: int
    unrounded: Unrounded | None
    sharing: "WeakValueDictionary[int, Any] | None"  # by id, as == gives a tensor

    def __init__(self) -> None:
        self.version, self.unrounded, self.sharing = 0, None, None

    # ---- numbers ----

    def keep(self, stored: Any, numbers: Any) -> None:
        """Take `numbers`, not copied, as the unrounded ones of what is stored now."""
        self.unrounded = Unrounded(self.version, stored, numbers)

    def exact(self, array: Any) -> Any:
        """The unrounded numbers behind an array on this memory, as a view; None without any."""
        if self.unrounded is not None and self.unrounded.version != self.version:
            self.settle()
        return None if self.unrounded is None else seen_by(array, *self.unrounded[1:])

    def settle(self) -> None:
        """Let stored numbers that are not the rounding of the unrounded ones win.

        Such were written by what does not know of these, perhaps through the array itself.
        """
        if self.unrounded is None:
            return
        _, stored, numbers = self.unrounded
        same = narrow(numbers, stored.dtype) == stored
        if is_on_device(stored) or not same.all():  # asking a device would wait for it
            numbers[...] = np.where(same, numbers, widen(stored, numbers.dtype))
        self.keep(stored, numbers)

    def write(self, array: Any, value: Any) -> None:
        """Write `value` into an array on this memory, and unrounded into what is behind it."""
        exact = self.exact(array)
        array[...] = placed(narrow(value, array.dtype), like=array)
        self.version += 1
        if exact is not None and self.unrounded is not None:
            exact[...] = placed(narrow(value, exact.dtype), like=array)
            self.keep(*self.unrounded[1:])

    # ---- memory ----

    def share(self, tensor: Any) -> None:
        """Know, from now on, which tensors are on this memory; `tensor` is."""
        if self.sharing is None:
            self.sharing = WeakValueDictionary()
        self.sharing[id(tensor)] = tensor

    def move(self, before: Any, array: Any) -> None:
        """Let all tensors on the memory of `before` be on that of `array`, which has its numbers,
        shape and format. What NumPy was given of it stays where it was."""
        for tensor in [] if self.sharing is None else list(self.sharing.values()):
            moved = seen_by(tensor.array, before, array)
            if moved is not None:
                tensor.array = moved
        if self.unrounded is not None and self.unrounded.stored is before:
            self.unrounded = self.unrounded._replace(stored=array)


def seen_by(view: Any, whole: Any, other: Any) -> Any:
    """What a view of `whole` would be of `other`, an array of its shape, both in C order without
    gaps; None for an array that is no view of it."""
    if view is whole:
        return other
    if not (whole.flags.c_contiguous and other.flags.c_contiguous) or view.dtype != whole.dtype:
        return None
    first = address(view) - address(whole)
    if not 0 <= first < max(whole.nbytes, 1) or not other.size:
        return None
    steps = tuple(s // whole.itemsize * other.itemsize for s in view.strides)
    flat = other.reshape(-1)[first // whole.itemsize :]
    if is_on_device(other):
        return restrided_on_device(flat, view.shape, steps)
    return np.lib.stride_tricks.as_strided(flat, view.shape, steps)


def address(array: Any) -> int:
    """Where an array begins."""
    return array.data.ptr if is_on_device(array) else array.ctypes.data
