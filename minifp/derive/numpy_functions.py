"""What NumPy's functions compute of symbols: a row for each that has a formula."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.derive import elementary
from minifp.derive.symbol import Symbol

# Powers that arithmetic gives: of other exponents they are the C library's.
POWERS: dict[float, Callable[..., Any]] = {
    2: lambda x: x * x, 1: lambda x: 1.0 * x, 3: lambda x: x * x * x, -1: lambda x: 1 / x,
    0.5: np.sqrt, -0.5: lambda x: (x == -math.inf).where(0.0, 1 / np.sqrt(x + 0.0)),
}  # fmt: skip


def _power(self, x, y):
    if self.lift(x).extent == self.lift(y).extent == "h":
        return self.of("pow", x, y)
    for exponent, power in POWERS.items():
        if self.lift(y).extent == "h" and y == exponent:  # asked of a setting, it is a guard
            return power(x)
    return self.of("pow", x, y)


def _floor_divide(self, x, y):
    if self.lift(x).extent == self.lift(y).extent == "h":
        return self.of("floordiv", x, y)
    return _elementary("floor_divide", elementary.floor_divide)(self, x, y)


def _sign(self, x):
    zero = self.of("mul", x, 0.0)  # of a NaN, NaN
    return (x > 0).where(1.0, (x < 0).where(-1.0, zero))


def _xor(self, x, y):
    both, one = self.logical("and", x, y), self.logical("or", x, y)
    return self.logical("and", one, self.logical("not", both))


def operation(op):
    """How a ufunc is one operation on numbers."""
    return lambda self, *operands: self.of(op, *operands)


def logical(op):
    """How a ufunc is one operation on truth values."""
    return lambda self, *operands: self.logical(op, *operands)


def _bitwise(logical_op, integer_op):
    def function(self, *operands):
        if self.node.type == "b":
            return self.logical(logical_op, *operands)
        return self.bitwise(integer_op, *operands)

    return function


def _elementary(name, function):
    def apply(self, *operands):
        numbers = [self.entered(x) for x in operands]
        return numbers[0].call(name, *numbers[1:]) if self.trace.folds else function(*numbers)

    return apply


UFUNCS: dict[str, Callable[..., Any]] = {
    **{
        name: operation(op)
        for name, op in {
            **{"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div"},
            **{"true_divide": "div", "negative": "neg", "absolute": "abs", "fabs": "abs"},
            **{"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint"},
            **{"maximum": "max", "minimum": "min", "less": "lt", "less_equal": "le"},
            **{"greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne"},
        }.items()
    },
    **{name: logical(name[8:]) for name in ("logical_and", "logical_or", "logical_not")},
    "logical_xor": _xor,
    "bitwise_and": _bitwise("and", "iand"),
    "bitwise_or": _bitwise("or", "ior"),
    "invert": logical("not"),
    "power": _power,
    "floor_divide": _floor_divide,
    "square": lambda self, x: x * x,
    "reciprocal": lambda self, x: 1 / x,
    "positive": lambda self, x: 1.0 * x,
    "sign": _sign,
    "isnan": lambda self, x: x != x,
    "isinf": lambda self, x: np.abs(x) == math.inf,
    "isfinite": lambda self, x: np.abs(x) < math.inf,
    "copysign": _elementary("copysign", elementary.copysign),
    "fmod": operation("fmod"),
    "remainder": _elementary("remainder", elementary.remainder),
    **{name: _elementary(name, f) for name, f in elementary.FUNCTIONS.items()},
}


def _clip(x, low=None, high=None, a_min=None, a_max=None):
    low, high = (a_min if low is None else low), (a_max if high is None else high)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _where(condition, yes, no):
    if isinstance(condition, Symbol):
        return condition.where(yes, no)
    symbol = yes if isinstance(yes, Symbol) else no
    return symbol.of("mul", yes if condition else no, 1.0)


def _full_like(x, value, shape=None, **_):
    x.trace.shaping.append(x.node)
    y = x.trace.symbol(x.trace.graph.enter(x.lift(value)), (x,))
    return y if shape is None else y.of_shape(shape).copy()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "clip": _clip,
    "full_like": _full_like,
    "zeros_like": lambda x, **options: _full_like(x, 0.0, **options),
    "empty_like": lambda x, **options: _full_like(x, 0.0, **options),
    "ones_like": lambda x, **options: _full_like(x, 1.0, **options),
}
