"""Activations: y = f(x), dx = dy f'(x), in one kernel each, which stores x (relu: y).

s is the sigmoid, s(z) = 1 / (1 + e^-z).

relu         max(x, 0), of which y is stored;  f' = 1 where y > 0
leaky_relu   x, or a x where x <= 0 (Maas, Hannun and Ng 2013)
elu          x, or a (e^x - 1) where x <= 0 (Clevert, Unterthiner and Hochreiter, arXiv:1511.07289)
celu         x, or a (e^(x / a) - 1) where x <= 0 (Barron, arXiv:1704.07483)
selu         elu times a scale, which with its a keeps mean 0 and variance 1 (Klambauer et al. 2017,
             arXiv:1706.02515)
silu         x s(x);  f' = s(x) (1 + x s(-x)) (Elfwing, Uchibe and Doya, arXiv:1702.03118)
mish         x t, t = tanh(softplus x);  f' = t + x s(x) (1 - t^2) (Misra, arXiv:1908.08681)
softplus     log(1 + e^(b x)) / b, or x where b x > threshold;  f' = s(b x), or 1
logsigmoid   log s(x);  f' = s(-x)
softsign     x / (1 + |x|);  f' = 1 / (1 + |x|)^2
hardtanh     x between two limits, relu6 between 0 and 6;  f' = 0 outside of them and at them
hardsigmoid  relu6(x + 3) / 6;  f' = 1/6 between -3 and 3
hardswish    x relu6(x + 3) / 6;  f' = (2 x + 3) / 6 between -3 and 3 (Howard et al. 2019,
             arXiv:1905.02244)

At a kink f' is as in PyTorch. Each is written so that nothing overflows or cancels on the way:
1 - s(x) is s(-x), and exponentials are of what is not positive, or their Inf gives 0.
"""

from functools import wraps
from typing import cast

import numpy as np

from minifp.autograd.op import takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.ops.binding import overwritten
from minifp.ops.elementwise import Unary, as_numbers, named, operation, takes_floats, unary
from minifp.ops.pointwise.unary_math import tanh
from minifp.ops.public import public
from minifp.typing import F, Function


def activation(name: str, value: Function, slope: Function, doc: str, where: str = "F") -> Unary:
    """The public function of one floating tensor without settings."""
    function = unary(name, value, slope, doc, takes=takes_floats)
    return public(where, autocast="pointwise")(function)


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


# ---- linear, or an exponential on the left ------------------------------------------------------

relu = public("fp F Tensor", in_place=True, autocast="pointwise")(
    unary(
        "relu",
        lambda x: np.maximum(x, 0),
        lambda dy, y: np.where(y <= 0, 0, dy),
        "max(x, 0), with slope 0 at 0.",
    )
)
leaky_relu_op = operation(
    "leaky_relu",
    lambda x, negative_slope: np.where(x > 0, x, negative_slope * x),
    lambda dy, x, negative_slope: np.where(x > 0, dy, negative_slope * dy),
)
elu_op = operation(
    "elu",
    lambda x, alpha: np.where(x <= 0, alpha * np.expm1(x), x),
    lambda dy, x, alpha: np.where(x > 0, dy, dy * (alpha * np.exp(x))),  # of a NaN, NaN
)
celu_op = operation(
    "celu",
    lambda x, alpha: np.where(x <= 0, alpha * np.expm1(x / alpha), x),
    lambda dy, x, alpha: np.where(x > 0, dy, dy * np.exp(x / alpha)),
)

ALPHA, SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

selu = activation(
    "selu",
    lambda x: SCALE * np.where(x <= 0, ALPHA * np.expm1(x), x),
    lambda dy, x: SCALE * np.where(x > 0, dy, dy * (ALPHA * np.exp(x))),
    "1.0507 x, or 1.7581 (e^x - 1) where x <= 0.",
    "fp F",
)


@public("F", autocast="pointwise")
@takes_floats
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """x, or negative_slope times x where x <= 0."""
    return leaky_relu_op(input, **as_numbers("leaky_relu", negative_slope=negative_slope))


@public("F", autocast="pointwise")
@takes_floats
def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x, or alpha (e^x - 1) where x <= 0."""
    return elu_op(input, **as_numbers("elu", alpha=alpha))


@public("fp F", autocast="pointwise")
@takes_floats
def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x, or alpha (e^(x / alpha) - 1) where x <= 0. Raises ArgumentError for an alpha of 0."""
    numbers = as_numbers("celu", alpha=alpha)
    if numbers["alpha"] == 0:
        raise ArgumentError("celu: alpha=0: expected another number, because celu divides by it")
    return celu_op(input, **numbers)


# ---- smooth -------------------------------------------------------------------------------------


