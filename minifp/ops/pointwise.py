"""Element by element: read stored, compute in float32, round once when writing.

Shapes broadcast as in NumPy; a Python number enters in the compute format, and only the result
takes the tensors' format. The gradient of a broadcast argument is summed over the axes it was
stretched along, in `reduce`, and rounded once.
"""

import numpy as np

from minifp.backend import kernel
from minifp.errors import DTypeError
from minifp.policy import GIVEN
from minifp.recording import explained, op
from minifp.tape import Tensor


def sum_to(v, shape, sum):
    """v summed over the axes along which broadcasting stretched `shape`."""
    if v.shape == shape:
        return v
    added = tuple(range(v.ndim - len(shape)))
    stretched = tuple(i for i, n in enumerate(shape, len(added)) if n == 1 and v.shape[i] != 1)
    return sum(v, axis=added + stretched, keepdims=True).reshape(shape)


@kernel("reduce", GIVEN)
def reduce_to(dz, *, shape, sum):
    return sum_to(dz, shape, sum)


def pass_to(dz, shape, to):
    """The gradient dz itself, summed to `shape`, in the format `to`; None where none is wanted."""
    if to is None or (dz.shape == shape and dz.dtype == to):
        return None if to is None else dz
    return reduce_to(dz, shape=shape, to=to)


# ---- one argument -------------------------------------------------------------------------------


def unary(name, value, slope, saves, doc):
    """The operation y = value(x) with dx = slope(dy, x) or slope(dy, y): `saves` says which."""

    def forward(x):
        return value(x)

    def gradient(dy, saved):
        return slope(dy, saved)

    forward.__name__, gradient.__name__ = f"{name}_forward", f"{name}_dx"
    forward, gradient = kernel("map", "x")(forward), kernel("map", GIVEN)(gradient)

    def backward(dy, saved, to):
        return (gradient(dy, saved, to=to[0]),)

    def apply(x):
        y = forward(x)
        return y, (y if saves == "y" else x,), backward

    apply.__name__, apply.__qualname__, apply.__doc__ = name, name, doc
    return op(apply)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


neg = unary("neg", lambda x: -x, lambda dy, _: -dy, "y", "-x.")
exp = unary("exp", np.exp, lambda dy, y: dy * y, "y", "e^x.")
log = unary("log", np.log, lambda dy, x: dy / x, "x", "The natural logarithm.")
sqrt = unary("sqrt", np.sqrt, lambda dy, y: dy / (2 * y), "y", "The square root.")
abs = unary("abs", np.abs, lambda dy, x: dy * np.sign(x), "x", "|x|, with slope 0 at 0.")
square = unary("square", np.square, lambda dy, x: dy * (2 * x), "x", "x^2.")
sin = unary("sin", np.sin, lambda dy, x: dy * np.cos(x), "x", "The sine of x radians.")
cos = unary("cos", np.cos, lambda dy, x: -dy * np.sin(x), "x", "The cosine of x radians.")
tanh = unary("tanh", np.tanh, lambda dy, y: dy * (1 - y * y), "y", "The hyperbolic tangent.")
sigmoid = unary("sigmoid", _sigmoid, lambda dy, y: dy * (y * (1 - y)), "y", "1 / (1 + e^-x).")
relu = unary("relu", lambda x: np.maximum(x, 0), lambda dy, y: dy * ~(y <= 0), "y", "max(x, 0).")


@kernel("map", GIVEN)
def copy(x):
    return x


def cast_backward(dy, to, dtype):
    return (copy(dy, to=to[0]),)


@op
def cast(x, *, dtype):
    """x rounded once to `dtype`; its gradient is rounded to the format of x's gradients."""
    return copy(x, to=dtype), (), cast_backward


# ---- two arguments ------------------------------------------------------------------------------


@kernel("map", "x y")
def add_forward(x, y):
    return x + y


def add_backward(dz, x_shape, y_shape, to):
    return pass_to(dz, x_shape, to[0]), pass_to(dz, y_shape, to[1])


@op
def add(x, y):
    """x + y."""
    return add_forward(x, y), (np.shape(x), np.shape(y)), add_backward


