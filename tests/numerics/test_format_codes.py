"""Formats by their bits: codes and all roundings, against ml_dtypes, NumPy and fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from refusals import each_refused

from minifp.derive.dtypes import NATIVE
from minifp.errors import ArgumentError, DTypeError, PrecisionError
from minifp.numerics.format_codes import ROUNDINGS, code_dtype, codes_of, rounded_to, values_of
from minifp.numerics.formats import DESCRIBED, FORMATS
from minifp.numerics.number_format import Format

THEIRS = {  # as ml_dtypes calls them
    **{"bfloat16": Format("e8m7"), "float8_e4m3fn": Format("float8_e4m3fn", 4, 3, "last")},
    **{"float8_e5m2": Format("e5m2"), "float8_e3m4": Format("e3m4"), "float8_e4m3": Format("e4m3")},
    "float6_e3m2fn": Format("float6_e3m2", 3, 2, "none"),
    "float6_e2m3fn": Format("float6_e2m3", 2, 3, "none"),
    "float4_e2m1fn": Format("float4_e2m1", 2, 1, "none"),
}
rng = np.random.default_rng(0)
POWERS = np.ldexp(rng.integers(-63, 64, 50_000) / 32, rng.integers(-30, 20, 50_000))
NUMBERS = np.concatenate([  # bit patterns, what is near 1, and what lies on ties
    rng.integers(0, 2**32, 200_000, np.uint32).view(np.float32),
    rng.normal(0, 1, 100_000).astype(np.float32), POWERS.astype(np.float32),
])  # fmt: skip


@pytest.mark.parametrize("name", THEIRS)
def test_codes_and_values_are_those_of_ml_dtypes(name):
    theirs, format = getattr(pytest.importorskip("ml_dtypes"), name), THEIRS[name]
    every = np.arange(2**format.bits).astype(code_dtype(format))
    values = every.view(theirs).astype(np.float32)
    np.testing.assert_array_equal(values_of(every, format), values)
    assert (np.signbit(values_of(every, format)) == np.signbit(values))[values == values].all()
    with np.errstate(all="ignore"):
        x = NUMBERS.copy()
        expected = x.astype(theirs).view(every.dtype)
    if format.quiet_nan is not None:  # any code of NaN is one
        assert np.isnan(values_of(codes_of(x[np.isnan(x)], format), format)).all()
        x, expected = x[~np.isnan(x)], expected[~np.isnan(x)]
    np.testing.assert_array_equal(codes_of(x, format), expected)


@pytest.mark.parametrize("name", NATIVE)
def test_codes_and_values_are_those_of_numpy(name):
    format = FORMATS[name]
    with np.errstate(all="ignore"):
        x = np.ldexp(NUMBERS.astype(np.float64) * (1 + 2**-30), rng.integers(-60, 30, NUMBERS.size))
        x = x[~np.isnan(x)]
        expected = x.astype(format.stored)
    codes = codes_of(x, format)
    np.testing.assert_array_equal(codes, expected.view(codes.dtype))
    np.testing.assert_array_equal(values_of(codes, format), expected)


def grid(format):
    """All finite numbers of a format, in order, as fractions."""
    codes = np.arange(format.largest_code + 1)
    if not format.subnormals:
        codes = codes[(codes == 0) | (codes >= 1 << format.mantissa_bits)]
    above = [Fraction(float(v)) for v in values_of(codes, format)]
    return [-v for v in above[:0:-1]] + above


FEW = [*THEIRS.values(), Format("e3m3", own_bias=5), Format("e4m2", saturates=True)]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("format", FEW[1:], ids=lambda f: f.name)
def test_each_rounding_takes_the_neighbour_that_it_says(format, rounding):
    rng, numbers = np.random.default_rng(len(rounding)), grid(format)
    x = rng.uniform(-1, 1, 800) * format.max * 2.0 ** rng.integers(-40, 1, 800)
    ties = [float((a + b) / 2) for a, b in zip(numbers, numbers[1:])]
    x = np.array([*x, *ties, *map(float, numbers)], np.float64)
    random = rng.integers(0, 2**32, x.size, np.uint32) >> rng.integers(0, 32, x.size, np.uint32)
    got = rounded_to(x, format, rounding, random)
    for value, found, drawn in zip(x.tolist(), got.tolist(), random.tolist()):
        exact = abs(Fraction(value))
        low = max(n for n in numbers if n <= exact)
        high = min((n for n in numbers if n >= exact), default=None)
        if high is None or high == low:
            assert high is None or abs(found) == low
            continue
        place, half = (exact - low) / (high - low), Fraction(1, 2)
        if rounding == "stochastic":
            up = math.floor(place * 2**32) > drawn
        elif rounding == "toward-zero":
            up = False
        else:
            even = int(codes_of([float(low)], format)[0]) % 2 == 0
            up = place > half or (place == half and (rounding == "nearest-away" or not even))
        assert abs(found) == (high if up else low), (value, place)
        assert found == 0 or (found < 0) == (value < 0)


def test_stochastic_rounding_is_right_on_the_mean():
    x = np.full(100_000, 1 + 0.3 / 128, np.float32)
    random = rng.integers(0, 2**32, x.size, np.uint32)
    got = rounded_to(x, Format("e8m7"), "stochastic", random)
    assert {*got.tolist()} == {1.0, 1 + 2**-7}
    assert abs((got > 1).mean() - 0.3) < 5 * (0.3 * 0.7 / x.size) ** 0.5


def test_what_is_beyond_the_ends_is_as_described():
    ends = np.array([1e9, -1e9, np.inf, -np.inf])
    largest = {"float6_e3m2": 28, "float4_e2m1": 6, "e4m2+saturates=on": 224}
    for format in THEIRS["float6_e3m2fn"], THEIRS["float4_e2m1fn"], Format("e4m2", saturates=True):
        top = largest[format.name]
        assert format.max == top and rounded_to(ends, format).tolist() == [top, -top, top, -top]
    assert np.isnan(rounded_to(ends, DESCRIBED["float8_e4m3fn"])).all()
    assert rounded_to(ends, Format("e5m2")).tolist() == [np.inf, -np.inf, np.inf, -np.inf]
    cut = rounded_to(ends, Format("e5m2"), "toward-zero")
    assert cut.tolist() == [57344, -57344, np.inf, -np.inf]
    flushes = Format("e5m10", subnormals=False)
    small = np.array([2.0**-14, -(2.0**-15), 2.0**-14 * (1 - 2.0**-12)])
    assert rounded_to(small, flushes).tolist() == [2.0**-14, 0, 2.0**-14]
    assert flushes.smallest_subnormal == flushes.smallest_normal == 2.0**-14


def test_a_name_may_say_the_bits_and_the_farthest_biases_are_held():
    format = Format("e5m7")
    assert (format.exponent_bits, format.mantissa_bits, format.bits, format.bytes) == (5, 7, 13, 2)
    assert code_dtype(format) == np.uint16 and code_dtype(Format("e8m10")) == np.uint32
    assert format.max == 2.0**15 * (2 - 2**-7) and format.eps == 2**-7
    for bias in (-1008, 1023):
        format = Format("a", 4, 3, "none", own_bias=bias)
        numbers = values_of(np.arange(128), format)
        assert np.isfinite(numbers).all() and (np.diff(numbers) > 0).all()
        np.testing.assert_array_equal(codes_of(numbers, format), np.arange(128))


test_what_cannot_be_is_refused = each_refused(
    (lambda: Format("float7"), PrecisionError, "as in 'e5m7'"),
    (lambda: Format("e12m3"), ArgumentError, "exponent_bits=12: expected at most 11"),
    (lambda: Format("e1m3"), ArgumentError, "exponent_bits=1: expected an integer, at least 2"),
    (lambda: Format("e5m53"), ArgumentError, "mantissa_bits=53: expected at most 52"),
    (lambda: Format("e5m0"), ArgumentError, "nan='last' or 'none'"),
    (lambda: Format("a", 4, 3, "first"), ArgumentError, "expected one of 'ieee', 'last'"),
    (lambda: Format("a", 4, 3, own_bias=1024), ArgumentError, "integer from -1008 to 1023"),
    (lambda: Format("a", 4, 3, own_bias="7"), ArgumentError, "own_bias='7': expected an integer"),
    (lambda: Format("a", 4, 3, saturates=2), ArgumentError, "expected True or False"),
    (lambda: values_of([0.5], Format("e5m2")), DTypeError, "expected integers"),
    (lambda: values_of([256], Format("e5m2")), ArgumentError, "256 as a code of e5m2"),
    (lambda: codes_of([1], Format("e5m2")), DTypeError, "an array of int64: expected float16"),
    (lambda: codes_of([1.0], Format("e5m2"), "up"), ArgumentError, "expected one of 'nearest"),
    (lambda: codes_of([1.0], Format("e5m2"), "stochastic"), ArgumentError, "random: nothing"),
    (
        lambda: codes_of([1.0], Format("e5m2"), "stochastic", np.zeros(2, np.uint32)),
        ArgumentError,
        r"uint32 of shape \(2,\): expected uint32 of shape \(1,\)",
    ),
)
