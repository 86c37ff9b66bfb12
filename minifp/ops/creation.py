"""Making tensors. Floating data takes the storage format of the active precision unless told."""

import warnings

import numpy as np

from minifp import random
from minifp.backend import as_device
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.formats import FORMATS, as_dtype, is_float, narrow
from minifp.policy import get_precision
from minifp.tape import Tensor


class PrecisionWarning(UserWarning):
    """Numbers were lost when they were rounded to a narrower format."""


def storage_dtype(dtype=None):
    """`dtype`, or the format in which the active precision stores activations."""
    return FORMATS[get_precision().activations].dtype if dtype is None else as_dtype(dtype)


def as_array(data):
    """Anything array-like as a NumPy array of numbers. Raises DTypeError where it is none."""
    if isinstance(data, Tensor):
        return data.array
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise DTypeError(f"data is no array: {error}") from None
    if array.dtype.kind not in "fiub":
        raise DTypeError(
            f"data of type {array.dtype}: expected floating numbers, integers or booleans"
        )
    return array


def tensor(data, dtype=None, device=None, requires_grad=False):
    """A tensor with a copy of `data` (nested lists, an array, a number, a Tensor).

    dtype: a format, as `fp.float16` or by name. Without it floating data is stored in the active
    precision's format and integers and booleans keep theirs. Values that overflow when they are
    rounded give a PrecisionWarning that says how many.
    Raises DTypeError for data that is no array of numbers, DeviceError for a missing device.
    """
    as_device(device)
    array = as_array(data)
    if dtype is not None or is_float(array.dtype):
        return Tensor(_rounded(array, storage_dtype(dtype)), requires_grad)
    return Tensor(array.copy(), requires_grad)


def _rounded(array, dtype):
    if not is_float(dtype):
        if dtype.kind in "iu" and is_float(array.dtype) and not np.isfinite(array).all():
            raise DTypeError(
                f"tensor: data with NaN or Inf cannot be {dtype}: expected finite numbers; replace "
                "them first, or choose a floating dtype"
            )
        return np.array(array, dtype)
    stored = narrow(array, dtype)
    if is_float(array.dtype) and dtype.itemsize < array.dtype.itemsize:
        lost = np.count_nonzero(np.isinf(stored)) - np.count_nonzero(np.isinf(array))
        if lost:
            largest = FORMATS[dtype.name].max
            warnings.warn(
                f"{lost} of {array.size} values overflow {dtype} (largest {largest:g}): now Inf",
                PrecisionWarning,
                stacklevel=3,
            )
    return stored.copy() if stored is array else stored


def _sizes(size):
    return tuple(size[0]) if len(size) == 1 and not isinstance(size[0], (int, np.integer)) else size


def full(size, fill_value, dtype=None, device=None, requires_grad=False):
    """A tensor of shape `size` filled with one value."""
    size = (size,) if isinstance(size, int) else tuple(size)
    if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in size):
        raise ShapeError(f"size {size}: expected integers of at least 0")
    return tensor(np.full(size, fill_value), dtype, device, requires_grad)


def zeros(*size, dtype=None, device=None, requires_grad=False):
    """A tensor of zeros in the storage format: `zeros(2, 3)` or `zeros((2, 3))`."""
    return full(_sizes(size), 0.0, dtype, device, requires_grad)


def ones(*size, dtype=None, device=None, requires_grad=False):
    """A tensor of ones in the storage format."""
    return full(_sizes(size), 1.0, dtype, device, requires_grad)


def zeros_like(input, dtype=None, requires_grad=False):
    """Zeros of the shape and dtype of `input`."""
    return zeros(input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad)


def ones_like(input, dtype=None, requires_grad=False):
    """Ones of the shape and dtype of `input`."""
    return ones(input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad)


def arange(start, end=None, step=1, dtype=None, device=None, requires_grad=False):
    """Numbers from start (0 if only one is given) up to, not including, end: int64 for integers."""
    start, end = (0, start) if end is None else (start, end)
    if step == 0:
        raise ArgumentError("arange: step=0: expected another number")
    return tensor(np.arange(start, end, step), dtype, device, requires_grad)


def rand(*size, dtype=None, device=None, requires_grad=False):
    """Uniform numbers in [0, 1), drawn in float32 from the seeded stream and then rounded."""
    return tensor(random.uniform(_sizes(size), purpose="rand"), dtype, device, requires_grad)


def randn(*size, dtype=None, device=None, requires_grad=False):
    """Standard normal numbers, drawn in float32 from the seeded stream and then rounded."""
    return tensor(random.normal(_sizes(size), purpose="randn"), dtype, device, requires_grad)
