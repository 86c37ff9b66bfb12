"""The reference of all conversions: numbers to the codes of a format and back, bit by bit.

    ulp = 2^(max(floor(log2 |x|), 1 - b) - m),    |x| / ulp = n + r,  0 <= r < 1

n is kept; whether it becomes n + 1 is the rounding's:

    nearest-even    r > 1/2, or r = 1/2 and n is odd (IEEE 754)
    nearest-away    r >= 1/2
    toward-zero     never; what is too large becomes the largest number
    stochastic      floor(2^32 r) > a random number of 32 bits: n + 1 with probability r

In integers throughout, so that the same comes out everywhere; kernels that are faster are held
against this.
"""

import math
from typing import Any

import numpy as np

from minifp.checks import check_choice
from minifp.errors import ArgumentError, DTypeError
from minifp.numerics.number_format import Format

ROUNDINGS = ("nearest-even", "stochastic", "toward-zero", "nearest-away")
MANTISSA, BIAS = 52, 1023  # of float64
RANDOM = 32  # bits
FAR = 63  # by as many bits everything is shifted out


def code_dtype(format: Format) -> np.dtype:
    """The smallest unsigned integer that holds a format's codes."""
    return np.dtype(f"u{format.bytes}")


def codes_of(
    x: Any, format: Format, rounding: str = "nearest-even", random: Any = None
) -> np.ndarray:
    """The codes of numbers, rounded once.

    x: an array of float16, float32 or float64, or anything that is one. rounding: one of ROUNDINGS.
    random: for "stochastic", uint32 numbers of x's shape; those of `minifp.runtime.random` are the
    same on every device. NaN becomes the format's NaN with its sign; where there is none, a zero of
    the other sign, as in ml_dtypes. Inf without Inf is what is too large.

    Raises DTypeError for arrays of other numbers, and ArgumentError for another rounding, and for
    random numbers that are missing or do not fit.
    """
    check_choice("codes_of: rounding", rounding, ROUNDINGS)
    x = np.asarray(x)
    if x.dtype.kind != "f" or x.dtype.itemsize > 8:
        raise DTypeError(f"codes_of: an array of {x.dtype}: expected float16, float32 or float64")
    with np.errstate(invalid="ignore"):  # signalling NaNs
        bits = x.astype(np.float64).view(np.uint64)
    # One uint64 and a Python number have no type in common in NumPy 1.
    sign = (bits >> np.uint64(63)).astype(np.int64)
    magnitude = (bits & np.uint64(2**63 - 1)).astype(np.int64)
    exponent = (magnitude >> MANTISSA) - BIAS
    fraction = magnitude & (2**MANTISSA - 1)
    fraction |= np.where(exponent == -BIAS, np.int64(0), np.int64(1 << MANTISSA))
    lowest = 1 - format.bias
    binade = np.maximum(np.maximum(exponent, 1 - BIAS), lowest)
    shift = MANTISSA - format.mantissa_bits + binade - np.maximum(exponent, 1 - BIAS)
    whole = fraction >> np.minimum(shift, FAR)
    rest = fraction - (whole << np.minimum(shift, FAR))
    whole += goes_up(whole, rest, shift, rounding, random)
    code = ((binade - lowest) << format.mantissa_bits) + whole  # a carry goes into the exponent
    if not format.subnormals:
        code = np.where(code < 1 << format.mantissa_bits, 0, code)
    is_finite = exponent <= BIAS
    largest = format.largest_code
    too_large = np.where((rounding == "toward-zero") & is_finite, largest, format.beyond)
    code = np.where((code > largest) | ~is_finite, too_large, code)
    is_nan = ~is_finite & (magnitude > (2 * BIAS + 1) << MANTISSA)
    if format.quiet_nan is None:
        sign, code = np.where(is_nan, 1 - sign, sign), np.where(is_nan, 0, code)
    else:
        code = np.where(is_nan, format.quiet_nan, code)
    return np.asarray(code | sign << (format.bits - 1), code_dtype(format))


def goes_up(whole, rest, shift, rounding, random):
    """Which of the whole numbers become the next one."""
    if rounding == "toward-zero":
        return np.zeros(whole.shape, np.int64)
    if rounding == "stochastic":
        drawn = np.asarray(random) if random is not None else None
        if drawn is None or drawn.shape != whole.shape or drawn.dtype != np.uint32:
            what = "nothing" if drawn is None else f"{drawn.dtype} of shape {drawn.shape}"
            raise ArgumentError(
                f"codes_of: random: {what}: expected uint32 of shape {whole.shape}, as "
                "stochastic rounding needs"
            )
        wide = np.maximum(shift - RANDOM, 0)
        scaled = (rest >> np.minimum(wide, FAR)) << np.maximum(RANDOM - shift, 0)
        return (scaled > drawn).astype(np.int64)
    half = np.where(shift > 0, 1 << np.clip(shift - 1, 0, FAR - 1), 1)
    ties = rest == half
    up = (rest > half) | (ties & ((whole & 1 == 1) if rounding == "nearest-even" else True))
    return up.astype(np.int64)


def values_of(codes: Any, format: Format) -> np.ndarray:
    """The numbers that codes stand for: float32, or float64 where that cannot hold them.

    Raises DTypeError for anything but integers, and ArgumentError for one that is no code.
    """
    codes = np.asarray(codes)
    if codes.dtype.kind not in "iu":
        raise DTypeError(f"values_of: an array of {codes.dtype}: expected integers, codes")
    whole = codes.view(codes.dtype.str.replace("i", "u"))  # of 64 bits all are codes of some format
    if codes.size and int(whole.max()) >= 2**format.bits:
        raise ArgumentError(
            f"values_of: {int(codes.max())} as a code of {format.name}: expected codes from 0 to "
            f"{2**format.bits - 1}"
        )
    codes = whole.astype(np.int64)
    code = codes & (2 ** (format.bits - 1) - 1)
    field = code >> format.mantissa_bits
    mantissa = code & (2**format.mantissa_bits - 1)
    number = np.where(field > 0, mantissa + (1 << format.mantissa_bits), mantissa)
    if not format.subnormals:
        number = np.where(field > 0, number, 0)
    exponent = np.maximum(field, 1) - format.bias - format.mantissa_bits
    with np.errstate(over="ignore"):
        value = np.ldexp(number.astype(np.float64), exponent)
    if format.nan != "none":
        value = np.where(code > format.largest_code, math.nan, value)
    if format.has_inf:
        value = np.where(code == format.largest_code + 1, math.inf, value)
    value = np.where(codes >> (format.bits - 1) & 1, -value, value)
    return np.asarray(value, np.float32 if format.fits_float32 else np.float64)


def rounded_to(
    x: Any, format: Format, rounding: str = "nearest-even", random: Any = None
) -> np.ndarray:
    """Numbers rounded to a format's, as `values_of` gives them. Raises as `codes_of` does."""
    return values_of(codes_of(x, format, rounding, random), format)
