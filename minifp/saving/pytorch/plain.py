"""A pickle of plain values, and of arrays of NumPy's, read without running anything of it."""

from typing import Any

import numpy as np

from minifp.saving.pytorch import numpy_names
from minifp.saving.pytorch.opcodes import unpickled


class Plain:
    """What such a pickle means by names: NumPy's arrays, and nothing else (opcodes.Names)."""

    def named(self, name: str) -> Any:
        """What a name stands for. Raises ValueError for all but NumPy's."""
        if name not in numpy_names.NAMES:
            raise ValueError(f"it names {name.replace(' ', '.')[:100]!r}, which can run code")
        return numpy_names.NAMES[name]

    def stored(self, key: Any) -> Any:
        """Raises ValueError."""
        raise ValueError("it keeps something outside of itself")

    def new(self, kind: Any, arguments: tuple) -> Any:
        """Raises ValueError."""
        raise ValueError("it holds objects of a class")

    def is_object(self, value: Any) -> bool:
        """There is none."""
        return False

    def build(self, target: Any, state: Any) -> None:
        """Set what is in an array. Raises ValueError for anything else."""
        if type(target) is np.ndarray:
            numpy_names.fill(target, state)
        elif isinstance(target, np.dtype):
            numpy_names.check_order(state)
        else:
            raise ValueError(f"it sets what is in a {type(target).__name__}")


def plain_values(pickle: bytes) -> Any:
    """The value that a pickle holds. Texts of Python 2 are read as latin-1. Raises ValueError, and
    what Python's containers raise, for one that is damaged or holds anything else."""
    return unpickled(pickle, Plain())
