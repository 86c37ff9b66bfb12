"""Devices: which there are, where an array is, and how it gets to another."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minifp.checks import shown
from minifp.errors import ArgumentError, DeviceError, DTypeError
from minifp.runtime.cuda import arrays, capturing
from minifp.runtime.cuda.arrays import cupy, is_on_device, to_device, to_host


def is_number(value: object) -> bool:
    """Whether it can be the number of a device."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


class device(str):
    """A device, a text: "cpu", "cuda", or "cuda:1". type: without a number. index: that number, or
    None. "cuda:0" is "cuda". That it is there is asked where it is used, as in PyTorch.

    type: as `as_device` takes it. Raises ArgumentError for another one, or an index twice.
    """

    type: str
    index: int | None  # type: ignore[assignment]

    def __new__(cls, type: Any = "cpu", index: int | None = None) -> "device":
        named = isinstance(type, str) or hasattr(type, "type")  # PyTorch's own has its text, too
        text = f"cuda:{type}" if is_number(type) else str(type) if named else ""
        kind, colon, number = text.partition(":")
        known = kind == "cuda" or (kind == "cpu" and number in ("", "0"))
        known = known and (index is None or is_number(index))
        if not known or (colon and (index is not None or not number.isdigit())):
            asked = f"device({shown(type)}, {shown(index)})"
            raise ArgumentError(f"{asked}: expected 'cpu', 'cuda' or 'cuda:0'")
        at = int(number) if number else index
        new = super().__new__(cls, f"{kind}:{at}" if at else kind)
        new.type, new.index = kind, at
        return new

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) or (isinstance(other, str) and f"{self}:0" == other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__

    def __repr__(self) -> str:
        place = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{place})"


DEVICES = {"cpu": device("cpu"), "cuda": device("cuda", 0)}  # of tensors, by their names
ON_CUDA = 2, 13  # DLPack's numbers of devices: memory of a GPU, and such that the CPU reads too
_default: str | None = None


def set_default_device(device: str | None) -> None:
    """Where tensors and modules are made from now on; None is what MINIFP_DEVICE says.

    Raises DeviceError for a device that is not there.
    """
    global _default
    _default = None if device is None else as_device(device)


@contextmanager
def default_device(device: str | None) -> Iterator[None]:
    """`set_default_device` in a `with` block; None changes nothing."""
    global _default
    before = _default
    if device is not None:
        set_default_device(device)
    try:
        yield
    finally:
        _default = before


def as_device(device: Any) -> str:
    """The device's name, "cpu" or "cuda". Raises DeviceError for one that is not there.

    None is the default: what `set_default_device` or MINIFP_DEVICE says, or else "cpu". An integer
    is the number of a GPU, as in PyTorch; CUDA_VISIBLE_DEVICES chooses which of several is 0.
    """
    if device is None:
        device = _default or os.environ.get("MINIFP_DEVICE") or "cpu"
    if isinstance(device, int) and not isinstance(device, bool):
        device = f"cuda:{device}"
    if isinstance(device, str) and device == "cpu":
        return device
    kind, _, number = str(device).partition(":")
    if kind == "cuda" and number in ("", "0"):
        cupy()
        return kind
    if kind == "cuda" and number.isdigit():
        raise DeviceError(
            f"device {device!r}: minifp uses one GPU, 'cuda': choose which with the environment "
            f"variable CUDA_VISIBLE_DEVICES={number}"
        )
    raise ArgumentError(f"device {device!r}: expected 'cpu' or 'cuda'")


def is_array_like(a: Any) -> bool:
    """Whether `a` is an array, a number of NumPy's, or a tensor: what NumPy's functions go to."""
    return hasattr(type(a), "__array_ufunc__")  # a dtype and a class have `ndim` and `shape`, too


def is_array(a: Any) -> bool:
    """Whether `a` is an array, of NumPy's or on a GPU."""
    return isinstance(a, np.ndarray) or is_on_device(a)


def address(array: Any) -> int:
    """Where an array begins."""
    return array.data.ptr if is_on_device(array) else array.ctypes.data


