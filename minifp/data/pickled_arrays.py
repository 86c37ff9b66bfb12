"""What the pickle of a NumPy array asks for, imitated: nothing in a file's name is looked up.

An array is pickled as a call of _reconstruct, or of _frombuffer (protocol 5), whose dtype is a call
too; bytes, where Python 3 writes protocol 2, as a call of _codecs.encode. Source: NumPy's
array_reduce, array_setstate and arraydescr_reduce.
"""

import math
from collections.abc import Callable
from enum import Enum
from typing import Any

import numpy as np

from minifp.errors import DataError

MOST_DIMENSIONS = 32


class Known(Enum):
    """The names that may be asked for. They stay names: nothing of NumPy is handed out."""

    ARRAY = "numpy.ndarray"
    DTYPE = "numpy.dtype"
    RECONSTRUCT = "numpy.core.multiarray._reconstruct"
    FROM_BUFFER = "numpy.core.numeric._frombuffer"
    ENCODE = "_codecs.encode"
    BYTES = "__builtin__.bytes"  # of none


class Format:
    """A number format while it is being described; only those of CODES exist."""

    CODES = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8".split()

    def __init__(self, code):
        self.code, self.order = code, "="

    def dtype(self):
        """The NumPy dtype that was described."""
        return np.dtype(self.order + self.code)


def refuse(name, what):
    """Raise the DataError that says what the pickle asked for."""
    raise DataError(
        f"{name} is refused: its pickle asks for {what}, which can run code or is no part of a "
        "data set; expected NumPy arrays of numbers, dicts, lists, tuples, bytes, text and numbers."
    )


class Arrays:
    """Makes the arrays of one pickle, of `size` bytes; `name` is how messages call it."""

    def __init__(self, name, size):
        self.name = name
        # What could grow are copies, made again and again, of one text in the file.
        self.allowance = 2 * size
        self.calls: dict[Known, Callable[..., Any]] = {
            Known.RECONSTRUCT: self.new_array,
            Known.DTYPE: self.new_format,
            Known.FROM_BUFFER: self.from_buffer,
            Known.ENCODE: self.encode,
            Known.BYTES: self.no_bytes,
        }

    def look_up(self, asked):
        """Return the known name that is asked for as "module name"; NumPy 2 has moved some."""
        asked = asked.replace(" ", ".")
        try:
            return Known(asked.replace("numpy._core.", "numpy.core.", 1))
        except ValueError:
            refuse(self.name, repr(asked[:200]))

    def call(self, function, arguments):
        """Return what a function gives, which must be a known one."""
        if not isinstance(function, Known) or not isinstance(arguments, tuple):
            refuse(self.name, "a call of what is no function")
        if function not in self.calls:
            refuse(self.name, f"a call of {function.value}")
        return self.calls[function](*arguments)

    def build(self, target, state):
        """Give an array or a format, and nothing else, its state."""
        if isinstance(target, np.ndarray):
            _, shape, form, fortran, content = state
            self.fill(target, shape, form, bool(fortran), content)
        elif isinstance(target, Format):
            _, order, *rest = state
            if text(order) not in ("<", ">", "|", "=") or any(r is not None for r in rest[:3]):
                refuse(self.name, "an array of records")
            target.order = text(order)
        else:
            refuse(self.name, "the state of an object")

    def new_array(self, kind, shape, code):
        """_reconstruct(ndarray, (0,), b"b")"""
        if kind is not Known.ARRAY or shape != (0,):
            refuse(self.name, "an array of another class")
        return np.empty(0, np.uint8)

    def new_format(self, code, align=0, copy=1):
        """dtype("u1", 0, 1)"""
        code = text(code)
        if code not in Format.CODES:
            refuse(self.name, f"the number format {code[:50]!r}")
        return Format(code)

    def from_buffer(self, content, form, shape, order):
        """_frombuffer(content, dtype, shape, "C")"""
        array = np.empty(0, np.uint8)
        self.fill(array, shape, form, order == "F", content)
        return array

    def encode(self, characters, codec):
        """encode("text", "latin1")"""
        if text(codec) != "latin1" or not isinstance(characters, str):
            refuse(self.name, "bytes in another codec than latin1")
        self.spend(len(characters))
        return characters.encode("latin1")

    def no_bytes(self):
        """bytes()"""
        return b""

    def fill(self, array, shape, form, fortran, content):
        """Make an array what it is to be, once its contents are known to fit its shape."""
        numbers = isinstance(form, Format) and isinstance(content, bytes)
        sizes = isinstance(shape, tuple) and len(shape) <= MOST_DIMENSIONS
        if not numbers or not sizes or not all(type(n) is int and n >= 0 for n in shape):
            refuse(self.name, "an array of what are no numbers, or of no shape")
        dtype = form.dtype()
        size, expected = len(content), math.prod(shape) * dtype.itemsize
        if size != expected:
            raise DataError(
                f"{self.name}: an array of shape {shape} in {dtype} has {size} bytes, expected "
                f"{expected}. It is damaged: get it again."
            )
        self.spend(size)
        array.__setstate__((1, shape, dtype, fortran, content))

    def spend(self, size):
        """Count bytes that are made, and refuse to make many more than there are in the file."""
        self.allowance -= size
        if self.allowance < 0:
            refuse(self.name, "more than twice its size")


def text(value) -> str:
    """Python 2's text or Python 3's, and nothing else: the repr of what is nested has no end."""
    if not isinstance(value, (bytes, str)):
        raise TypeError("expected text")
    return value if isinstance(value, str) else value.decode("latin1")
