"""Making tensors of data. Floating data takes the active precision's storage format unless told."""

import warnings
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from minifp.autograd.constructed import as_sizes, constructed
from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError, MinifpError, PrecisionWarning
from minifp.numerics.format_codes import values_of
from minifp.numerics.formats import as_dtype, as_native, downcast, format_of, is_float, of_numbers
from minifp.numerics.policy import get_precision
from minifp.ops.plain_data import check_plain
from minifp.ops.public import public
from minifp.ops.whole_numbers import warn_of_whole
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import array_of_others, as_device, moved, shared_with
from minifp.typing import Device, DType


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
    if type(data) is not np.ndarray and not isinstance(data, Tensor):
        check_plain(data)
    given: Any = data.array if isinstance(data, Tensor) else data
    if is_on_device(given) or isinstance(given, np.ndarray):
        return of_numbers(given)
    try:
        array = array_of_others(given)
        if array.dtype == int and not isinstance(given, np.generic):
            array = np.asarray(array, np.int64)  # in a browser NumPy's own has 32 bits
    except (TypeError, ValueError, RuntimeError) as error:  # another library's, too
        raise DTypeError(f"data is not an array: {error}") from None
    return of_numbers(array)


@public("fp")
def tensor(
    data: Data, dtype: DType | None = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with a copy of `data` (nested lists, an array, a number, a Tensor).

    dtype: a format, as `fp.float16` or by name. Without it floating data is stored in the active
    precision's format and integers and booleans keep theirs. Values that overflow when they are
    rounded give a PrecisionWarning that says how many, and so do, without a dtype, whole numbers
    that become others. Raises DTypeError for data that is no array of numbers, DeviceError for a
    missing device.
    """
    place, array = as_device(device), as_array(data)
    stored = array
    if dtype is not None or is_float(array.dtype):
        stored = _rounded(array, storage_dtype(dtype), dtype is not None)
    there = moved(stored, place)
    return Tensor(there.copy() if there is array else there, requires_grad)


def made_of(given: tuple, dtype: DType, device: Device = None) -> Tensor:
    """What PyTorch's older constructors make: of nothing a tensor of no elements; of sizes one by
    one, or a Size, of which only the shape is promised; of numbers in lists, an array or a tensor,
    which are copied. Raises as Tensor(...) does."""
    first = given[0] if len(given) == 1 else as_sizes(*given) if given else []
    if isinstance(first, (int, np.integer)):
        first = as_sizes(first)
    if hasattr(type(first), "__array_ufunc__"):
        return tensor(first, dtype, device)
    made = Tensor(constructed(first, dtype))
    return made if device is None else made.to(device=device)


@public("fp")
def as_tensor(data: Data, dtype: DType | None = None, device: Device = None) -> Tensor:
    """`data` as a tensor, without copying where it is one, or an array, of that dtype already.

    dtype: as in `tensor`; a Tensor keeps its own, and remembers how it was made.
    """
    if isinstance(data, Tensor):
        return data.to(dtype=dtype, device=device)
    place, array = as_device(device), as_array(data)
    wanted = storage_dtype(dtype) if dtype is not None or is_float(array.dtype) else array.dtype
    if array.dtype != wanted:
        array = _rounded(array, wanted, dtype is not None)
    return Tensor(moved(array, place))


@public("fp")
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor on the memory of a NumPy array, in its dtype: writing into one writes into both.

    Raises DTypeError for anything but an array, and for an array of a dtype that minifp does not
    have.
    """
    if not isinstance(ndarray, np.ndarray):
        raise DTypeError(
            f"from_numpy: a {type(ndarray).__name__}: expected a NumPy array; fp.from_dlpack takes "
            "arrays of other libraries, and fp.tensor copies"
        )
    array = as_array(ndarray)
    if not ndarray.dtype.isnative:
        raise DTypeError(
            f"from_numpy: an array of {ndarray.dtype.str}: expected native byte order; fp.tensor "
            "converts it"
        )
    return Tensor(array)


@public("fp")
def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor on the memory of another library's array, on the CPU or the GPU, in its dtype.

    ext_tensor: what has `__dlpack__`, such as PyTorch's, JAX's and CuPy's. Where the other library
    or NumPy forbids it, it cannot be written to. Raises DTypeError for what has not, and for
    formats that NumPy lacks: `fp.tensor` copies these.
    """
    if not hasattr(ext_tensor, "__dlpack_device__"):
        raise DTypeError(
            f"from_dlpack: a {type(ext_tensor).__name__}: expected an array with __dlpack__; "
            "fp.tensor takes lists and numbers"
        )
    try:
        return Tensor(shared_with(ext_tensor))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, MinifpError):
            raise
        raise DTypeError(f"from_dlpack: {error}: fp.tensor(x) copies its numbers") from None


def _rounded(array, dtype, is_asked):
    """The array in another dtype, or itself if it is in it. Warns of what overflows, and of whole
    numbers that become others, unless `is_asked`: somebody has named the format."""
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
        if not is_asked or not is_float(array.dtype):
            warn_of_whole(array, stored, "tensor")
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
