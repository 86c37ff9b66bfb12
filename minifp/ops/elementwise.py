"""What operations element by element are made of: broadcasting, and factories for each kind.

    y = f(x):     dx = dy f'(x), with f' written in x or in y: only the one that it needs is stored.
    z = f(x, y):  dx = the sum of dz df/dx over the axes along which broadcasting stretched x.

The sums are in `reduce`; each result is rounded once. A kernel made here belongs to the family that
wrote its slope: its name is `unary_math.exp_dx`, say.
"""

import inspect
import math
from collections.abc import Callable
from functools import wraps
from numbers import Integral, Real
from typing import Protocol, TypeAlias, cast

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError
from minifp.numerics.formats import float32, format_of, is_float, upcast, wider
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import check_tensors
from minifp.ops.creation import storage_dtype
from minifp.runtime.device import is_array_like
from minifp.runtime.shapes import stretched
from minifp.typing import F, Function

# ---- broadcasting -------------------------------------------------------------------------------


def shape_of(a):
    """The shape of an array, () of a number."""
    return getattr(a, "shape", ())


def sum_to(v, shape, sum):
    """v summed over the axes along which broadcasting stretched `shape`."""
    if v.shape == shape:
        return v
    return sum(v, axis=stretched(v.shape, shape), keepdims=True).reshape(shape)


@kernel("reduce", GIVEN)
def reduce_to(dz, *, shape, sum):
    return sum_to(dz, shape, sum)


@kernel("reduce", GIVEN)
def scale_to(dz, *, factor, shape, sum):
    return sum_to(dz, shape, sum) * factor


def pass_to(dz, shape, to, factor=1):
    """The gradient dz times `factor`, summed to `shape`, in format `to`; None if none is wanted."""
    if to is None:
        return None
    if factor != 1:
        return scale_to(dz, factor=factor, shape=shape, to=to)
    return dz if dz.shape == shape and dz.dtype == to else reduce_to(dz, shape=shape, to=to)


# ---- what is given ------------------------------------------------------------------------------

Operand: TypeAlias = (
    Tensor | np.ndarray | np.generic | float
)  # a number enters in the compute format
KINDS = tuple("fiubV")  # of NumPy's dtypes: floating, integers, booleans


def check_operands(*operands):
    """Raise DTypeError for anything but numbers or arrays of them; `op` names the operation."""
    for a in operands:
        if type(a) is np.ndarray and a.dtype.kind in KINDS:
            continue
        if getattr(getattr(a, "dtype", None), "kind", "") not in KINDS and not isinstance(a, Real):
            raise DTypeError(f"a {type(a).__name__}: expected tensors or numbers")


def as_numbers(operation, **settings):
    """The settings as Python numbers: they enter in the compute format, whatever they were.

    Raises DTypeError that names the operation and the setting that is no number.
    """
    return {n: v if type(v) is float else _as_number(operation, n, v) for n, v in settings.items()}


def _as_number(operation, name, v):
    """One of them, which is no float: an int that int64 holds, or else a float."""
    if not isinstance(v, Real):
        given = f" is a {type(v).__name__}" if is_array_like(v) else f"={v!r}"
        raise DTypeError(f"{operation}: {name}{given}: expected a number")
    if isinstance(v, Integral) and -(2**63) <= int(v) < 2**63:
        return int(v)
    try:
        return float(v)
    except OverflowError:
        raise ArgumentError(f"{operation}: {name}={v}: expected a number below 1.8e308") from None


def check_fits(what, number, dtype):
    """Raise ArgumentError for a finite Python number that is too large for a floating dtype."""
    format = format_of(dtype) if type(number) in (float, int) and is_float(dtype) else None
    if format is not None and format.max < abs(number) < math.inf:
        nearest = f"{math.copysign(format.max, number):g}, as it has no Inf"
        instead = 'float("-inf") or float("inf")' if format.has_inf else nearest
        raise ArgumentError(
            f"{what}={number:g} overflows {format.name} (largest {format.max:g}): use {instead}"
        )


