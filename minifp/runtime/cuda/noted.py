"""Arrays on a GPU that hold nothing but codes of float8 over one scale: operands that were rounded.

They are arrays of their own format, as everywhere else, and kernels know nothing of it. Noted is
only what a math mode multiplies as codes: see float8_products.py.
"""

import weakref
from typing import Any, NamedTuple

from minifp.derive.dtypes import name_of
from minifp.runtime.cuda.math_modes import may_use_tensor_cores


class Noted(NamedTuple):
    """What is known of an array that was rounded: to which dtype, by which amax (on the device) of
    a format with this largest number. array: a weak reference to it."""

    array: Any
    dtype: Any
    amax: Any
    largest: float


noted: dict[int, Noted] = {}  # by the array's id, as long as it lives


def note(x: Any, dtype: Any, amax: Any, largest: float) -> None:
    """Note that x was rounded with one scale, if that is of use. Nobody may write to x any more."""
    if may_use_tensor_cores(name_of(dtype)):
        key = id(x)
        noted[key] = Noted(weakref.ref(x, lambda _: noted.pop(key, None)), dtype, amax, largest)


def noted_of(x: Any) -> Noted | None:
    """What was noted of x, or of the array of which it is a view."""
    return noted.get(id(x if x.base is None else x.base))
