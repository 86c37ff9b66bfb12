"""Choosing between tensors, element by element.

where:       z = x where c, else y;          dx = dz where c, else 0;  dy = dz where not c, else 0
masked_fill: y = v where m, else x;          dx = 0 where m, else dy;  dv = sum of dy where m
lerp:        z = x + w (y - x), from the end that is nearer;
             dx = (1 - w) dz,  dy = w dz,  dw = (y - x) dz

Shapes broadcast; gradients are summed, in `reduce`, over what was stretched, and rounded once.
Booleans, weights and fills decide no format: that of where and lerp is of x and y.
"""

import math
from typing import Any, TypeAlias

import numpy as np

from minifp.autograd.loss_seed import automatic
from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.formats import format_of, is_float
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.elementwise import Operand, as_numbers, check_fits, check_operands, sum_to
from minifp.ops.public import public
from minifp.ops.reduce import array_given, array_of
from minifp.ops.shaping.expand import expand
from minifp.ops.shaping.indexing import getitem
from minifp.runtime.callers import warn_once
from minifp.runtime.device import as_array, is_array_like

Condition: TypeAlias = Tensor | np.ndarray | bool


def booleans(name, given):
    """`given` as an array of booleans, or DTypeError."""
    array = as_array(given)
    if array.dtype.kind != "b":
        raise DTypeError(f"{name} of {name_of(array.dtype)}: expected booleans")
    return array


@kernel("map", "x y")
def where_forward(condition, x, y):
    return np.where(condition, x, y)


@kernel("map", GIVEN)
def where_gradient(condition, dz, *, shape, sum):
    return sum_to(np.where(condition, dz, 0), shape, sum)


def where_backward(dz, condition, x_shape, y_shape, to):
    return (
        None,
        None if to[1] is None else where_gradient(condition, dz, shape=x_shape, to=to[1]),
        None if to[2] is None else where_gradient(~condition, dz, shape=y_shape, to=to[2]),
    )


@op
def where_op(condition, x, y):
    condition = booleans("where: a condition", condition)
    check_operands(x, y)
    for name, number, other in (("input", x, y), ("other", y, x)):
        if hasattr(other, "dtype"):
            check_fits(f"where: {name}", number, other.dtype)
    if type(x) is type(y) is int:
        x = np.int64(x)  # in a browser NumPy's own has 32 bits
    return where_forward(condition, x, y), (condition, np.shape(x), np.shape(y)), where_backward


@public("fp", autocast="pointwise")
def where(condition: Condition, input: Operand | None = None, other: Operand | None = None) -> Any:
    """input where `condition` (booleans) holds, other elsewhere: tensors or numbers.

    Raises ArgumentError for a finite number that the other's format cannot hold: as masked_fill.
    `where(condition)` alone is `nonzero(condition, as_tuple=True)`.
    """
    if input is None and other is None:
        return nonzero(np.asarray(array_of(condition)), as_tuple=True)
    return where_op(condition, input, other)


@public("fp Tensor")
def nonzero(input: Tensor | np.ndarray, *, as_tuple: bool = False) -> Any:
    """The places of what is not 0, int64 (n, ndim), in C order.

    as_tuple: as a tuple of a tensor (n) for each axis, which is an index.
    """
    if not is_array_like(input):
        raise DTypeError(f"nonzero: input is a {type(input).__name__}: expected a tensor")
    x = array_of(input)
    if as_tuple:
        places = np.nonzero(x.reshape(x.shape or 1))
        return tuple(Tensor(as_array(i, np.int64)) for i in places)
    return Tensor(as_array(np.argwhere(x), np.int64))


@public("fp Tensor")
@takes_tensor
def masked_select(input: Tensor, mask: Tensor | np.ndarray) -> Tensor:
    """The numbers of input, in C order, where `mask` (booleans) holds; both broadcast."""
    given = booleans("masked_select: a mask", array_given("masked_select: mask", mask))
    try:
        shape = np.broadcast_shapes(input.shape, given.shape)
    except ValueError as error:
        raise ShapeError(
            f"masked_select: a mask of shape {given.shape} for input of shape {input.shape}"
        ) from error
    return getitem(expand(input, shape), np.broadcast_to(given, shape))


