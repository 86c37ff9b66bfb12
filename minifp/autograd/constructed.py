"""Tensor(2, 3), Tensor(x.shape) and Tensor([1.0, 2.0]), which PyTorch's older programs write."""

from typing import Any

import numpy as np

from minifp.errors import DTypeError, ShapeError
from minifp.numerics.formats import as_dtype, downcast, of_numbers
from minifp.numerics.policy import get_precision
from minifp.runtime.device import as_device, checked_array, full_on, moved
from minifp.runtime.shapes import Size


def constructed(given: Any, dtype: Any = None) -> Any:
    """The array of a tensor that is made of a Size, of which only the shape is promised, or of the
    numbers in lists. Any other `given` has to be an array, and is what it is itself.

    dtype: of Size and lists; None is the active precision's for activations. Raises DTypeError for
    what is none of these, and ShapeError for sizes below 0 and lists that are no array.
    """
    if not isinstance(given, (tuple, list, range)):
        return of_numbers(checked_array(given))
    format, place = as_dtype(dtype or get_precision().activations), as_device(None)
    try:
        if isinstance(given, Size):
            return full_on(place, given, 0, format)
        numbers = np.asarray(given) if given else np.zeros(0, np.float32)
    except ValueError as error:
        raise ShapeError(f"Tensor({given!r}): {error}") from None
    return moved(downcast(of_numbers(numbers), format), place)


def as_sizes(*arguments: Any) -> Size:
    """The arguments of a constructor that is given sizes one by one, as (2, False, None, None).

    Raises DTypeError for one that is no integer.
    """
    sizes = [n for n in arguments if n is not None and n is not False]
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in sizes):
        raise DTypeError(f"Tensor{tuple(sizes)}: expected sizes, which are integers, or an array")
    return Size(map(int, sizes))
