"""Claims about scales of optimizer state: how near numbers stay, and which switches are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from snapshots import frozen

import minifp as fp
from minifp.errors import PrecisionError
from minifp.numerics import state_format
from minifp.numerics.formats import format_of
from minifp.numerics.operands import MOST
from minifp.numerics.state_format import SINGLE, StateFormat, decode, encode, length_of, text_of

NAMES = ("float16", "float8_e4m3fn", "float8_e5m2")
every_format = pytest.mark.parametrize("name", [*NAMES, "float6_e3m2", "float4_e2m1", "e5m7"])
STATE, SCALE = "optimizer_state", "optimizer_state_scale"


def numbers(n, seed=0):
    """Of 170 powers of two, some in a row much smaller, and some 0."""
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=n) * np.exp2(rng.uniform(-120, 50, n))).astype(np.float32)
    x[rng.integers(n, size=n // 50)] = 0
    x[n // 2 : n // 2 + n // 8] *= np.float32(2.0**-60)
    return x


def encoded(x, starts, format):
    codes, scales = np.empty(x.size, format.stored), np.empty(starts.size, np.float32)
    encode(x, starts, codes, scales)
    return codes, scales


def decoded(codes, scales, starts):
    x = np.empty(codes.size, np.float32)
    decode(codes, scales, starts, x)
    return x


def spread(scales, starts, n):
    return np.repeat(scales.astype(np.float64), np.diff(starts, append=n))


@every_format
@pytest.mark.parametrize("length", [1, 7, 64, 900])
def test_a_number_is_off_by_half_an_ulp_of_its_multiple_and_the_largest_uses_the_top(name, length):
    format, x = format_of(name), numbers(900)
    starts = np.arange(0, 900, length)
    codes, scales = encoded(x, starts, format)
    y, s = decoded(codes, scales, starts), spread(scales, starts, 900)
    # Of what would be rounded up beyond the largest number, the ulp is that of the binade below it.
    away = np.abs(y.astype(np.float64) - x) * s
    assert np.all(away <= format.ulp(np.minimum(np.abs(x * s), format.max)) / 2)
    top = np.maximum.reduceat(np.abs(y * s), starts)
    largest = np.maximum.reduceat(np.abs(x), starts)
    is_tiny = largest <= format.max * 2.0**-MOST  # the largest scale is too small for it
    assert np.all((top > format.max / 2) | is_tiny)
    assert np.all(top <= format.max)
    assert frozen(encoded(y, starts, format)) == frozen((codes, scales))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [32, 2048, 20000, 50000])
def test_compiled_kernels_give_the_references_bits(name, length, monkeypatch):
    format, x = format_of(name), numbers(50000)
    x[:5], starts = [np.inf, -np.inf, np.nan, 1e-44, -0.0], np.arange(0, 50000, length)

    def both():
        codes, scales = encoded(x, starts, format)
        return frozen((codes, scales, decoded(codes, scales, starts)))

    fast = both()
    monkeypatch.setattr(state_format.formats, "worth_compiling", lambda _: False)
    assert fast == both()


def test_what_is_not_finite_stays_and_scales_nothing():
    format, x = format_of("float8_e5m2"), np.array([np.inf, 1, 2.0**-20, -np.nan, 3], np.float32)
    codes, scales = encoded(x, np.array([0, 3]), format)
    assert scales.tolist() == [1, 1]
    found = decoded(codes, scales, np.array([0, 3]))
    np.testing.assert_array_equal(found, np.array([np.inf, 1, 0, np.nan, 3], np.float32))


@given(st.none() | st.integers(1, 10**18 - 1))
def test_a_scale_is_what_its_text_says(length):
    assert length_of(text_of(length)) == length
    p = fp.Precision.parse(f"mixed,{STATE}=e4m3,{SCALE}={text_of(length)}")
    assert str(p).endswith(text_of(length))


def test_state_is_as_many_bytes_as_its_codes_and_scales_and_no_part_has_its_own():
    text = f"mixed,{STATE}=float8_e5m2,{SCALE}=block:"
    assert fp.Precision.parse(text + "0064") == fp.Precision.parse(text + "64")
    with pytest.raises(PrecisionError, match="second_moment holds for all parameters"):
        fp.Precision.parse("mixed;head=mixed,second_moment=float16")
    assert StateFormat.of(fp.Precision()) == SINGLE
    text = f"mixed,{STATE}=float8_e4m3fn,second_moment=float16,{SCALE}=block:32"
    of = StateFormat.of(fp.Precision.parse(text))
    assert of.bytes_of(100, second=False) == 100 + 4 * 4
    assert of.bytes_of(100, second=True) == 200 + 4 * 4
    assert of._replace(scale="tensor").bytes_of(100, second=False) == 104
    assert of._replace(second=np.dtype("float32")).bytes_of(100, second=True) == 400


@pytest.mark.parametrize("text, what", [
    (f"{STATE}=float16,{SCALE}=row", "expected tensor, block:N"),
    (f"{STATE}=float16,{SCALE}=block:0", "expected tensor, block:N"),
    (f"{STATE}=float16,{SCALE}=block:1.5", "expected tensor, block:N"),
    (f"{SCALE}=tensor", "state in float32, which has the exponent range"),
    (f"{STATE}=bfloat16,{SCALE}=tensor", "state in bfloat16, which has the exponent range"),
    (f"{STATE}=bfloat16,second_moment=float32,{SCALE}=block:8", "bfloat16 and float32"),
    (f"{STATE}=float16,weights=float64,{SCALE}=tensor", "whose state is in the same format"),
    (f"{STATE}=float16,second_moment=float16", "second moments have anyway"),
    ("second_moment=float17", "expected off, "),
])  # fmt: skip
def test_switches_that_are_wrong_or_would_do_nothing_are_refused(text, what):
    refuses(PrecisionError, what, fp.Precision.parse, f"float32,{text}")
