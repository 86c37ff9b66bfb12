"""Comparisons and logic, element by element: booleans, which have no gradient. bitwise_and and its
kin work on the bits of integers, and are logic on booleans.

Shapes broadcast. A Python number enters in the compute format: a float16 tensor that stores
0.0999755859375 is not equal to 0.1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.autograd.op import explained, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag, check_range
from minifp.errors import DeviceError, DTypeError
from minifp.numerics.formats import as_native
from minifp.numerics.kernels import kernel
from minifp.ops.elementwise import Binary, Operand, Unary, as_numbers, check_operands, named
from minifp.ops.public import public
from minifp.runtime.device import as_array, device_of, is_array_like


def _plain(name, value):
    """`value`, a function of arrays, as one of Tensors that the tape does not record."""
    value.__name__ = name
    reference = kernel("map", "x")(value)

    def apply(*args):
        arrays = [a.array if isinstance(a, Tensor) else a for a in args]
        try:
            check_operands(*arrays)
            return Tensor(reference(*arrays))
        except (ValueError, TypeError, OverflowError) as error:
            raise explained(error, name, arrays) from error

    return apply


def comparison(name: str, value: Callable[..., Any], doc: str, operator: str = "") -> Binary:
    """The public function value(x, y) of two tensors, or of a tensor and a number."""
    apply = _plain(name, lambda x, y: value(x, y))

    def compare(input: Operand, other: Operand) -> Tensor:
        return apply(input, other)

    return public("fp Tensor", operator=operator)(named(compare, name, doc, comparison))


def predicate(name: str, value: Callable[..., Any], doc: str) -> Unary:
    """The public function value(x) of one tensor."""
    apply = _plain(name, lambda x: value(x))

    def check(input: Tensor) -> Tensor:
        return apply(input)

    return public("fp Tensor")(takes_tensor(named(check, name, doc, predicate)))


eq = comparison("eq", np.equal, "x == y, as booleans.", "x == y")
ne = comparison("ne", np.not_equal, "x != y, as booleans.", "x != y")
lt = comparison("lt", np.less, "x < y, as booleans.", "x < y")
le = comparison("le", np.less_equal, "x <= y, as booleans.", "x <= y")
gt = comparison("gt", np.greater, "x > y, as booleans.", "x > y")
ge = comparison("ge", np.greater_equal, "x >= y, as booleans.", "x >= y")
logical_and = comparison("logical_and", np.logical_and, "Whether neither x nor y is 0.")
logical_or = comparison("logical_or", np.logical_or, "Whether x and y are not both 0.")
logical_xor = comparison("logical_xor", np.logical_xor, "Whether just one of x and y is 0.")


def _bitwise(name, function):
    """A function of arrays of integers or booleans, which refuses others."""

    def value(*arrays):
        for a in arrays:
            kind = a.dtype.kind if hasattr(a, "dtype") else "f" if isinstance(a, float) else "i"
            if kind == "f":
                given = getattr(a, "dtype", repr(a))
                raise DTypeError(f"{name} of {given}: expected integers or booleans")
        return Tensor(as_array(function(*arrays)))

    def apply(*operands):
        arrays = [a.array if isinstance(a, Tensor) else a for a in operands]
        try:
            check_operands(*arrays)
            return value(*arrays)
        except (ValueError, TypeError, OverflowError) as error:
            raise explained(error, name, arrays) from error

    return apply


def bitwise(name: str, function: Callable[..., Any], doc: str, operator: str) -> Binary:
    """The public function of two tensors of integers or booleans, or of one and a number."""
    apply = _bitwise(name, function)

    def combine(input: Operand, other: Operand) -> Tensor:
        return apply(input, other)

    return public("fp Tensor", operator=operator)(named(combine, name, doc, bitwise))


bitwise_and = bitwise("bitwise_and", np.bitwise_and, "x & y: the bits that both have.", "x & y")
bitwise_or = bitwise("bitwise_or", np.bitwise_or, "x | y: the bits that either has.", "x | y")
bitwise_xor = bitwise("bitwise_xor", np.bitwise_xor, "x ^ y: the bits that just one has.", "x ^ y")


@public("fp Tensor", operator="~x")
@takes_tensor
def bitwise_not(input: Tensor) -> Tensor:
    """~x: the other bits of integers, and whether booleans are false."""
    return _bitwise("bitwise_not", np.bitwise_not)(input)


isfinite = predicate("isfinite", np.isfinite, "Whether each number is neither Inf nor NaN.")
isinf = predicate("isinf", np.isinf, "Whether each number is Inf or -Inf.")
isnan = predicate("isnan", np.isnan, "Whether each number is NaN.")
logical_not = predicate("logical_not", np.logical_not, "Whether each number is 0.")


# ---- nearly equal -------------------------------------------------------------------------------


def _arrays(name, *tensors):
    arrays = [a.array if isinstance(a, Tensor) else a for a in tensors]
    try:
        check_operands(*arrays)
        np.broadcast_shapes(*(np.shape(a) for a in arrays))
    except (ValueError, TypeError) as error:
        raise explained(error, name, arrays) from error
    if len({device_of(a) for a in arrays if np.ndim(a)}) > 1:
        raise DeviceError(
            f"{name}: some arguments are on the CPU, others on the GPU: move them to one device, "
            "as with x.to(device='cuda')"
        )
    return [as_native(a)[()] if hasattr(a, "dtype") else a for a in arrays]  # [()]: or a number


@public("fp Tensor")
@takes_tensor
def isclose(
    input: Tensor, other: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether |x - y| <= atol + rtol |y|, computed in float64; Inf is close to itself alone.

    equal_nan: whether NaN is close to NaN. Raises ArgumentError for a negative tolerance.
    """
    for name, v in as_numbers("isclose", rtol=rtol, atol=atol).items():
        check_range(f"isclose: {name}", v)
    check_flag("isclose: equal_nan", equal_nan)
    x, y = _arrays("isclose", input, other)
    with np.errstate(all="ignore"):
        try:
            exact = np.equal(x, y)  # also of integers that float64 does not hold
            a, b = (as_array(v, np.float64)[()] for v in (x, y))
        except OverflowError as error:
            raise DTypeError(f"isclose: other={other!r}: {error}") from None
        near = (np.abs(a - b) <= atol + np.abs(rtol * b)) & np.isfinite(a) & np.isfinite(b)
    if rtol == atol == 0:
        near = exact
    return Tensor(as_array(exact | near | (equal_nan & np.isnan(a) & np.isnan(b))))


@public("fp Tensor")
@takes_tensor
def allclose(
    input: Tensor, other: Operand, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all numbers are close, as `isclose` says."""
    return bool(np.all(isclose(input, other, rtol, atol, equal_nan).array))


@public("fp Tensor")
@takes_tensor
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and, everywhere, equal numbers."""
    if not is_array_like(other):
        raise DTypeError(f"equal: other is a {type(other).__name__}: expected a tensor")
    return input.shape == other.shape and bool(np.all(eq(input, other).array))
