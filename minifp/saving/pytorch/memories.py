"""The storages of a file that is written: tensors that share memory share one, and no other memory
goes with them.

A storage goes from the first byte of such tensors to the last. So of a parameter in the buffer of
an optimizer its own numbers are written, and not the buffer.
"""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.storage import reach


class Place(NamedTuple):
    """Where an array is: in which storage, from which number on, how far apart along each axis.

    nbytes: of the storage. is_mixed: whether arrays of other dtypes are in it too.
    """

    storage: int
    start: int
    strides: tuple[int, ...]
    nbytes: int
    is_mixed: bool


class Memories:
    """The storages for these arrays, which the caller keeps. places: of each, by its id."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self.places: dict[int, Place] = {}
        self.storages: list[bytes] = []
        each = {id(a): a for a in arrays}
        order = {key: n for n, key in enumerate(each)}  # by addresses, files would differ each time
        groups = [[a] for a in each.values() if not _is_placed(a)]
        groups += _groups([a for a in each.values() if _is_placed(a)])
        for group in sorted(groups, key=lambda group: min(order[id(a)] for a in group)):
            first = min(reach(a)[0] for a in group)
            if all(_is_placed(a) and (reach(a)[0] - first) % a.itemsize == 0 for a in group):
                self._add(group, first, max(reach(a)[1] for a in group))
            else:
                for a in group:
                    self._add_apart(a)

    def _add(self, group, first, end):
        """One storage for arrays between these addresses."""
        self.storages.append(ctypes.string_at(first, end - first))
        is_mixed = len({a.dtype for a in group}) > 1
        for a in group:
            start, strides = (reach(a)[0] - first) // a.itemsize, _steps(a)
            place = len(self.storages) - 1, start, strides, end - first, is_mixed
            self.places[id(a)] = Place(*place)

    def _add_apart(self, a):
        """A storage for the numbers of one array, one after the other."""
        numbers = np.array(a, order="C")
        self.storages.append(numbers.tobytes())
        place = len(self.storages) - 1, 0, _steps(numbers), numbers.nbytes, False
        self.places[id(a)] = Place(*place)


def _is_placed(a):
    """Whether PyTorch has such strides: whole numbers apart, and none backwards."""
    return a.size > 0 and all(s >= 0 and s % a.itemsize == 0 for s in a.strides)


def _steps(a):
    return tuple(s // a.itemsize for s in a.strides)


def _groups(arrays: list[Any]) -> list[list[Any]]:
    """Arrays by the memory that they have in common."""
    groups: list[list[Any]] = []
    last = -1
    for a in sorted(arrays, key=lambda a: reach(a)[0]):
        first, end = reach(a)
        if first >= last:
            groups.append([])
        groups[-1].append(a)
        last = max(last, end)
    return groups