def _both_sigmoids(x):
    """s(x) and s(-x), of one exponential."""
    e = np.exp(-np.abs(x))
    larger = 1 / (1 + e)
    smaller = e * larger
    return np.where(x < 0, smaller, larger), np.where(x < 0, larger, smaller)


def _silu_slope(dy, x):
    s, rest = _both_sigmoids(x)
    return dy * (s * (1 + x * rest))


def _mish_parts(x):
    """tanh(softplus x) and 1 - its square, by e = e^-|x|: top / bottom, both of positive sums."""
    e = np.exp(-np.abs(x))
    top = np.where(x > 0, 1 + 2 * e, e * (e + 2))
    bottom = top + 2 * np.where(x > 0, e * e, 1)
    return top / bottom, np.square(2 * np.where(x > 0, e, 1) * (1 + e) / bottom)


def _mish_slope(dy, x):
    t, rest = _mish_parts(x)
    return dy * (t + x * _both_sigmoids(x)[0] * rest)


def _log_of_sum(z):
    """log(1 + e^z)."""
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


silu = activation(
    "silu", lambda x: x / (1 + np.exp(-x)), _silu_slope, "x times its sigmoid; also called swish."
)
mish = activation("mish", lambda x: x * _mish_parts(x)[0], _mish_slope, "x tanh(softplus(x)).")
logsigmoid = activation(
    "logsigmoid",
    lambda x: -_log_of_sum(-x),
    lambda dy, x: dy * _sigmoid(-x),
    "The logarithm of the sigmoid, without overflow or loss of small probabilities.",
)
softsign = activation(
    "softsign",
    lambda x: x / (1 + np.abs(x)),
    lambda dy, x: dy / np.square(1 + np.abs(x)) + 0 * x,  # NaN at Inf, as Inf / Inf is
    "x / (1 + |x|).",
)
softplus_op = operation(
    "softplus",
    lambda x, beta, threshold: np.where(beta * x > threshold, x, _log_of_sum(beta * x) / beta),
    lambda dy, x, beta, threshold: np.where(beta * x > threshold, dy, dy * _sigmoid(beta * x)),
)


@public("F", autocast="power")
@takes_floats
def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + e^(beta x)) / beta, or x itself where beta x > threshold.

    Raises ArgumentError for a beta of 0.
    """
    numbers = as_numbers("softplus", beta=beta, threshold=threshold)
    if numbers["beta"] == 0:
        raise ArgumentError(
            "softplus: beta=0: expected another number, because softplus divides by it"
        )
    return softplus_op(input, **numbers)


# ---- in straight pieces -------------------------------------------------------------------------


def _hardtanh_slope(dy, x, min_val, max_val):
    return np.where((x <= min_val) | (x >= max_val), 0, dy)


def _hardswish_slope(dy, x):
    return np.where(x <= -3, 0, np.where(x >= 3, dy, dy * ((2 * x + 3) / 6)))


hardtanh_op = operation(
    "hardtanh", lambda x, min_val, max_val: np.clip(x, min_val, max_val), _hardtanh_slope
)
relu6 = activation(
    "relu6",
    lambda x: np.clip(x, 0, 6),
    lambda dy, x: _hardtanh_slope(dy, x, 0, 6),
    "x between 0 and 6.",
)
hardsigmoid = activation(
    "hardsigmoid",
    lambda x: np.clip(x + 3, 0, 6) / 6,
    lambda dy, x: np.where((x > -3) & (x < 3), dy / 6, 0),
    "(x + 3) / 6 between 0 and 1.",
)
hardswish = activation(
    "hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6, _hardswish_slope, "x hardsigmoid(x)."
)


@public("F", autocast="pointwise")
@takes_floats
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x between min_val and max_val. Raises ArgumentError where min_val is the larger."""
    numbers = as_numbers("hardtanh", min_val=min_val, max_val=max_val)
    if numbers["min_val"] > numbers["max_val"]:
        raise ArgumentError(
            f"hardtanh: min_val={min_val} is larger than max_val={max_val}: expected the smaller"
        )
    return hardtanh_op(input, **numbers)


# ---- of several operations ----------------------------------------------------------------------


@public("F")
@takes_floats
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x), of which tanh(x) is stored by itself."""
    return input - tanh(input)


# ---- into their input ---------------------------------------------------------------------------


def into_input(function: F) -> F:
    """The function whose input becomes the result, which it returns."""
    name = f"{function.__name__}_"

    @wraps(function)
    def apply(input, *args, **settings):
        return overwritten(input, function(input, *args, **settings), name)

    doc = f"As `{function.__name__}`; the input becomes the result, as by methods with a _."
    return public("F")(takes_tensor(cast(F, named(apply, name, doc, function))))


relu_, leaky_relu_, elu_ = map(into_input, (relu, leaky_relu, elu))
celu_, selu_, hardtanh_ = map(into_input, (celu, selu, hardtanh))
