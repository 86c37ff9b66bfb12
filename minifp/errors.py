"""What minifp raises. Each message says what was wrong, what was expected, and what to do.

Every error is also the built-in error a Python programmer would expect, so `except ValueError`
keeps working.
"""

from collections.abc import Callable
from functools import partial
from typing import Any


class MinifpError(Exception):
    """The base of all errors that minifp raises on purpose.

    module: the path of the innermost module in which it arose; None outside of any.
    """

    module: str | None = None


class ArgumentError(MinifpError, ValueError):
    """An argument has a value that is not allowed."""


class ShapeError(MinifpError, ValueError):
    """Shapes do not fit together."""


class DTypeError(MinifpError, TypeError):
    """A value has the wrong kind of numbers, or is no array at all."""


class UnknownNameError(MinifpError, AttributeError):
    """A name that minifp does not have. text(): the message, made when it is read."""

    def __init__(self, text: Callable[[], str]) -> None:
        super().__init__()
        self.text = text

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> Any:  # which may go to another process
        return type(self), (partial(str, str(self)),)


class UnknownArgumentError(ArgumentError, TypeError):
    """An argument that a function does not have, or one too many."""


class PrecisionError(MinifpError, ValueError):
    """A number format or precision that does not exist, or switches that contradict each other."""


class DeviceError(MinifpError, RuntimeError):
    """A device that this machine does not have."""


class OutOfMemory(DeviceError, MemoryError):
    """A GPU's memory is full."""


class CaptureError(DeviceError):
    """A step that no graph can repeat: it reads a result, or changes from time to time."""


class CompileError(DeviceError):
    """A text of CUDA C++ that the compiler refuses."""


class DataError(MinifpError, ValueError):
    """A data set that is missing, damaged, empty or holds values that cannot be used."""


class CheckpointError(MinifpError, ValueError):
    """A checkpoint that is damaged, foreign, of a newer version, or of another model."""


class FileError(MinifpError, OSError):
    """A file that cannot be written: a full disk, a place that is protected, a damaged drive."""


class TapeError(MinifpError, RuntimeError):
    """The tape cannot do what was asked: used up, changed in place, or nothing recorded."""


class MisuseWarning(UserWarning):
    """Something was done that mixed precision does not forgive; the text has the way out."""


class PrecisionWarning(UserWarning):
    """Numbers were lost when they were rounded to a narrower format."""


class TrainingError(MinifpError, RuntimeError):
    """Training cannot go on."""
