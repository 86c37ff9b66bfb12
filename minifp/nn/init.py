"""Initial values, written into a tensor or parameter, which is returned.

They are drawn in float32 from the seeded stream "init", so that every precision begins alike, and
what a parameter's format rounds is kept unrounded for masters. Nothing is recorded. Fans are those
of weights (out, in, ...): fan_in = in times the window's places, fan_out = out times them. Every
function raises DTypeError for anything but a tensor of floating numbers, ShapeError for a shape
that it is not for, and ArgumentError for a setting that makes no sense.

Sources: Glorot and Bengio 2010 (xavier); He et al. 2015, arXiv:1502.01852 (kaiming); Saxe et al.
2013, arXiv:1312.6120 (orthogonal); Martens 2010 (sparse).
"""

import math
from functools import wraps
from statistics import NormalDist
from typing import Any, cast

import numpy as np

from minifp.autograd.memory import write
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice, check_count, check_range
from minifp.errors import ArgumentError, DTypeError, ShapeError, TapeError
from minifp.nn.initial import drawn
from minifp.numerics.formats import float32, is_float
from minifp.numerics.policy import get_precision
from minifp.runtime.callers import warn_once
from minifp.typing import F

GAINS = {
    **dict.fromkeys(("linear", "sigmoid", "conv1d", "conv2d", "conv3d"), 1.0),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1.0),
    **{"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4},
}
HALF_STEP = 2.0**-25  # of uniform numbers: with it they lie inside of (0, 1)


# ---- checks -------------------------------------------------------------------------------------


def _check(name, tensor, *dims, least=0, **numbers):
    """Raise unless this is a writeable floating tensor of such a shape, and numbers are finite."""
    if not isinstance(tensor, Tensor) or not is_float(tensor.dtype):
        what = tensor.dtype if isinstance(tensor, Tensor) else type(tensor).__name__
        raise DTypeError(f"{name}: tensor is {what}: expected a tensor of floating numbers")
    if (dims and tensor.ndim not in dims) or tensor.ndim < least:
        expected = " or ".join(map(str, dims)) if dims else f"at least {least}"
        raise ShapeError(
            f"{name}: a tensor of shape {tensor.shape}: expected {expected} dimensions"
        )
    if not tensor.storage.takes(tensor.array):
        raise TapeError(f"{name} on a tensor that shares its elements (expand): clone it first")
    for key, value in numbers.items():
        _finite(name, key, value)


def _finite(name, key, value):
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if not is_number or isinstance(value, bool) or not math.isfinite(value):
        raise ArgumentError(f"{name}: {key}={value!r}: expected a finite number")


def _fans(shape):
    places = math.prod(shape[2:])
    return shape[1] * places, shape[0] * places


def _write(tensor, values):
    if not get_precision().shapes_only:
        write(tensor, values)  # rounds it; a parameter keeps what was rounded away
    return tensor


