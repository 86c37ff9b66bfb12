"""Calls of what works element by element.

By kernel: its arguments, as letters, and its parameters. x y z: floating, alike. p: positive. m:
booleans. n 2 3: a number. -: None.
"""

import numpy as np

from kernel_calls.named import NAMED
from minifp.numerics.formats import float16, float32

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
    **{"leaky_relu": {"negative_slope": 0.01}, "elu": {"alpha": 1.5}, "celu": {"alpha": 0.7}},
    **{"softplus": {"beta": 2.0, "threshold": 3}, "hardtanh": {"min_val": -1, "max_val": 0.5}},
    **{"clamp": {"min": -0.5, "max": 0.75}, "gelu": {"approximate": "none"}},
}
WITHOUT = {"neg", "sign", *STEPS}  # whose slopes need nothing that is stored
TWO = ("add", "sub", "mul", "div", "maximum", "minimum", "floor_divide", "remainder")
SHAPED = ("mul", "div", "maximum", "minimum")
WHOLE = ("floor_divide", "trunc_divide")


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


# (kernel name, arguments, parameters, which argument's shape it is summed to)
GRADIENTS = [
    *((f"{name}_dx", "xyz", {}, 1) for name in (*SHAPED, "remainder", *WHOLE)),
    *((f"{name}_dy", "xyz", {}, 2) for name in (*SHAPED, "remainder", *WHOLE)),
    *(("pow_dx", letters, {}, 1) for letters in ("xy2", "xy3")),
    *(("pow_dx", "xpn", {}, 1), ("pow_dy", "pyz", {}, 2)),
    *(("clamp_between_dx", "xyz-", {"side": side}, 1 + side) for side in (0, 1)),
    *(("clamp_between_dx", "xy-z", {"side": 2}, 3), ("where_gradient", "mx", {}, None)),
    *(("lerp_dx", "xy", {}, None), ("lerp_dy", "xy", {}, None), ("lerp_dw", "xyz", {}, None)),
    *(("reduce_to", "x", {}, None), ("scale_to", "x", {"factor": -0.25}, None)),
]


def argument(d, letter, shape):
    if letter == "-":
        return None
    if letter in "23n":
        return {"2": 2, "3": 3, "n": 0.3}[letter]
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


def of_gradient(name):
    """Draws a call of a gradient, summed to the shape of what broadcasting stretched."""

    def call(d):
        letters, params, whose = d.choice(*(row for n, *row in GRADIENTS if n == name))
        whole = d.choice((6, 5, 8), (1, 3, 4), (40, 30, 33), (0, 5, 3), (1, 1, 1))
        whole = (90, 9, 700) if d.large else whole
        narrow = d.choice(
            *(whole, whole[1:], whole[2:], (whole[0], 1, 1), (1, whole[1], 1), (1,), ())
        )
        shapes = [narrow if k == whose else whole for k in range(len(letters))]
        args = [argument(d, letter, shape) for letter, shape in zip(letters, shapes)]
        return args, {"shape": narrow, **params}, d.dtype

    return call


def weighted(d):
    """Numbers (N, C, ...) or of one channel, and weights of channels, or one."""
    shape = d.shape("channels", 1)
    channels = len(shape) > 1 and d.choice(True, False)
    return d.array(*shape), (shape[1], *(1,) * (len(shape) - 2)) if channels else ()


def prelu_forward(d):
    x, shape = weighted(d)
    return (x, d.array(*shape, dtype=float32)), {}, d.dtype


def prelu_dx(d):
    x, shape = weighted(d)
    return (d.array(*x.shape), x, d.array(*shape, dtype=float32)), {}, d.dtype


def prelu_dw(d):
    x, shape = weighted(d)
    return (d.array(*x.shape), x), {"shape": shape}, d.dtype


def gated(d):
    lead, rest = d.choice((), (40,), (4, 6)), d.choice((), (22,), (2, 0))
    x = d.array(*lead, 2, 700 if d.large else d.size(1, 33), *rest)
    return len(lead), np.split(x, 2, len(lead))


def glu_forward(d):
    return gated(d)[1], {}, d.dtype


def glu_dx(d):
    axis, (a, b) = gated(d)
    second = np.array([0, 1], d.dtype).reshape(2, *(1,) * (a.ndim - axis - 1))
    return (d.array(*a.shape), a, b, second), {}, d.dtype


CALLS = {
    f"{name} {letters} {i}": of_letters(name, letters, params)
    for i, (name, letters, params) in enumerate(calls_of())
}
CALLS |= {name: of_gradient(name) for name, *_ in GRADIENTS}
CALLS |= {f.__name__: f for f in (prelu_forward, prelu_dx, prelu_dw, glu_forward, glu_dx)}
