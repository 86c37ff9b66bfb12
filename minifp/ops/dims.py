"""What PyTorch calls dim and size, checked: errors name the argument, and what was expected."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeGuard, cast

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import DTypeError, ShapeError
from minifp.ops.arguments import check_room
from minifp.typing import F


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


def as_integers(args, name, least=-math.inf):
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