def takes_floats(fn: F) -> F:
    """Let `fn(input, ...)` refuse, by its name, an input that is no tensor of floating numbers."""

    @wraps(fn)
    def checked(input, *args, **settings):
        check_tensors(fn.__name__, input=input)
        return fn(input, *args, **settings)

    return cast(F, checked)


# ---- factories ----------------------------------------------------------------------------------


class Unary(Protocol):
    """A function of one tensor."""

    def __call__(self, input: Tensor) -> Tensor: ...


class Binary(Protocol):
    """A function of two tensors, or of a tensor and a number."""

    def __call__(self, input: Operand, other: Operand) -> Tensor: ...


def named(made: F, name: str, doc: str | None, family: Function) -> F:
    """The function `made`, with a name, a text, and the module of the function `family`."""
    made.__name__ = made.__qualname__ = name
    made.__doc__, made.__module__ = doc, family.__module__
    return made


def operation(
    name: str, value: Function, slope: Function, to_floats: bool = False
) -> Callable[..., Tensor]:
    """The operation y = value(x, **settings) on one tensor, with Python numbers as settings.

    slope: dx = slope(dy, x, **settings), or slope(dy, y, **settings): as its second parameter is
        called, x or y is saved; where that is _, it needs neither, and is given None.
    to_floats: whether integers give floating numbers, in the format of activations.
    """

    saved_name = [*inspect.signature(slope).parameters][1]

    def reference(x, **settings):
        return value(x, **settings)

    def slope_reference(dy, saved, **settings):
        return slope(dy, saved, **settings)

    forward = kernel("map", "x")(named(reference, f"{name}_forward", None, slope))
    gradient = kernel("map", GIVEN)(named(slope_reference, f"{name}_dx", None, slope))

    def backward(dy, saved=None, *, to, **settings):
        return (gradient(dy, saved, to=to[0], **settings),)

    def apply(x, **settings):
        if to_floats and x.dtype.kind in "iub":
            stored = storage_dtype()
            wide = upcast(x, wider(stored, float32))
            return forward(wide, to=stored, **settings), (), None
        y = forward(x, **settings)
        return y, {"x": (x,), "y": (y,), "_": ()}[saved_name], backward

    return op(named(apply, name, None, slope))


def unary(
    name: str,
    value: Function,
    slope: Function,
    doc: str,
    to_floats: bool = False,
    takes: Callable[[Unary], Unary] = takes_tensor,
) -> Unary:
    """The public function of one tensor without settings; see `operation`.

    takes: what refuses other input.
    """
    apply = operation(name, value, slope, to_floats)

    def public(input: Tensor) -> Tensor:
        return apply(input)

    return takes(named(public, name, doc, slope))


def binary(name: str, value: Function, x_slope: Function, y_slope: Function, doc: str) -> Binary:
    """The public function z = value(x, y) of two tensors, or of a tensor and a number.

    dx = x_slope(dz, x, y) and dy = y_slope(dz, x, y), summed to their shapes.
    """

    def reference(x, y):
        return value(x, y)

    def dx_reference(dz, x, y, *, shape, sum):
        return sum_to(x_slope(dz, x, y), shape, sum)

    def dy_reference(dz, x, y, *, shape, sum):
        return sum_to(y_slope(dz, x, y), shape, sum)

    forward = kernel("map", "x y")(named(reference, f"{name}_forward", None, x_slope))
    dx = kernel("map", GIVEN)(named(dx_reference, f"{name}_dx", None, x_slope))
    dy = kernel("map", GIVEN)(named(dy_reference, f"{name}_dy", None, x_slope))

    def backward(dz, x, y, to):
        return (
            None if to[0] is None else dx(dz, x, y, shape=shape_of(x), to=to[0]),
            None if to[1] is None else dy(dz, x, y, shape=shape_of(y), to=to[1]),
        )

    def recorded(x, y):
        return forward(x, y), (x, y), backward

    apply = op(named(recorded, name, None, x_slope))

    def public(input: Operand, other: Operand) -> Tensor:
        return apply(input, other)

    return named(public, name, doc, x_slope)
