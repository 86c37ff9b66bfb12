"""Arithmetic, element by element: read stored, compute in float32, round once when writing.

Shapes broadcast as in NumPy; a Python number enters in the compute format, and only the result
takes the tensors' format. The gradient of a broadcast argument is summed over the axes it was
stretched along, in `reduce`, and rounded once. Integers stay integers, except in div.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError
from minifp.numerics.formats import is_float
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.elementwise import Binary, Operand, as_numbers, binary, pass_to, unary
from minifp.ops.public import public
from minifp.runtime.device import device_of, moved

# ---- one argument -------------------------------------------------------------------------------


neg = public("fp Tensor", operator="-x", in_place=True, autocast="pointwise")(
    unary("neg", lambda x: -x, lambda dy, _: -dy, "-x.")
)
abs = public("fp Tensor", operator="abs(x)", in_place=True, autocast="pointwise")(
    unary("abs", np.abs, lambda dy, x: dy * np.sign(x), "|x|, with slope 0 at 0.")
)
square = public("fp Tensor", in_place=True, autocast="power")(
    unary("square", np.square, lambda dy, x: dy * (2 * x), "x^2.")
)


@kernel("map", GIVEN)
def copy(x):
    return x


def cast_backward(dy, to, dtype):
    return (copy(dy, to=to[0]),)


@public(autocast="pointwise")
@op
def cast(x, *, dtype):
    """x rounded once to `dtype`; its gradient is rounded to the format of x's gradients."""
    return copy(x, to=dtype), (), cast_backward


def move_backward(dy, came_from, to, device):
    return (moved(dy if dy.dtype == to[0] else copy(dy, to=to[0]), came_from),)


@op
def move(x, *, device):
    """x on another device; its gradient goes back to where x is."""
    return moved(x, device), (device_of(x),), move_backward


# ---- two arguments: sums ------------------------------------------------------------------------


@kernel("map", "x y")
def add_forward(x, y, *, alpha=1):
    return x + y if alpha == 1 else x + alpha * y


@kernel("map", "x y")
def sub_forward(x, y, *, alpha=1):
    return x - y if alpha == 1 else x - alpha * y


def add_backward(dz, x_shape, y_shape, to, alpha):
    return pass_to(dz, x_shape, to[0]), pass_to(dz, y_shape, to[1], alpha)


def sub_backward(dz, x_shape, y_shape, to, alpha):
    return pass_to(dz, x_shape, to[0]), pass_to(dz, y_shape, to[1], -alpha)


@op
def add_op(x, y, *, alpha):
    z = add_forward(x, y) if alpha == 1 else add_forward(x, y, alpha=alpha)
    return z, (getattr(x, "shape", ()), getattr(y, "shape", ())), add_backward


@op
def sub_op(x, y, *, alpha):
    z = sub_forward(x, y) if alpha == 1 else sub_forward(x, y, alpha=alpha)
    return z, (getattr(x, "shape", ()), getattr(y, "shape", ())), sub_backward


def is_floating(a):
    """Whether an operand, a tensor or a number, is floating."""
    return is_float(a.dtype) if hasattr(a, "dtype") else isinstance(a, float)


def _factor(name, alpha, *operands):
    """alpha as a number. Raises DTypeError for a fraction of integers."""
    alpha = as_numbers(name, alpha=alpha)["alpha"]
    if isinstance(alpha, float) and not any(is_floating(a) for a in operands):
        raise DTypeError(f"{name}: alpha={alpha} for integers: expected an integer")
    return alpha


@public("fp Tensor", operator="x + y", in_place=True, autocast="pointwise")
def add(input: Operand, other: Operand, *, alpha: float = 1) -> Tensor:
    """input + alpha other, for a number alpha."""
    alpha = alpha if type(alpha) is int else _factor("add", alpha, input, other)
    return add_op(input, other, alpha=alpha)


