"""What operations are given, checked: errors name the function and the argument."""

from collections.abc import Callable
from functools import lru_cache, wraps
from math import inf, prod
from typing import Any, TypeGuard, cast

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


# ---- dim and size -------------------------------------------------------------------------------


def is_integer(n: Any) -> TypeGuard[int]:
    """Whether n is an integer, and no boolean; a tensor without dimensions may be one."""
    if isinstance(n, Tensor):
        return n.array.ndim == 0 and n.array.dtype.kind in "iu"
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool)


def also_by_name(name: str) -> Callable[[F], F]:
    """Let `fn(..., *sizes)`, which takes integers one by one or as one tuple, take it by name."""

    def decorate(fn: F) -> F:
        @wraps(fn)
        def taking(*args, **settings):
            if name in settings:
                args = (*args, settings.pop(name))
            return fn(*args, **settings)

        return cast(F, taking)

    return decorate


def as_integers(args, name, least=-inf):
    """Integers given one by one or as one tuple, as a tuple. Raises DTypeError, ShapeError."""
    given = tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    for n in given:
        if not is_integer(n):
            raise DTypeError(f"{name}{given}: expected integers, not {n!r}")
        if n < least:
            raise ShapeError(f"{name}{given}: expected integers of at least {least}")
    return tuple(int(n) for n in given)


def as_size(args, function):
    """The size of a new tensor, given so. Raises DTypeError, ShapeError, and MemoryError."""
    size = as_integers(args, f"{function}: size ", 0)
    check_room(function, size)
    return size


def as_axes(dim, ndim, name="dim"):
    """`dim` (None for all, an integer, or several) as a sorted tuple of axes.

    Raises DTypeError for anything but integers, ShapeError for axes that are not there or twice.
    """
    dims = range(ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    size = max(ndim, 1)  # a tensor without dimensions has axis 0 all the same, as in PyTorch
    for d in dims:
        if not is_integer(d):
            raise DTypeError(f"{name}={dim!r}: expected an integer, several of them, or None")
        if not -size <= d < size:
            raise ShapeError(
                f"{name}={dim} for a tensor of {ndim} dimensions: expected {-size} to {size - 1}"
            )
    axes = tuple(sorted(int(d) % size for d in dims))
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{name}={dim} names a dimension twice")
    return axes if ndim else ()


def as_axis(dim, ndim, name="dim"):
    """`dim`, one integer, as an axis. Raises as as_axes does."""
    if type(dim) is int and -ndim <= dim < ndim:
        return dim % ndim
    if not is_integer(dim):
        raise DTypeError(f"{name}={dim!r}: expected an integer")
    if ndim == 0:
        raise ShapeError(f"{name}={dim} for a tensor without dimensions")
    return as_axes(dim, ndim, name)[0]
