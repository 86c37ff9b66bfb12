"""Rounding and widening, number by number, against NumPy's own conversions and by arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import minifp as fp
from minifp.derive.dtypes import NATIVE
from minifp.numerics import formats
from minifp.numerics.formats import FORMATS, as_dtype, downcast, float16, float32, float64, upcast

HALVES = np.arange(65536, dtype=np.uint16).view(float16)


def cast(x, dtype):
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def same_bits(x, y):
    """Whether two arrays hold the same bits, any NaN being as good as any other."""
    bits = f"u{x.itemsize}"
    same = x.view(bits) == y.view(bits)
    return x.dtype == y.dtype and x.shape == y.shape and (same | (np.isnan(x) & np.isnan(y))).all()


def midpoints():
    """All float32 numbers halfway between neighbouring halves, each with its two neighbours."""
    finite = np.sort(HALVES[np.isfinite(HALVES)].astype(float64))
    finite = np.concatenate([[-65536.0], finite, [65536.0]])  # where a larger half would be
    middle = ((finite[1:] + finite[:-1]) / 2).astype(float32)
    around = [np.nextafter(middle, float32.type(side * np.inf)) for side in (-1, 1)]
    return np.concatenate([middle, *around])


@pytest.mark.parametrize("name", NATIVE)
def test_limits_are_those_of_ieee_754(name):
    f, info = FORMATS[name], np.finfo(name)
    assert (f.max, f.eps) == (info.max, info.eps)
    assert f.smallest_normal == info.smallest_normal
    assert f.smallest_subnormal == info.smallest_subnormal
    assert (f.bytes, f.stored) == (info.dtype.itemsize, info.dtype)


@pytest.mark.parametrize("name", ["float16", "float32"])
def test_ulp_is_the_gap_to_the_next_number(name):
    x = np.array([1.0, 1.5, 2.0, 1023.0, 2.0**-14, 2.0**-15, 0.0, 32768.0]).astype(name)
    gaps = np.nextafter(x, x.dtype.type(np.inf)).astype(float64) - x
    np.testing.assert_array_equal(FORMATS[name].ulp(x), gaps)
    np.testing.assert_array_equal(FORMATS[name].ulp(-x), FORMATS[name].ulp(x))


@pytest.mark.parametrize("given", ["float16", np.float16, float16, np.dtype(">f2"), fp.float16])
def test_a_dtype_is_known_by_its_name_its_type_and_itself(given):
    assert as_dtype(given) == float16
    assert as_dtype(given).isnative


@pytest.mark.parametrize("given", [None, "", "float8", "complex64", "U3", object, "longdouble", 3])
def test_a_format_that_does_not_exist_is_refused_with_those_that_do(given):
    for refuse in (
        *(as_dtype, lambda d: fp.Precision(weights=d), lambda d: formats.format_of(str(d))),
    ):
        refuses(fp.PrecisionError, "expected (one of )?float16, float32, float64", refuse, given)


@given(st.text() | st.text("ifcbBOSUVMm<>=|(),;0123456789[] ", max_size=6))
def test_any_other_text_for_a_dtype_is_refused_by_a_precision_error(text):
    try:
        assert as_dtype(text).kind in "fiub"
    except fp.PrecisionError as error:
        assert repr(text) in str(error)


@pytest.mark.parametrize("dtype", [float32, float64])
def test_all_65536_halves_widen_to_themselves(dtype):
    assert same_bits(upcast(HALVES, dtype), cast(HALVES, dtype))
    np.testing.assert_array_equal(np.signbit(upcast(HALVES, dtype)), np.signbit(HALVES))


def test_all_65536_halves_come_back_and_what_is_in_the_format_already_is_not_copied():
    for dtype in (float32, float64):
        assert same_bits(downcast(upcast(HALVES, dtype), float16), HALVES)
    for dtype in (float16, float32, float64):
        x = np.ones(3, dtype)
        assert upcast(x, dtype) is x and downcast(x, dtype) is x and formats.round_to(x, dtype) is x


def test_any_float32_is_rounded_as_numpy_rounds_it_and_midpoints_to_even():
    x = midpoints()
    assert same_bits(downcast(x, float16), cast(x, float16))
    middle = downcast(x[: x.size // 3], float16)
    assert (middle.view(np.uint16) & 1 == 0).all()  # the last bit of an even half (and of Inf) is 0
    random = np.random.default_rng(0)
    anything = random.integers(0, 2**32, 300_000, dtype=np.uint32)
    near_halves = (random.integers(0x30000000, 0x48000000, 300_000)).astype(np.uint32)
    for bits in (anything, near_halves, near_halves | 0x80000000, near_halves & 0xFFFFF000):
        x = bits.view(float32)
        assert same_bits(downcast(x, float16), cast(x, float16))
    # round_to has arithmetic of its own; it must agree with narrow for every kind of number.
    random = np.random.default_rng(1)
    bits = random.integers(0, 2**32, 300_000, dtype=np.uint32)
    for x in (midpoints(), bits.view(float32), cast(HALVES, float32)):
        y = formats.round_to(x, float16)
        assert y.dtype == float32
        assert same_bits(y, cast(cast(x, float16), float32))


def test_float64_is_rounded_once_and_inf_nan_and_zeros_keep_what_they_are():
    x = np.array([1 + 2**-11 + 2**-40, 1 + 2**-11 - 2**-40, 2**-25 + 2**-60, 65520 - 2**-30])
    assert downcast(x, float16).tolist() == [1 + 2**-10, 1, 2**-24, 65504]
    assert downcast(x[:1], float32).tolist() == [1 + 2**-11]
    anything = np.random.default_rng(0).integers(0, 2**64, 200_000, np.uint64).view(float64)
    middle = midpoints().astype(float64)
    near = [middle * (1 + step) for step in (0, 1e-16, -1e-16, 1e-12, -1e-9, 3e-8)]
    for x in (anything, *near):
        assert same_bits(downcast(x, float16), cast(x, float16))
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-30, -1e-30, 1e30, -1e30], float32)
    expected = np.array([np.inf, -np.inf, np.nan, 0, -0.0, 0, -0.0, np.inf, -np.inf], float16)
    assert same_bits(downcast(x, float16), expected)
    signalling = np.array([0x7F800001, 0xFFA00000], np.uint32).view(float32)
    assert np.isnan(downcast(signalling, float16)).all()


def arrangements(x):
    """The same numbers in every memory order, with every kind of stride, and across blocks."""
    cube = x[: 4 * 5 * 6].reshape(4, 5, 6)
    big = np.tile(x, 2 * formats.BLOCK // x.size + 2)[: 2 * formats.BLOCK + 7]
    frozen = cube.copy()
    frozen.flags.writeable = False
    return {
        "C": cube, "Fortran": np.asfortranarray(cube), "transposed": cube.transpose(1, 2, 0),
        "every other": cube[::2, :, ::3], "backwards": cube[::-1, :, ::-1], "frozen": frozen,
        "broadcast": np.broadcast_to(cube[:1, :1], (4, 5, 6)), "no dimensions": x[0],
        "0-d": np.array(x[3]), "empty": cube[:0], "one": x[:1], "three blocks": big,
        "blocks in Fortran order": np.asfortranarray(big[:-7].reshape(-1, 8)),
        "unaligned": np.frombuffer(b"-" + x[:100].tobytes(), x.dtype, 100, 1),
    }  # fmt: skip


@pytest.mark.parametrize("source", [float32, float64])
def test_every_memory_order_is_rounded_alike(source):
    x = np.random.default_rng(0).normal(0, 1, 300).astype(source)
    x[::7] *= 1e-6
    x[::11] *= 1e6
    for name, a in arrangements(x).items():
        a, before = np.asarray(a), np.array(a)
        for y in (downcast(a, float16), formats.round_to(a, float16).astype(float16)):
            assert same_bits(np.array(y), np.array(cast(a, float16))), name
        assert (y.shape, formats.round_to(a, float16).dtype) == (a.shape, source)
        assert source == float64 or downcast(a, float16).flags.forc
        np.testing.assert_array_equal(a, before, err_msg=name)
        wide = upcast(downcast(a, float16), source)
        np.testing.assert_array_equal(wide, cast(cast(a, float16), source), err_msg=name)
