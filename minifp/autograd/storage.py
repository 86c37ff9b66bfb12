"""Storage: what tensors that share memory share.

How often it was written to, for the tape and for optimizers; of a leaf, which tensors look at the
same memory, for who moves it; and, where storing rounds, the unrounded numbers behind it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from minifp.numerics.amax_history import Histories
from minifp.numerics.formats import downcast, upcast
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.cuda.arrays import restrided as restrided_on_device
from minifp.runtime.device import address, placed

MANY = 64  # tensors on one memory


class Unrounded(NamedTuple):
    """Stored numbers and the unrounded ones behind them, of the same shape.

    Both lie in C order without gaps; `numbers` may be an optimizer's masters.
    """

    stored: Any
    numbers: Any


class Storage:
    """What tensors that share memory share.

    version: how often it was written to. zeroed: whether all of it was once set to 0, so that what
    was known of a gradient in it is over. unrounded: what is behind a leaf's stored numbers, or
    None. sharing: the tensors on this memory, or None where nobody needs to know. histories: of a
    parameter, the maxima of what its products multiply (numerics/amax_history.py), or None.
    keeper: a weak reference to the first recorded operation that saved an array on this memory, of
    those that still have it, or None. codes: what is known of an operand in it that was saved in
    its codes (kept_operands.py), or None.
    """

    __slots__ = ("version", "zeroed", "unrounded", "sharing", "histories", "keeper", "codes")
    version: int
    zeroed: bool
    unrounded: Unrounded | None
    sharing: list[ref] | None
    histories: Histories | None
    keeper: ref | None
    codes: Any

    def __init__(self) -> None:
        self.version, self.zeroed, self.unrounded, self.sharing = 0, False, None, None
        self.histories, self.keeper, self.codes = None, None, None

    @property
    def is_kept(self) -> bool:
        """Whether a recorded operation keeps this memory for its backward."""
        node = None if self.keeper is None else self.keeper()
        return node is not None and node.saved is not None

    # ---- numbers ----

    def keep(self, stored: Any, numbers: Any) -> None:
        """Take `numbers`, not copied, as the unrounded ones of what is stored now."""
        self.unrounded = Unrounded(stored, numbers)

    def exact(self, array: Any) -> Any:
        """The unrounded numbers behind an array on this memory, as a view; None without any.

        Stored numbers that are not the rounding of the unrounded ones win: they were written by
        what does not know of these, perhaps through the array itself.
        """
        numbers = self._behind(array)
        if numbers is not None:
            same = downcast(numbers, array.dtype) == array
            if is_on_device(array) or not same.all():  # asking a device would wait for it
                numbers[...] = np.where(same, numbers, upcast(array, numbers.dtype))
        return numbers

    def write(self, array: Any, value: Any) -> None:
        """Write `value` into an array on this memory, and unrounded into what is behind it."""

        def put(target):
            target[...] = placed(downcast(value, target.dtype), like=target)

        self.put(array, put)

    def put(self, array: Any, put: Callable[[Any], None]) -> None:
        """Let `put` write into an array on this memory, rounding, and into what is behind it."""
        put(array)
        self.version += 1
        numbers = self._behind(array)
        if numbers is not None:
            put(numbers)

    def _behind(self, array):
        return None if self.unrounded is None else seen_by(array, *self.unrounded)

    # ---- memory ----

    def share(self, tensor: Any) -> None:
        """Know, from now on, which tensors are on this memory; `tensor` is."""
        if self.sharing is None:
            self.sharing = []
        n = len(self.sharing)
        if n >= MANY and n & (n - 1) == 0:  # now and then, else views of each step would stay
            self.sharing = [known for known in self.sharing if known() is not None]
        self.sharing.append(ref(tensor))

    def sharers(self) -> list:
        """The tensors that are known to be on this memory."""
        tensors = [known() for known in self.sharing or ()]
        return [t for t in tensors if t is not None]

    def is_part(self, array: Any) -> bool:
        """Whether a tensor on this memory is known to see more than `array` does of it."""
        return any(t.array.size and seen_by(t.array, array, array) is None for t in self.sharers())

    def move(self, before: Any, array: Any) -> None:
        """Let all tensors on the memory of `before` be on that of `array`, which has its numbers,
        shape and format. What NumPy was given of it stays where it was."""
        for tensor in self.sharers():
            moved = seen_by(tensor.array, before, array)
            if moved is not None:
                tensor.array = moved
        if self.unrounded is not None and self.unrounded.stored is before:
            self.unrounded = self.unrounded._replace(stored=array)


def seen_by(view: Any, whole: Any, other: Any) -> Any:
    """What a view of `whole` would be of `other`, an array of its shape, both in C order without
    gaps; None for an array that is no view of it, or of more than it."""
    if view is whole:
        return other
    if not (whole.flags.c_contiguous and other.flags.c_contiguous) or view.dtype != whole.dtype:
        return None
    first = address(view) - address(whole)
    reach = [(n - 1) * s for n, s in zip(view.shape, view.strides)]
    low = first + sum(r for r in reach if r < 0)
    high = first + sum(r for r in reach if r > 0)
    if not (view.size and 0 <= low and high < whole.nbytes):
        return None
    steps = tuple(s // whole.itemsize * other.itemsize for s in view.strides)
    start = first // whole.itemsize
    if is_on_device(other):
        return restrided_on_device(other.reshape(-1)[start:], view.shape, steps)
    return np.ndarray(view.shape, other.dtype, other, start * other.itemsize, steps)