# ---- simple values ------------------------------------------------------------------------------


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform in [a, b)."""
    _check("uniform_", tensor, a=a, b=b)
    if a > b:
        raise ArgumentError(f"uniform_: a={a!r} and b={b!r}: expected a <= b")
    return _write(tensor, drawn("uniform", tensor.shape, a, b))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal."""
    _check("normal_", tensor, mean=mean)
    check_range("normal_: std", std)
    return _write(tensor, drawn("normal", tensor.shape, mean, std))


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Tensor:
    """Normal(mean, std), but only what lies between a and b."""
    _check("trunc_normal_", tensor, mean=mean, a=a, b=b)
    check_range("trunc_normal_: std", std)
    if std == 0 or a >= b:
        raise ArgumentError(f"trunc_normal_: std={std}, a={a}, b={b}: expected std > 0 and a < b")
    low, high = (a - mean) / std, (b - mean) / std
    sign = -1 if low > 0 else 1  # in the lower tail probabilities are exact
    low, high = (-high, -low) if sign < 0 else (low, high)
    start, stop = (math.erfc(-z / math.sqrt(2)) / 2 for z in (low, high))
    u = drawn("uniform", tensor.shape).astype(np.float64) + HALF_STEP
    shares = np.maximum(start + u * (stop - start), np.finfo(float).tiny)
    inverse = NormalDist().inv_cdf
    z = np.fromiter((inverse(p) if p < 1 else high for p in shares.ravel()), float, shares.size)
    values = mean + std * sign * np.clip(z, low, high)
    return _write(tensor, np.clip(values, a, b).astype(float32).reshape(tensor.shape))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """val everywhere; it may be Inf or NaN."""
    _check("constant_", tensor)
    if not isinstance(val, (int, float, np.integer, np.floating)):
        raise ArgumentError(f"constant_: val={val!r}: expected a number")
    return _write(tensor, np.full(tensor.shape, val, np.float64))


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return constant_(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity, of a matrix (rows, columns)."""
    _check("eye_", tensor, 2)
    return _write(tensor, np.eye(*tensor.shape, dtype=float32))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """A convolution's weight (out, in, K...), of 1 to 3 axes, that passes its channels on.

    groups: each passes on its own.
    """
    _check("dirac_", tensor, 3, 4, 5)
    check_count("dirac_: groups", groups)
    out, channels, *places = tensor.shape
    if out % groups:
        raise ShapeError(f"dirac_: groups={groups} does not divide {out} output channels")
    values = np.zeros(tensor.shape, float32)
    i = np.arange(min(out // groups, channels))
    for group in range(groups):
        at: tuple[Any, ...] = (group * (out // groups) + i, i, *(n // 2 for n in places))
        values[at] = 1
    return _write(tensor, values)


# ---- by fans ------------------------------------------------------------------------------------


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """By how much weights before this nonlinearity are to be larger than before none.

    nonlinearity: "linear", "conv2d" and its kin, "sigmoid", "tanh", "relu", "selu", or
    "leaky_relu", for which param is the negative slope (0.01 where None).
    """
    check_choice("calculate_gain: nonlinearity", nonlinearity, (*GAINS, "leaky_relu"))
    if nonlinearity != "leaky_relu":
        return GAINS[nonlinearity]
    slope = 0.01 if param is None else param
    _finite("calculate_gain", "param", slope)
    return math.sqrt(2 / (1 + slope**2))


def _xavier(name, tensor, gain):
    _check(name, tensor, least=2, gain=gain)
    return abs(gain) * math.sqrt(2 / max(sum(_fans(tensor.shape)), 1))


def _kaiming(name, tensor, a, mode, nonlinearity):
    _check(name, tensor, least=2)
    check_choice(f"{name}: mode", mode, ("fan_in", "fan_out"))
    fan = _fans(tensor.shape)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform between -a and a, a = gain sqrt(6 / (fan_in + fan_out))."""
    bound = math.sqrt(3) * _xavier("xavier_uniform_", tensor, gain)
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal with std = gain sqrt(2 / (fan_in + fan_out))."""
    return normal_(tensor, 0.0, _xavier("xavier_normal_", tensor, gain))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Uniform between -b and b, b = gain sqrt(3 / fan).

    mode: "fan_in" or "fan_out". The gain is `calculate_gain(nonlinearity, a)`.
    """
    bound = math.sqrt(3) * _kaiming("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Normal with std = gain / sqrt(fan); the arguments are those of `kaiming_uniform_`."""
    return normal_(tensor, 0.0, _kaiming("kaiming_normal_", tensor, a, mode, nonlinearity))


# ---- of whole matrices --------------------------------------------------------------------------


def orthogonal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """gain times a random matrix (first axis, all others) whose rows or columns are orthonormal."""
    _check("orthogonal_", tensor, least=2, gain=gain)
    if not tensor.array.size:
        return tensor
    rows = tensor.shape[0]
    normal = drawn("normal", (rows, math.prod(tensor.shape[1:]))).astype(np.float64)
    q, r = np.linalg.qr(normal if rows >= normal.shape[1] else normal.T)
    q = q * np.where(np.diag(r) < 0, -1, 1)  # so that every orthogonal matrix is equally likely
    q = q if q.shape == normal.shape else q.T
    return _write(tensor, (gain * q).astype(float32).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01) -> Tensor:
    """Normal, of a matrix, but for a fraction `sparsity` of each column, at random, which is 0."""
    _check("sparse_", tensor, 2)
    check_range("sparse_: sparsity", sparsity, 0.0, 1.0)
    check_range("sparse_: std", std)
    values = drawn("normal", tensor.shape, 0.0, std)
    order = np.argsort(drawn("uniform", tensor.shape), axis=0, kind="stable")
    np.put_along_axis(values, order[: math.ceil(sparsity * len(order))], 0, axis=0)
    return _write(tensor, values)


# ---- older names --------------------------------------------------------------------------------


def _older(write: F) -> F:
    """The function by the name without "_", which PyTorch has deprecated."""
    name = write.__name__

    @wraps(write)
    def older(*args: Any, **settings: Any) -> Any:
        warn_once(
            f"init.{name[:-1]}",
            f"nn.init.{name[:-1]} is an older name, and writes into its tensor: write "
            f"nn.init.{name}",
            category=FutureWarning,
        )
        return write(*args, **settings)

    older.__name__ = older.__qualname__ = name[:-1]
    older.__doc__ = f"`{name}`, by an older name of PyTorch's."
    return cast(F, older)


uniform, normal, constant = _older(uniform_), _older(normal_), _older(constant_)
eye, dirac = _older(eye_), _older(dirac_)
orthogonal, sparse = _older(orthogonal_), _older(sparse_)
xavier_uniform, xavier_normal = _older(xavier_uniform_), _older(xavier_normal_)
kaiming_uniform, kaiming_normal = _older(kaiming_uniform_), _older(kaiming_normal_)