@public("fp Tensor", operator="x - y", in_place=True, autocast="pointwise")
def sub(input: Operand, other: Operand, *, alpha: float = 1) -> Tensor:
    """input - alpha other, for a number alpha."""
    alpha = alpha if type(alpha) is int else _factor("sub", alpha, input, other)
    return sub_op(input, other, alpha=alpha)


# ---- two arguments: the others ------------------------------------------------------------------


def _share(dz, mine, other):
    return np.where(mine < other, 0, np.where(mine == other, 0.5 * dz, dz))  # dz for NaN


def _pow_dx(dz, x, y):
    return np.where(y == 0, 0, dz * (y * np.power(x, y - 1)))


def _pow_dy(dz, x, y):
    return np.where((x == 0) & (y >= 0), 0, dz * (np.power(x, y) * np.log(x)))


def _no_slope(dz, x, y):
    return np.zeros_like(dz)


def _not_by_zero(x, y):
    """Raise ArgumentError where integers are divided by 0, which no integer can show."""
    if not is_floating(x) and not is_floating(y) and np.any(np.equal(y, 0)):
        raise ArgumentError("integers divided by 0")


def _floor_divide(x, y):
    _not_by_zero(x, y)
    return np.floor_divide(x, y)


def _trunc_divide(x, y):
    _not_by_zero(x, y)
    if is_floating(x) or is_floating(y):
        return np.trunc(np.true_divide(x, y))
    return np.sign(x) * np.sign(y) * np.floor_divide(np.abs(x), np.abs(y))


def _remainder(x, y):
    _not_by_zero(x, y)
    return np.remainder(x, y)


mul = public("fp Tensor", operator="x * y", in_place=True, autocast="pointwise")(
    binary("mul", np.multiply, lambda dz, x, y: dz * y, lambda dz, x, y: dz * x, "x y.")
)
true_divide = binary(
    "div", np.true_divide, lambda dz, x, y: dz / y, lambda dz, x, y: -dz * (x / (y * y)), "x / y."
)
FLOOR = "The largest whole number up to x / y. Its gradient is 0."
floor_divide = public("fp Tensor", operator="x // y", in_place=True, autocast="pointwise")(
    binary("floor_divide", _floor_divide, _no_slope, _no_slope, FLOOR)
)
TRUNC = "x / y without its fraction. Its gradient is 0."
trunc_divide = public(autocast="pointwise")(
    binary("trunc_divide", _trunc_divide, _no_slope, _no_slope, TRUNC)
)
remainder = public("fp Tensor", operator="x % y", in_place=True, autocast="pointwise")(
    binary(
        "remainder",
        _remainder,
        lambda dz, x, y: dz,
        lambda dz, x, y: -dz * np.floor_divide(x, y),
        "x - y floor(x / y), which has the sign of y.",
    )
)
pow = public("fp Tensor", operator="x ** y", in_place=True, autocast="power")(
    binary("pow", np.power, _pow_dx, _pow_dy, "x^y.")
)
EXTREME = "The {} of x and y; equal ones share the gradient.".format
maximum: Binary = public("fp Tensor", autocast="pointwise")(
    binary("maximum", np.maximum, _share, lambda dz, x, y: _share(dz, y, x), EXTREME("larger"))
)
minimum: Binary = public("fp Tensor", autocast="pointwise")(
    binary("minimum", np.minimum, lambda dz, x, y: _share(dz, y, x), _share, EXTREME("smaller"))
)

ROUNDED = {"floor": floor_divide, "trunc": trunc_divide}


@public("fp Tensor", operator="x / y", in_place=True, autocast="pointwise")
def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Tensor:
    """input / other. rounding_mode: None, or "floor" or "trunc", for whole numbers without slope.

    Raises ArgumentError for another mode, and where a mode divides integers by 0.
    """
    if rounding_mode is None:
        return true_divide(input, other)
    if not isinstance(rounding_mode, str) or rounding_mode not in ROUNDED:
        raise ArgumentError(
            f"div: rounding_mode={rounding_mode!r}: expected None, 'floor' or 'trunc'"
        )
    return ROUNDED[rounding_mode](input, other)
