"""Making tensors of data. Floating data takes the active precision's storage format unless told."""

import warnings
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError, PrecisionError, PrecisionWarning
from minifp.numerics.format_codes import values_of
from minifp.numerics.formats import (
    as_dtype,
    as_native,
    downcast,
    format_of,
    is_float,
)
from minifp.numerics.policy import get_precision
from minifp.ops.public import public
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import as_device, moved
from minifp.typing import DType


class HasArray(Protocol):
    """What NumPy can make an array of: arrays, numbers of NumPy's, other libraries' tensors."""

    def __array__(self, *args: Any, **settings: Any) -> Any: ...


Data: TypeAlias = (
    HasArray | float | Sequence[Any]
)  # numbers as nested lists, an array, or one number


def storage_dtype(dtype: DType | None = None) -> np.dtype:
    """`dtype`, or the format in which the active precision stores activations."""
    return as_dtype(get_precision().activations) if dtype is None else as_dtype(dtype)


def as_array(data: Data) -> np.ndarray:
    """Anything array-like as a NumPy array of numbers. Raises DTypeError where it is none."""
    given: Any = data.array if isinstance(data, Tensor) else data
    try:
        array = given if is_on_device(given) else np.asarray(given)
        if array.dtype == int and not isinstance(given, (np.ndarray, np.generic)):
            array = np.asarray(array, np.int64)  # in a browser NumPy's own has 32 bits
    except ValueError as error:
        raise DTypeError(f"data is no array: {error}") from None
    if array.dtype.kind == "V" and not is_float(array.dtype):
        array = _of_ml_dtypes(array)
    if array.dtype.kind not in "fiubV":
        raise DTypeError(
            f"data of type {array.dtype}: expected floating numbers, integers or booleans"
        )
    return array


def _of_ml_dtypes(array):
    """An array of ml_dtypes' as the same codes in minifp's dtype. Raises DTypeError for another."""
    try:
        return array.view(as_dtype(array.dtype))
    except PrecisionError:
        raise DTypeError(
            f"data of type {array.dtype}: expected floating numbers, integers or booleans"
        ) from None


@public("fp")
def tensor(
    data: Data, dtype: DType | None = None, device: str | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with a copy of `data` (nested lists, an array, a number, a Tensor).

    dtype: a format, as `fp.float16` or by name. Without it floating data is stored in the active
    precision's format and integers and booleans keep theirs. Values that overflow when they are
    rounded give a PrecisionWarning that says how many.
    Raises DTypeError for data that is no array of numbers, DeviceError for a missing device.
    """
    place, array = as_device(device), as_array(data)
    stored = array
    if dtype is not None or is_float(array.dtype):
        stored = _rounded(array, storage_dtype(dtype))
    there = moved(stored, place)
    return Tensor(there.copy() if there is array else there, requires_grad)


@public("fp")
def as_tensor(data: Data, dtype: DType | None = None, device: str | None = None) -> Tensor:
    """`data` as a tensor, without copying where it is one, or an array, of that dtype already.

    dtype: as in `tensor`; a Tensor keeps its own, and remembers how it was made.
    """
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    place, array = as_device(device), as_array(data)
    wanted = storage_dtype(dtype) if dtype is not None or is_float(array.dtype) else array.dtype
    return Tensor(moved(array if array.dtype == wanted else _rounded(array, wanted), place))


@public("fp")
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on the memory of a NumPy array, in its dtype: writing into one writes into both.

    Raises DTypeError for what is no array, or one of a dtype that minifp does not have.
    """
    if not isinstance(ndarray, np.ndarray):
        raise DTypeError(f"from_numpy: a {type(ndarray).__name__}: expected a NumPy array")
    array = as_array(ndarray)
    if array.dtype != as_dtype(array.dtype):
        raise DTypeError(f"from_numpy: an array of {array.dtype.str}: expected native byte order")
    return Tensor(array)


def _rounded(array, dtype):
    """The array in another dtype, or itself if it is in it. Warns of what overflows."""
    if not is_float(dtype):
        if dtype.kind in "iu" and is_float(array.dtype) and not np.isfinite(as_native(array)).all():
            raise DTypeError(
                f"tensor: data with NaN or Inf cannot be {dtype}: expected finite numbers; replace "
                "them first, or choose a floating dtype"
            )
        return downcast(array, dtype)
    stored = downcast(array, dtype)
    if not is_on_device(array):  # where looking for them would wait for the device
        warn_of_overflow(array, stored)
    return stored


def warn_of_overflow(array, stored, what=""):
    """Give a PrecisionWarning if numbers were too large to be stored; `what` was stored."""
    if not is_float(array.dtype):
        return
    format = format_of(stored.dtype)
    if format.holds(format_of(array.dtype)):
        return
    given, kept = as_native(array), as_native(stored)
    if format.beyond == format.largest_code:  # which takes the place of what is too large
        lost = np.count_nonzero(np.abs(given) > format.max + format.ulp(format.max) / 2)
    else:
        lost = np.count_nonzero(~np.isfinite(kept)) - np.count_nonzero(~np.isfinite(given))
    if lost:
        now = values_of(np.array(format.beyond), format)
        instead = "Inf" if np.isinf(now) else "NaN" if np.isnan(now) else f"{now:g}"
        warnings.warn(
            f"{what}{': ' if what else ''}{lost} of {array.size} values overflow {format.name} "
            f"(largest {format.max:g}): now {instead}",
            PrecisionWarning,
            stacklevel=4,
        )