def device_of(a: Any) -> str:
    """Where an array is: "cpu" or "cuda"."""
    return "cpu" if type(a) is np.ndarray or not is_on_device(a) else "cuda"


def moved(a: Any, device: str) -> Any:
    """The array on a device: itself if it is there, else a copy, which this waits for."""
    if device_of(a) == device:
        return a
    return to_device(a) if device == "cuda" else to_host(a)


def placed(value: Any, like: Any) -> Any:
    """`value`, an array or what NumPy makes one of, as an array where `like` is."""
    if is_on_device(like):
        return value if is_on_device(value) else to_device(np.asarray(value))
    return to_host(value) if is_on_device(value) else np.asarray(value)


def as_array(value: Any, dtype: Any = None) -> Any:
    """`value` as an array where it is, of a dtype of NumPy's if one is given; what is no array is
    made one of NumPy's."""
    if not is_on_device(value):
        return np.asarray(value, dtype)
    return value if dtype is None else value.astype(dtype, copy=False)


def array_of_others(given: Any) -> Any:
    """An array of what another library's tensor holds, without its gradient, where it is; or of
    what NumPy makes one of. Raises what that library or NumPy does."""
    given = given.detach() if hasattr(given, "detach") else given
    if hasattr(given, "__cuda_array_interface__"):
        return cupy().asarray(given)
    try:
        return np.asarray(given)
    except TypeError:  # such as PyTorch's of bfloat16, whose numbers float32 holds
        if not hasattr(given, "float"):
            raise
        return np.asarray(given.float())


def shared_with(given: Any) -> Any:
    """An array on the memory of what has `__dlpack__`. Raises what its library or NumPy does."""
    is_there = int(given.__dlpack_device__()[0]) in ON_CUDA
    return (cupy() if is_there else np).from_dlpack(given)


def checked_array(array: Any) -> Any:
    """What a Tensor holds: an array, or NumPy's scalar as one. Raises DTypeError for another."""
    if isinstance(array, np.generic):  # which no kernel would take for stored
        return np.asarray(array)
    if not is_array(array):
        raise DTypeError(
            f"Tensor of a {type(array).__name__}: expected an array; write fp.tensor(x)"
        )
    return array


def empty(shape: tuple[int, ...], dtype: Any, like: Any) -> Any:
    """An array where `like` is, C-contiguous, in which nothing is set yet."""
    return arrays.empty(shape, dtype) if is_on_device(like) else np.empty(shape, dtype)


def full(shape: Any, value: float, dtype: Any, like: Any) -> Any:
    """An array of one number where `like` is."""
    return full_on("cpu" if type(like) is np.ndarray else device_of(like), shape, value, dtype)


def full_on(device: str, shape: Any, value: Any, dtype: Any) -> Any:
    """An array of one number on a device; of a format of codes, of one that `as_stored` gives."""
    if device == "cpu":
        if np.dtype(dtype).kind == "V" and not isinstance(value, np.void) and value != 0:
            raise TypeError(f"{value!r} is no code: fill with minifp.numerics.formats.as_stored's")
        return np.full(shape, value, dtype)
    capturing.launched("fill", (value,))
    made = arrays.empty(tuple(shape), dtype)
    made.fill(value)
    return made


def is_writeable(a: Any) -> bool:
    """Whether each element of an array has a place of its own, that may be written to."""
    if type(a) is np.ndarray:
        return a.flags.writeable
    if is_on_device(a):  # CuPy lets one write into what np.broadcast_to has stretched
        return all(s or n == 1 for n, s in zip(a.shape, a.strides)) or not a.size
    return a.flags.writeable


def wait_for(device: str) -> None:
    """Wait until a device has done what it was asked for; a CPU always has."""
    if device == "cuda":
        cupy().cuda.get_current_stream().synchronize()


def name_of_gpu() -> str:
    """The GPU's name, as its driver has it."""
    return cupy().cuda.runtime.getDeviceProperties(0)["name"].decode()