@kernel("map", "x")
def masked_fill_forward(x, mask, value):
    return np.where(mask, value, x)


def masked_fill_backward(dy, mask, x_shape, to):
    return (
        None if to[0] is None else where_gradient(~mask, dy, shape=x_shape, to=to[0]),
        None,
        None if to[2] is None else where_gradient(mask, dy, shape=(), to=to[2]),
    )


@op
def masked_fill_op(x, mask, value):
    mask = booleans("masked_fill: a mask", mask)
    return masked_fill_forward(x, mask, value), (mask, np.shape(x)), masked_fill_backward


@public("fp Tensor", in_place=True, autocast="exact")
@takes_tensor
def masked_fill(input: Tensor, mask: Tensor | np.ndarray, value: Tensor | float) -> Tensor:
    """value where `mask` (booleans) holds, input elsewhere.

    value: a number, or a tensor without dimensions. Raises ArgumentError for a finite number that
    input's format cannot hold, such as -1e9 in float16: write float("-inf"). Where the process
    trains in mixed precision automatically, the result is then float32, which is said once.
    """
    if shape := getattr(value, "shape", ()):
        raise ShapeError(f"masked_fill: value of shape {shape}: expected a number")
    number = array_of(value).item() if hasattr(value, "item") else value
    number = as_numbers("masked_fill", value=number)["value"]
    if automatic and is_float(input.dtype):
        input = _wide_enough(input, number)
    _check_fits(number, input.dtype)
    if not is_float(input.dtype):
        value = input.dtype.type(number)
    return masked_fill_op(input, mask, value)


def _wide_enough(x, number):
    """x, or where its format cannot hold a finite number, x in float32, which is said once."""
    if not format_of(x.dtype).max < abs(number) < math.inf:
        return x
    warn_once(
        "masked_fill is wide",
        f"masked_fill: value={number:g} overflows {name_of(x.dtype)}: the result is float32. "
        'Write float("-inf"), which every format holds',
    )
    return x.float()


def _check_fits(number, dtype):
    """Raise DTypeError for a fraction among integers, ArgumentError for too large a number."""
    if is_float(dtype):
        check_fits("masked_fill: value", number, dtype)
    elif not float(number).is_integer():
        raise DTypeError(f"masked_fill: value={number:g} for {name_of(dtype)}: expected an integer")
    elif dtype.kind != "b" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        raise ArgumentError(f"masked_fill: value={number} does not fit {name_of(dtype)}")


@kernel("map", "x y")
def lerp_forward(x, y, w):
    return np.where(np.abs(w) < 0.5, x + w * (y - x), y - (1 - w) * (y - x))


@kernel("map", GIVEN)
def lerp_dx(dz, w, *, shape, sum):
    return sum_to(dz * (1 - w), shape, sum)


@kernel("map", GIVEN)
def lerp_dy(dz, w, *, shape, sum):
    return sum_to(dz * w, shape, sum)


@kernel("map", GIVEN)
def lerp_dw(dz, x, y, *, shape, sum):
    return sum_to(dz * (y - x), shape, sum)


def lerp_backward(dz, x, y, w, to):
    return (
        None if to[0] is None else lerp_dx(dz, w, shape=np.shape(x), to=to[0]),
        None if to[1] is None else lerp_dy(dz, w, shape=np.shape(y), to=to[1]),
        None if to[2] is None else lerp_dw(dz, x, y, shape=np.shape(w), to=to[2]),
    )


@op
def lerp_op(x, y, w):
    check_operands(x, y, w)
    return lerp_forward(x, y, w), (x, y, w), lerp_backward


@public("fp Tensor", in_place=True, autocast="pointwise")
@takes_tensor
def lerp(input: Tensor, end: Operand, weight: Operand) -> Tensor:
    """input + weight (end - input). weight: a number or a tensor; it may lie outside [0, 1]."""
    return lerp_op(input, end, weight)
