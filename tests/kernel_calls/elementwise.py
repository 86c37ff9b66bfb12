"""Calls of what works element by element.

By kernel: its arguments, as letters, and its parameters. x y z: floating, alike. p: positive. m:
booleans. n: a number. -: None.
"""

import numpy as np

from kernel_calls.named import NAMED
from minifp.numerics.formats import float16

STEPS = ("floor", "ceil", "trunc", "round")
ONE = {
    name: ("x", {})
    for name in (
        *("neg", "abs", "square", "copy", "exp", "expm1", "tanh", "sigmoid", "sign", "relu"),
        *("selu", "silu", "mish", "logsigmoid", "softsign", "relu6", "hardsigmoid", "hardswish"),
        *("erf", "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh"),
        *STEPS,
    )
} | {name: ("p", {}) for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt")}
SETTINGS = {
    "leaky_relu": {"negative_slope": 0.01},
    "elu": {"alpha": 1.5},
    "celu": {"alpha": 0.7},
    "softplus": {"beta": 2.0, "threshold": 3},
    "hardtanh": {"min_val": -1, "max_val": 0.5},
    "clamp": {"min": -0.5, "max": 0.75},
    "gelu": {"approximate": "none"},
}
WITHOUT = {"neg", "sign", *STEPS}  # whose slopes need nothing that is stored
TWO = ("add", "sub", "mul", "div", "maximum", "minimum", "floor_divide", "remainder")
SHAPED = ("mul", "div", "maximum", "minimum")


def calls_of():
    """(kernel name, arguments, parameters) of all compiled kernels that take arrays of one
    shape."""
    for name, (letters, params) in (ONE | {n: ("x", p) for n, p in SETTINGS.items()}).items():
        forward = "copy" if name == "copy" else f"{name}_forward"
        yield forward, letters, params
        if name != "copy":
            yield f"{name}_dx", "x-" if name in WITHOUT else "x" + letters.replace("x", "y"), params
    yield "gelu_forward", "x", {"approximate": "tanh"}
    yield "gelu_dx", "xy", {"approximate": "tanh"}
    yield "clamp_forward", "x", {"max": 0.25}
    yield "clamp_dx", "xy", {"min": 0.25}
    for name in TWO:
        yield f"{name}_forward", "xy", {"alpha": 1} if name in ("add", "sub") else {}
    yield "add_forward", "xy", {"alpha": -0.3}
    yield "sub_forward", "xn", {"alpha": 2}
    for name in ("mul", "div", "maximum", "remainder"):
        yield f"{name}_forward", "xn", {}
        yield f"{name}_forward", "nx", {}
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield name, "xy", {}
        yield name, "xn", {}
    for name in ("isfinite", "isinf", "isnan", "logical_not"):
        yield name, "x", {}
    yield "clamp_between", "xyz", {}
    yield "clamp_between", "x-n", {}
    yield "scaled_loss_forward", "x", {"scale": 1024.0}
    yield "scaled_loss_dx", "x", {"scale": 1024.0}
    yield "dropout_forward", "xm", {"p": 0.3}
    yield "dropout_dx", "xm", {"p": 0.3}
    yield "where_forward", "mxy", {}
    yield "where_forward", "mxn", {}
    yield "masked_fill_forward", "xmn", {}
    yield "lerp_forward", "xyn", {}
    yield "lerp_forward", "xyz", {}
    for y in (2, 3.0, -1):
        yield "pow_forward", "x", {"y": y}
    for y in (0.5, 1.7):
        yield "pow_forward", "p", {"y": y}
    yield "pow_forward", "xy", {}
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield name, "xm", {}


def gradients_of():
    """(kernel name, arguments, parameters, which argument's shape it is summed to)."""
    for name in SHAPED:
        yield f"{name}_dx", "xyz", {}, 1
        yield f"{name}_dy", "xyz", {}, 2
    yield "pow_dy", "pyz", {}, 2
    yield "remainder_dx", "xyz", {}, 1
    yield "remainder_dy", "xyz", {}, 2
    for name in ("floor_divide", "trunc_divide"):
        yield f"{name}_dx", "xyz", {}, 1
        yield f"{name}_dy", "xyz", {}, 2
    for side in range(3):
        yield "clamp_between_dx", "xyz-" if side < 2 else "xy-z", {"side": side}, 1 + side
    yield "where_gradient", "mx", {}, 0
    yield "lerp_dx", "xy", {}, 1
    yield "lerp_dy", "xy", {}, 1
    yield "lerp_dw", "xyz", {}, 1
    yield "reduce_to", "x", {}, None
    yield "scale_to", "x", {"factor": -0.25}, None


def argument(d, letter, shape):
    """The argument: an array, a number, or None."""
    if letter == "-":
        return None
    if letter == "n":
        return 0.3
    if letter == "m":
        return np.asarray(d.random.random(shape) < 0.5)
    x = d.array(*shape)
    return d.laid(np.abs(x)) if letter == "p" else x


def of_letters(name, letters, params):
    """Draws a call of a kernel that takes arrays of one shape."""

    def call(d):
        if name[:4] in ("sin_", "cos_"):
            d.dtype = np.dtype(float16)  # float32 is left to NumPy
        shape = (1300, 70) if d.large else d.choice((3, 5, 7), (1,), (0, 4), (4099,), (12, 9))
        args = [argument(d, letter, shape) for letter in letters]
        more, settings = ([params["y"]], {}) if "y" in params else ([], params)
        rule = NAMED[name].rule.out
        return (*args, *more), settings, None if rule == ("compute",) else d.dtype

    return call


CALLS = {
    f"{name} {letters} {i}": of_letters(name, letters, params)
    for i, (name, letters, params) in enumerate(calls_of())
}
