"""Storage: what tensors that share memory share.

How often it was written to, for the tape and for optimizers; of a leaf, and where there are views,
which tensors look at the same memory, for who moves it or is bound to other numbers; and, where
storing rounds, the unrounded numbers behind it. These may be the memory of tensors too, as of t
after `p.data = t` for a float32 t and a float16 p: what is written into one side is then written
into the other.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from minifp.numerics.amax_history import Histories
from minifp.numerics.formats import downcast, upcast
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.cuda.arrays import restrided as restrided_on_device
from minifp.runtime.device import address, is_array, is_writeable, placed

MANY = 64  # tensors on one memory


class Detached(ref):
    """In `Storage.sharing`: a tensor that `detach` made, which is no view where gradients go."""


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
    keeper: a weak reference to the first operation, of those that still have it, which was recorded
    under saved=operands and saved an array on this memory, or None. codes: what is known of an
    operand in it that was saved in its codes (kept_operands.py), or None. in_buffer: whether an
    optimizer has moved it to its own.
    """

    version: int = 0
    zeroed: bool = False
    unrounded: Unrounded | None = None
    sharing: list[ref] | None = None
    histories: Histories | None = None
    keeper: ref | None = None
    codes: Any = None
    in_buffer: bool = False

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

    def is_rounded(self, array: Any) -> bool:
        """Whether unrounded numbers are behind an array on this memory."""
        return self.unrounded is not None and self._behind(array) is not None

    def write(self, array: Any, value: Any) -> None:
        """Write `value` into an array on this memory, and unrounded into what is behind it."""

        def put(target):
            target[...] = placed(downcast(value, target.dtype), like=target)

        self.put(array, put)

    def put(self, array: Any, put: Callable[[Any], None]) -> None:
        """Let `put` write into an array on this memory, rounding, and into what is behind it."""
        put(array)
        self.version += 1
        if self.unrounded is not None:
            stored, numbers = self.unrounded
            behind = seen_by(array, stored, numbers)
            other = seen_by(array, numbers, stored) if behind is None else behind
            if other is not None:
                put(other)

    def _behind(self, array):
        return None if self.unrounded is None else seen_by(array, *self.unrounded)

    def takes(self, array: Any) -> bool:
        """Whether an array on this memory may be written to."""
        return is_writeable(array)

    def refresh(self) -> None:
        """Called before a change that reads what is there."""

    # ---- memory ----

    def share(self, tensor: Any) -> None:
        """Know, from now on, which tensors are on this memory; `tensor` is."""
        if self.sharing is None:
            self.sharing = []
        n = len(self.sharing)
        if n >= MANY and n & (n - 1) == 0:  # now and then, else views of each step would stay
            self.sharing = [known for known in self.sharing if known() is not None]
        self.sharing.append(ref(tensor))

    def leave(self, tensor: Any) -> None:
        """Know that a tensor is on this memory no more."""
        self.sharing = [known for known in self.sharing or [] if known() is not tensor]

    def sharers(self) -> list:
        """The tensors that are known to be on this memory."""
        tensors = {id(t): t for known in self.sharing or () if (t := known()) is not None}
        return list(tensors.values())

    def larger(self, array: Any) -> list:
        """The tensors known to be on this memory that see more than `array` of what it sees."""
        return [
            t
            for t in self.sharers()
            if seen_by(t.array, array, array) is None and overlap(t.array, array)
        ]

    def is_part(self, leaf: Any) -> bool:
        """Whether a leaf is a part of one of these that has a gradient, is a parameter, or was made
        of the leaf. Another, as v after `p.data = v[:9]`, keeps its numbers."""
        order = {id(t): i for i, t in enumerate(self.sharers())}
        own = order.get(id(leaf), -1)
        return any(
            t.requires_grad or t.precision is not None or order[id(t)] > own
            for t in self.larger(leaf.array)
        )

    def has_strangers(self, array: Any) -> bool:
        """Whether somebody else holds the larger array of which `array` is a part, as v.array after
        `p.data = v[:9]`: a tensor that is not known to be here. CPython's counts tell."""
        whole = array.base
        if self.in_buffer or not is_array(whole):
            return False
        known = {id(a): a for a in (array, *(t.array for t in self.sharers()))}
        known |= {id(a): a for a in self.unrounded or ()}
        own = sum(a is whole or a.base is whole for a in known.values())
        return references(whole) > FEWEST + own

    def move(self, before: Any, array: Any) -> None:
        """Let all tensors on the memory of `before` be on that of `array`, which has its numbers,
        shape and format. What NumPy was given of it stays where it was; tensors on other parts of
        this memory do too, and those that were moved have a Storage of their own then."""
        behind, home, moved, stays = self._behind(before), self, [], False
        behind = None if behind is None else contiguous(behind)
        for t in self.sharers():
            seen = seen_by(t.array, before, array)
            if seen is None and behind is not None and seen_by(t.array, behind, behind) is not None:
                seen = t.array
            moved.append((t, seen))
            stays |= seen is None
        if stays:
            home = self._like_this()
        if stays or behind is not None:
            home.unrounded = None if behind is None else Unrounded(array, behind)
        for t, seen in moved:
            if seen is not None:
                if stays:
                    self.leave(t)
                    home.share(t)
                t.array, t.storage = seen, home

    def move_behind(self, numbers: Any) -> None:
        """The same of what is behind: `numbers` has them."""
        if self.unrounded is not None and self.unrounded.numbers is not numbers:
            stored, before = self.unrounded
            self.unrounded = Unrounded(stored, numbers)
            for tensor in self.sharers():
                moved = seen_by(tensor.array, before, numbers)
                tensor.array = tensor.array if moved is None else moved

    def copied_for(self, tensor: Any) -> None:
        """Give a tensor memory of its own, with what is behind it."""
        exact = self.exact(tensor.array)
        self.leave(tensor)
        tensor.array, tensor.storage = contiguous(tensor.array.copy()), self._like_this()
        tensor.storage.share(tensor)
        if exact is not None:
            tensor.storage.keep(tensor.array, contiguous(exact.copy()))

    def _like_this(self):
        new = Storage()
        new.version = self.version
        new.take_histories(self)
        return new

    def take_histories(self, other: "Storage") -> None:
        """Know what is known of the operands of a parameter that was on another memory."""
        if self.histories is None and other.histories is not None:
            self.histories = Histories()
            self.histories.load(other.histories.state(other.version), self.version)


