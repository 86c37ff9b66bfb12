"""Elementary functions: y = f(x), with x or y stored, and dx = dy f'(x) written in that one.

Computed in float32, rounded once. For integers the result is floating, in the format of
activations; the functions that give whole numbers leave integers as they are, and have gradient 0.
"""

import math
from typing import Any

import numpy as np

from minifp.numerics.formats import is_float
from minifp.ops.elementwise import Unary, unary
from minifp.ops.public import public
from minifp.typing import Function

LN2, LN10 = math.log(2), math.log(10)


def floating(
    name: str, value: Function, slope: Function, doc: str, where: str = "fp Tensor", **declared: Any
) -> Unary:
    """A function that gives floating numbers also for integers; `declared` as in `public`."""
    function = unary(name, value, slope, doc, to_floats=True)
    return public(where, in_place=True, **declared)(function)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _other_side(x):
    """sqrt(1 - x^2), of factors that do not cancel."""
    return np.sqrt((1 - x) * (1 + x))


exp = floating("exp", np.exp, lambda dy, y: dy * y, "e^x.", autocast="power")
EXPM1 = "e^x - 1, with all its digits where x is small."
expm1 = floating("expm1", np.expm1, lambda dy, x: dy * np.exp(x), EXPM1, autocast="power")
log = floating("log", np.log, lambda dy, x: dy / x, "The natural logarithm.", autocast="steep")
log2 = floating(
    "log2", np.log2, lambda dy, x: dy / (x * LN2), "The logarithm to base 2.", autocast="steep"
)
log10 = floating(
    "log10", np.log10, lambda dy, x: dy / (x * LN10), "The logarithm to base 10.", autocast="steep"
)
LOG1P = "The natural logarithm of 1 + x, with all its digits where x is small."
log1p = floating("log1p", np.log1p, lambda dy, x: dy / (1 + x), LOG1P, autocast="steep")
sqrt = floating(
    "sqrt", np.sqrt, lambda dy, y: dy / (2 * y), "The square root.", autocast="pointwise"
)
rsqrt = floating(
    "rsqrt",
    lambda x: 1 / np.sqrt(x),
    lambda dy, y: dy * (-0.5 * y * y * y),
    "1 / sqrt(x).",
    autocast="power",
)
reciprocal = floating(
    "reciprocal", lambda x: 1 / x, lambda dy, y: -dy * (y * y), "1 / x.", autocast="power"
)
sin = floating(
    "sin", np.sin, lambda dy, x: dy * np.cos(x), "The sine of x radians.", autocast="pointwise"
)
cos = floating(
    "cos", np.cos, lambda dy, x: -dy * np.sin(x), "The cosine of x radians.", autocast="pointwise"
)
tan = floating(
    "tan", np.tan, lambda dy, y: dy * (1 + y * y), "The tangent of x radians.", autocast="power"
)
ANGLE = "The angle whose {} is x, in radians.".format
asin = floating(
    "asin", np.arcsin, lambda dy, x: dy / _other_side(x), ANGLE("sine"), autocast="steep"
)
acos = floating(
    "acos", np.arccos, lambda dy, x: -dy / _other_side(x), ANGLE("cosine"), autocast="steep"
)
atan = floating(
    "atan", np.arctan, lambda dy, x: dy / (1 + x * x), ANGLE("tangent"), autocast="pointwise"
)
sinh = floating(
    "sinh", np.sinh, lambda dy, x: dy * np.cosh(x), "The hyperbolic sine.", autocast="power"
)
cosh = floating(
    "cosh", np.cosh, lambda dy, x: dy * np.sinh(x), "The hyperbolic cosine.", autocast="power"
)
TANH = {"where": "fp F Tensor", "autocast": "pointwise"}
tanh = floating(
    "tanh", np.tanh, lambda dy, y: dy * ((1 - y) * (1 + y)), "The hyperbolic tangent.", **TANH
)
sigmoid = floating(
    "sigmoid",
    _sigmoid,
    # Of x, for y is 1 in float16 from x = 8.4 on: so binary_cross_entropy can look for x.
    lambda dy, x: dy * (_sigmoid(x) * _sigmoid(-x)),
    "1 / (1 + e^-x).",
    "fp F Tensor",
    autocast="pointwise",
)


# ---- whole numbers ------------------------------------------------------------------------------


def steps(name, value, doc):
    """A function that is constant between its steps: its gradient is 0, also at them."""
    function = unary(name, value, lambda dy, _: np.zeros_like(dy), doc)
    return public("fp Tensor", in_place=True, autocast="pointwise")(function)


def whole(rounding):
    """Integers are whole; NumPy before 2.1 would make them floating numbers."""
    return lambda x: rounding(x) if is_float(x.dtype) else +x


sign = steps("sign", np.sign, "-1, 0 or 1, as x; NaN for NaN. Its gradient is 0.")
floor = steps("floor", whole(np.floor), "The largest whole number up to x. Its gradient is 0.")
ceil = steps("ceil", whole(np.ceil), "The smallest whole number from x on. Its gradient is 0.")
trunc = steps("trunc", whole(np.trunc), "x without its fraction. Its gradient is 0.")
round = steps(
    "round", whole(np.rint), "The nearest whole number, of two the even one. Its gradient is 0."
)
