"""Arrays and numbers of NumPy's in a pickle: of its own formats, and none of it called by name."""

import math
import re
from typing import Any, NamedTuple

import numpy as np

from minifp.saving.pytorch.opcodes import Call

MODULES = "numpy.core.multiarray", "numpy._core.multiarray"  # before NumPy 2 and since
KIND = re.compile("b1|[iu][1248]|f[248]")


class ArrayClass(NamedTuple):
    """NumPy's class of arrays, as a pickle names it."""


def dtype(kind: Any, *_: Any) -> np.dtype:
    """The dtype of a text such as "f4". Raises ValueError for other than plain numbers."""
    if not (type(kind) is str and KIND.fullmatch(kind)):
        said = repr(kind[:20]) if type(kind) is str else f"a {type(kind).__name__}"
        raise ValueError(f"an array of NumPy's of {said}: expected numbers")
    return np.dtype(kind)


def check_order(state: Any) -> None:
    """Raise ValueError for a dtype in another byte order than ours."""
    order = state[1] if type(state) is tuple else None
    if type(order) is not str or order not in ("<", "|", "="):
        raise ValueError("an array of NumPy's in another byte order: expected little-endian")


def empty(kind: Any, *_: Any) -> np.ndarray:
    """An array that `fill` gives its numbers."""
    if type(kind) is not ArrayClass:
        raise ValueError("an array of NumPy's of another class")
    return np.empty(0)


def fill(array: np.ndarray, state: Any) -> None:
    """Give an array the numbers of a pickle. Raises ValueError where they do not fit."""
    _, shape, dtype, is_fortran, data = state if type(state) is tuple else ()
    data = data.encode("latin1") if type(data) is str else data  # as Python 2 has bytes
    sizes = type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape)
    is_plain = isinstance(dtype, np.dtype) and type(data) is bytes and type(is_fortran) is bool
    if not sizes or not is_plain:
        raise ValueError("an array of NumPy's without a shape, a dtype, or bytes")
    if math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"an array of NumPy's of shape {shape!r:.60} that its bytes do not fill")
    if dtype.kind == "b":
        check_booleans(np.frombuffer(data, np.uint8))
    array.__setstate__((1, shape, dtype, is_fortran, data))


def check_booleans(memory: np.ndarray) -> None:
    """Raise ValueError for bytes that are not 0 or 1, with which NumPy counts wrongly."""
    if memory.size and memory.max() > 1:
        raise ValueError("booleans that are neither 0 nor 1")


def scalar(dtype: Any, data: Any) -> Any:
    """One number of NumPy's. Raises ValueError where its bytes are not one."""
    if not isinstance(dtype, np.dtype) or type(data) is not bytes or len(data) != dtype.itemsize:
        raise ValueError("a number of NumPy's that its bytes do not tell")
    return np.frombuffer(data, dtype)[0]


NAMES: dict[str, Any] = {"numpy dtype": Call(dtype), "numpy ndarray": ArrayClass()}
for _module in MODULES:
    NAMES |= {f"{_module} _reconstruct": Call(empty), f"{_module} scalar": Call(scalar)}