def references(x: Any) -> int:
    """How many there are to an object, and some more that asking takes."""
    return sys.getrefcount(x)


def _fewest():
    alone = np.empty(0)
    return references(alone)


FEWEST = _fewest()


def contiguous(array: Any) -> Any:
    """An array in C order without gaps: itself, or a copy."""
    return array if array.flags.c_contiguous else array.copy(order="C")


def reach(array: Any) -> tuple[int, int]:
    """From which byte to which, without the last, an array lies in memory."""
    ends = [(n - 1) * s for n, s in zip(array.shape, array.strides)]
    first = address(array)
    last = first + sum(n for n in ends if n > 0) + array.itemsize
    return first + sum(n for n in ends if n < 0), last


def overlap(a: Any, b: Any) -> bool:
    """Whether two arrays have bytes in common, or lie between each other's."""
    if not (a.size and b.size):
        return False
    (first, last), (start, end) = reach(a), reach(b)
    return first < end and start < last


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
    steps = tuple(s // whole.itemsize for s in view.strides)
    return strided(other, first // whole.itemsize, view.shape, steps)


def strided(array: Any, start: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> Any:
    """A view of an array in C order without gaps: from element `start` on, in a shape, neighbours
    along each axis so many elements apart."""
    strides = tuple(s * array.itemsize for s in steps)
    if is_on_device(array):
        return restrided_on_device(array.reshape(-1)[start:], shape, strides)
    return np.ndarray(shape, array.dtype, array, start * array.itemsize, strides)
