"""What operations are given, checked: errors name the function and the argument."""

from functools import lru_cache, wraps
from math import prod
from typing import cast

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.formats import FLOATING, is_float
from minifp.runtime.shapes import Size
from minifp.typing import F

PLAIN = {int, str, type(None)}
ROOMY = 2**24  # numbers for which there is memory
KEPT = 4096  # calls that are remembered


def remembered(fn: F) -> F:
    """Let a function of shapes and settings be called once for each kind of call.

    Remembered are calls with integers, texts, None and tuples of integers alone: True and 1.0 equal
    1, and may not be allowed.
    """
    known = lru_cache(KEPT)(fn)

    @wraps(fn)
    def call(*args):
        for a in args:
            if type(a) in (tuple, Size):
                for n in a:
                    if type(n) is not int:
                        return fn(*args)
            elif type(a) not in PLAIN:
                return fn(*args)
        return known(*args)

    return cast(F, call)


def check_tensors(function, **tensors):
    """Raise DTypeError for one that is no tensor (or array) of floating numbers."""
    for name, t in tensors.items():
        if isinstance(t, Tensor) and t.array.dtype in FLOATING:
            continue
        if not hasattr(type(t), "__array_ufunc__"):  # as arrays and tensors have, and no dtype
            raise DTypeError(
                f"{function}: {name} is a {type(t).__name__}: expected a tensor; create one with "
                "fp.tensor(...)"
            )
        if not is_float(t.dtype):
            raise DTypeError(
                f"{function}: {name} of {t.dtype}: expected floating numbers; convert it first, "
                "for example with .float()"
            )


def check_parameters(function, shape, input_shape, **tensors):
    """Raise DTypeError or ShapeError for one that is neither None nor a tensor of this shape."""
    for name, t in tensors.items():
        if t is not None:
            check_tensors(function, **{name: t})
            if t.shape != shape:
                raise ShapeError(
                    f"{function}: {name} of shape {t.shape}, expected {shape} "
                    f"for input of shape {input_shape}"
                )


def check_constants(function, **tensors):
    """Raise ArgumentError for one that wants a gradient, which this function does not give it."""
    for name, t in tensors.items():
        if getattr(t, "requires_grad", False):
            raise ArgumentError(
                f"{function}: {name} requires a gradient, but this function does not compute "
                "one: detach() it"
            )


def check_room(function, shape):
    """Raise ShapeError for a result that is too large for any memory, before work for it begins.

    Raises MemoryError for one that this machine has no memory for now.
    """
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    if prod(shape) < ROOMY:
        return
    try:
        np.empty(shape, np.float32)
    except ValueError as error:
        raise ShapeError(f"{function}: a result of shape {tuple(shape)}: {error}") from None


def check_positive(name, value):
    """Raise ArgumentError unless `value` is a finite number above 0."""
    check_range(name, value)
    if value == 0:
        raise ArgumentError(f"{name}={value!r}: expected a number above 0")
