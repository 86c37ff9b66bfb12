"""Values as bytes that can be read without trusting who wrote them: JSON, and arrays as .npy.

A message is 8 bytes with the length of the rest, 4 with that of its JSON, the JSON, and the arrays
one after the other. Nothing in it is code; what is larger, deeper or of another kind is refused.
"""

import json
import struct
from collections.abc import Callable
from io import BytesIO
from numbers import Integral, Real
from typing import Any, BinaryIO

import numpy as np

from minifp.errors import DataError
from minifp.runtime.untrusted import WIDEST, array_of, parsed

MOST = 2**24  # bytes of a message
MOST_TEXT = 2**20  # of them of its JSON, which takes many times as much once it is read
SENDER = "what a student's process sent"
BOXES = {"list": list, "tuple": tuple, "set": set}


def packed(value: Any, functions: list | None = None) -> bytes:
    """A message with a value: None, numbers, texts, arrays, and lists, tuples, sets and dicts of
    these. Of a NumPy Generator a seed is sent, drawn from it.

    functions: to which functions in the value are added; their places are sent. Without it, they
    are refused, as all else is, by a TypeError that names the kind. Raises ValueError where the
    message is too long.
    """
    arrays: list[bytes] = []
    text = json.dumps([coded(value, arrays, functions), [len(a) for a in arrays]]).encode("ascii")
    content = b"".join([struct.pack("<I", len(text)), text, *arrays])
    if len(content) > MOST or len(text) > MOST_TEXT:
        raise ValueError(f"{len(content):,} bytes: expected at most {MOST:,} of arrays")
    return struct.pack("<Q", len(content)) + content


def coded(value: Any, arrays: list[bytes], functions: list | None) -> Any:
    """A value as JSON has it; arrays are put aside."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.random.Generator):
        return ["generator", int(value.integers(2**62))]
    if isinstance(value, dict):
        return ["dict", *([coded(x, arrays, functions) for x in pair] for pair in value.items())]
    for name, kinds in (("list", list), ("tuple", tuple), ("set", (set, frozenset))):
        if isinstance(value, kinds):
            return [name, *(coded(x, arrays, functions) for x in value)]
    if isinstance(value, Integral) and not isinstance(value, np.generic):
        if abs(int(value)) >= WIDEST:
            raise TypeError("an integer of more than 64 bits")
        return int(value)
    if isinstance(value, Real) and not isinstance(value, np.generic):
        return float(value)
    if hasattr(value, "__array__") or isinstance(value, (np.generic, complex)):
        return coded_array(value, arrays, functions)
    if callable(value) and functions is not None:
        functions.append(value)
        return ["function", len(functions) - 1]
    if hasattr(value, "__iter__"):
        return ["list", *(coded(x, arrays, functions) for x in value)]
    raise TypeError(f"a {type(value).__name__}")


def coded_array(value: Any, arrays: list[bytes], functions: list | None) -> Any:
    """The place of an array, or of a number of NumPy's; texts become a list."""
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return coded(array.tolist(), arrays, functions)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"an array of {array.dtype}")
    file = BytesIO()
    np.lib.format.write_array(file, array, version=(1, 0), allow_pickle=False)
    arrays.append(file.getvalue())
    return ["number" if isinstance(value, (np.generic, complex)) else "array", len(arrays) - 1]


def unpacked(content: bytes, function: Callable[[int], Any] | None = None) -> Any:
    """The value of a message without its first 8 bytes. Raises DataError for what is none.

    function: given its place, what stands for a function; without it, a message has none.
    """
    try:
        (length,) = struct.unpack_from("<I", content)
        if length > MOST_TEXT:
            raise ValueError(f"{length:,} bytes of JSON: expected at most {MOST_TEXT:,}")
        value, sizes = parsed(content[4 : 4 + length], SENDER, finite=False)
        ends = np.cumsum([4 + length, *sizes]).tolist()
        if ends[-1] != len(content):
            raise ValueError("it is not as long as it says")
        pieces = [content[a:b] for a, b in zip(ends, ends[1:])]
        return value_of(value, [array_of(piece, SENDER) for piece in pieces], function)
    except (ArithmeticError, IndexError, struct.error, TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{SENDER} is no value: {error}") from error


def value_of(content: Any, arrays: list[np.ndarray], function: Callable[[int], Any] | None) -> Any:
    """The value that JSON and arrays say."""
    if not isinstance(content, list):
        if isinstance(content, dict):
            raise ValueError("an object of JSON")
        return content
    kind, *rest = content
    if kind in BOXES:
        return BOXES[kind](value_of(x, arrays, function) for x in rest)
    if kind == "dict":
        return dict([value_of(x, arrays, function) for x in pair] for pair in rest)
    [place] = rest
    if kind in ("array", "number"):
        return arrays[place] if kind == "array" else arrays[place][()]
    if kind == "generator":
        return np.random.default_rng(place)
    if kind == "function" and function is not None:
        return function(place)
    raise ValueError(f"a {str(kind)[:20]!r}")


def read(file: BinaryIO) -> bytes:
    """The next message without its first 8 bytes. Raises EOFError at the end, DataError for one
    that is too long."""
    (length,) = struct.unpack("<Q", exactly(file, 8))
    if length > MOST:
        raise DataError(f"{SENDER} has {length:,} bytes: expected at most {MOST:,}")
    return exactly(file, length)


def exactly(file: BinaryIO, count: int) -> bytes:
    """So many bytes."""
    content = file.read(count)
    if len(content) < count:
        raise EOFError
    return content