def binary(name, value, x_slope, y_slope, doc):
    """The operation z = value(x, y) with dx = x_slope(dz, x, y), dy = y_slope(dz, x, y)."""

    def forward(x, y):
        return value(x, y)

    def dx(dz, x, y, *, shape, sum):
        return sum_to(x_slope(dz, x, y), shape, sum)

    def dy(dz, x, y, *, shape, sum):
        return sum_to(y_slope(dz, x, y), shape, sum)

    forward.__name__, dx.__name__, dy.__name__ = f"{name}_forward", f"{name}_dx", f"{name}_dy"
    forward = kernel("map", "x y")(forward)
    dx, dy = kernel("map", GIVEN)(dx), kernel("map", GIVEN)(dy)

    def backward(dz, x, y, to):
        return (
            None if to[0] is None else dx(dz, x, y, shape=np.shape(x), to=to[0]),
            None if to[1] is None else dy(dz, x, y, shape=np.shape(y), to=to[1]),
        )

    def apply(x, y):
        return forward(x, y), (x, y), backward

    apply.__name__, apply.__qualname__, apply.__doc__ = name, name, doc
    return op(apply)


def _share(dz, mine, other):
    return np.where(mine < other, 0 * dz, np.where(mine == other, 0.5 * dz, dz))  # dz for NaN


def _pow_dx(dz, x, y):
    return dz * y * np.where(y == 0, 0, np.power(x, y - 1))


def _pow_dy(dz, x, y):
    positive = x > 0
    return dz * np.power(x, y) * np.where(positive, np.log(np.where(positive, x, 1)), 0)


sub = binary("sub", np.subtract, lambda dz, x, y: dz, lambda dz, x, y: -dz, "x - y.")
mul = binary("mul", np.multiply, lambda dz, x, y: dz * y, lambda dz, x, y: dz * x, "x y.")
div = binary(
    "div", np.true_divide, lambda dz, x, y: dz / y, lambda dz, x, y: -dz * (x / (y * y)), "x / y."
)
pow = binary("pow", np.power, _pow_dx, _pow_dy, "x^y. The gradient of y is 0 where x <= 0.")
maximum = binary(
    *("maximum", np.maximum, _share, lambda dz, x, y: _share(dz, y, x)),
    "The larger of x and y; equal ones share the gradient.",
)
minimum = binary(
    *("minimum", np.minimum, lambda dz, x, y: _share(dz, y, x), _share),
    "The smaller of x and y; equal ones share the gradient.",
)


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
def where(condition, x, y):
    """x where `condition` (boolean) holds, y elsewhere."""
    condition = np.asarray(condition)
    if condition.dtype.kind != "b":
        raise DTypeError(f"where: a condition of {condition.dtype}: expected booleans")
    return where_forward(condition, x, y), (condition, np.shape(x), np.shape(y)), where_backward


@kernel("map", "x")
def clamp_forward(x, *, min, max):
    return np.clip(x, min, max)


@kernel("map", GIVEN)
def clamp_dx(dy, x, *, min, max):
    low = -np.inf if min is None else min
    high = np.inf if max is None else max
    return dy * ((x >= low) & (x <= high))


def clamp_backward(dy, x, to, min=None, max=None):
    return (clamp_dx(dy, x, min=min, max=max, to=to[0]),)


@op
def clamp(x, *, min=None, max=None):
    """x, no smaller than `min` and no larger than `max`; the gradient is 0 outside."""
    return clamp_forward(x, min=min, max=max), (x,), clamp_backward


# ---- without gradient ---------------------------------------------------------------------------


def constant(name, value, doc):
    """A function of one or two tensors whose result has no gradient, such as a comparison."""

    def forward(x, y=None):
        return value(x) if y is None else value(x, y)

    forward.__name__ = name
    forward = kernel("map", "x")(forward)

    def apply(*args):
        arrays = [a.array if isinstance(a, Tensor) else a for a in args]
        try:
            return Tensor(forward(*arrays))
        except (ValueError, TypeError) as error:
            raise explained(error, name, arrays) from error

    apply.__name__, apply.__qualname__, apply.__doc__ = name, name, doc
    return apply


eq = constant("eq", np.equal, "x == y, as booleans.")
ne = constant("ne", np.not_equal, "x != y, as booleans.")
lt = constant("lt", np.less, "x < y, as booleans.")
le = constant("le", np.less_equal, "x <= y, as booleans.")
gt = constant("gt", np.greater, "x > y, as booleans.")
ge = constant("ge", np.greater_equal, "x >= y, as booleans.")
isfinite = constant("isfinite", np.isfinite, "Whether each number is neither Inf nor NaN.")
isnan = constant("isnan", np.isnan, "Whether each number is NaN.")
