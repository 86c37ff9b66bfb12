"""fp.explain: each bit, value, neighbour, error and step against NumPy, ml_dtypes and fractions."""

import math
import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pages import Page

import minifp as fp
from minifp.derive.dtypes import NATIVE
from minifp.errors import ArgumentError, DTypeError, MinifpError, ShapeError
from minifp.numerics.format_codes import codes_of, values_of
from minifp.numerics.formats import DESCRIBED, FORMATS, format_named
from minifp.scope.borders import too_large_from
from minifp.scope.explaining.bit_fields import Stored
from minifp.scope.explaining.exact import Exact, combine, decimal
from minifp.scope.explaining.rounding import rounded

HALF = DESCRIBED["float16"]
SMALL = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
every_format = pytest.mark.parametrize("format", DESCRIBED.values(), ids=DESCRIBED)

fractions = st.fractions(max_denominator=10**30) | st.builds(
    lambda n, k: Fraction(n) * Fraction(2) ** k, st.integers(-(2**60), 2**60), st.integers(-160, 90)
)
numbers = fractions.map(Exact.of) | st.floats().map(Exact.of)


def dtype_of(format):
    """The NumPy dtype of a format; ml_dtypes has those that NumPy lacks."""
    if format.name in NATIVE:
        return format.stored
    return np.dtype(getattr(pytest.importorskip("ml_dtypes"), format.name))


def codes(format):
    """Codes of a format: all of a small one, else those around powers of two and the ends."""
    width = 1 + format.exponent_bits + format.mantissa_bits
    if width <= 16:
        return range(2**width)
    end = 2**format.exponent_bits
    powers = {*range(0, end, 1 if width == 32 else 7), 1, 2, end - 2, end - 1}
    steps = [e << format.mantissa_bits for e in powers]
    found = {s + d for s in steps for d in (-2, -1, 0, 1, 2, 12345)} - {-2, -1}
    return [c | sign for c in found for sign in (0, 2 ** (width - 1))]


def as_floats(format, bits):
    dtype = dtype_of(format)
    with np.errstate(all="ignore"):
        return np.array(bits, f"u{dtype.itemsize}").view(dtype).astype(np.float64)


def same(value, x):
    return math.isnan(value) and math.isnan(x) if x != x else value == x


def finite(format):
    every = (Stored(format, code) for code in range(2 ** (len("".join(fields(format))) - 1)))
    return [x for x in every if x.is_finite]


def fields(format):
    return Stored(format, 0).fields


OTHERS = [name for name in FORMATS if name not in DESCRIBED]
OTHERS += ["e5m7", "e4m3+saturates=on", "e5m4+subnormals=off", "e4m0+nan=none", "e3m2+own_bias=-2"]


@pytest.mark.parametrize("name", OTHERS)
def test_any_format_is_rounded_to_as_arrays_are(name):
    format = format_named(name)
    ends = [format.smallest_subnormal, format.smallest_normal, format.max]
    steps = 1 + format.eps * np.float64([0, 0.25, 0.5, 0.75, 1, 1.5, -0.25, -0.5, -1])
    x = np.concatenate([np.outer(ends, steps).reshape(-1), [0, 1, 0.1, np.inf, np.nan]])
    x = np.concatenate([x, -x[:-1]])  # of NaN's sign nothing is told
    border = too_large_from(format)
    for value, code in zip(x, codes_of(x, format)):
        (found,) = fp.explain(float(value), formats=name).values()
        nan = np.isnan(value) and format.quiet_nan is not None
        assert nan or found.bits == code
        assert same(float(found.value), float(values_of(code, format)))
        too_large = np.isinf(value) or border.is_reached(abs(value))
        assert found.saturates == (too_large and found.is_finite and not np.isnan(value))
        for side, end in ((found.above, np.inf), (found.below, -np.inf)):
            assert side is None or (side.value > found.value) == (end > 0)


def test_formats_that_saturate_or_lack_something_say_so():
    def status(x, format):
        (rows,) = (e.rows(name) for e in [fp.explain(x, formats=format)] for name in e)
        return dict(rows)["status"][0][1]

    assert "saturates at the largest number, 28" in status(31, "float6_e3m2")
    assert "saturates at the largest number, 6" in status("1 / 0", "float4_e2m1")
    assert "has no NaN" in status("nan", "float4_e2m1")
    assert "no subnormal numbers" in status(1e-5, "e5m10+subnormals=off")
    assert [*fp.explain(1, formats=["bfloat16", fp.Format("e5m7")])] == ["bfloat16", "e5m7"]
    for wrong in ("e5", ["float16", "fp17"], [], 3):
        with pytest.raises(ArgumentError, match="explain: .*expected.* float16"):
            fp.explain(1, formats=wrong)


@every_format
def test_each_code_has_the_value_that_numpy_and_ml_dtypes_give_it(format):
    bits = codes(format)
    for code, x in zip(bits, as_floats(format, bits).tolist()):
        stored = Stored(format, code)
        assert same(stored.value, x)
        assert int("".join(stored.fields), 2) == code
        assert x != x or stored.negative == (math.copysign(1, x) < 0)


@pytest.mark.parametrize("format", [FORMATS[n] for n in NATIVE], ids=NATIVE)
def test_neighbours_are_those_of_nextafter_and_ulps_those_of_spacing(format):
    bits = [c for c in codes(format) if Stored(format, c).is_finite]
    x = np.array(bits, f"u{format.bytes}").view(format.stored)
    ends = format.stored.type([-np.inf, np.inf])
    with np.errstate(all="ignore"):
        below, above = (np.nextafter(x, end).astype(float).tolist() for end in ends)
        gaps = np.spacing(np.abs(x)).astype(float).tolist()
    for i, code in enumerate(bits):
        stored = Stored(format, code)
        assert (stored.below.value, stored.above.value) == (below[i], above[i])
        assert math.isinf(gaps[i]) or rounded(stored.number, format).ulp == gaps[i]


@pytest.mark.parametrize("name", SMALL)
def test_neighbours_of_small_formats_are_the_next_codes_in_order(name):
    row = finite(DESCRIBED[name])
    assert [x.value for x in row] == sorted(x.value for x in row)
    assert all(x.above == y and y.below == x for x, y in zip(row, row[1:]))
    end = row[-1].above
    assert (end is None) if name == "float8_e4m3fn" else end.value == math.inf
    assert row[0].below.value == -row[1].value


@pytest.mark.parametrize("text, value", [
    ("2^-25", 0), ("3e-8", 2**-24), ("65520", math.inf), ("65519.99", 65504), ("-0", 0),
    ("2049", 2048), ("2051", 2052), ("0x1.002p0", 1), ("0x1.006p0", 1 + 2**-9),
    ("NaN", math.nan),
    ("-Infinity", -math.inf), ("1e9999", math.inf), ("1e-9999", 0), (".5", 0.5), ("5.", 5),
    ("2**-24", 2**-24), ("+0X.8P1", 1), ("10^3", 1000),
])  # fmt: skip
def test_text_is_rounded_to_nearest_and_ties_to_even(text, value):
    assert same(fp.explain(text)["float16"].value, value)


def test_text_is_not_rounded_through_float64_on_the_way():
    """A little above a tie, by less than float64 can tell: the tie itself would go down."""
    text = "1.00048828125" + "0" * 20 + "1"
    assert (float(text), fp.explain(text)["float16"].value) == (1 + 2**-11, 1 + Fraction(1, 1024))
    assert fp.explain(float(text))["float16"].value == 1


@every_format
@given(st.floats(allow_nan=False, width=32) | st.floats(-600, 600, width=32) | st.just(464.0))
@example(464.0)
@example(math.nextafter(464.0, 500))
@example(math.inf)
@example(-0.0)
def test_floats_are_rounded_as_numpy_and_ml_dtypes_do(format, x):
    with np.errstate(all="ignore"):  # from float32, or NumPy's own: ml_dtypes rounds float64 twice
        x = float(np.float32(x)) if format.name in SMALL else x
        wide = np.float32 if format.name in SMALL else np.float64
        cast = np.array(x, wide).astype(dtype_of(format))
    got = rounded(Exact.of(x), format)
    assert same(got.value, float(cast))
    assert got.kind == "nan" or got.negative == np.signbit(cast)


@every_format
@given(x=fractions)
def test_no_number_of_the_format_is_nearer_and_ties_are_even(format, x):
    got = rounded(Exact.of(x), format)
    if not got.is_finite:
        last = Fraction(format.max)
        step = last - Stored(format, rounded(Exact.of(last), format).code - 1).value
        assert abs(x) >= last + step / 2
        return
    rivals = [n for n in (got.below, got.above) if n and n.is_finite]
    assert all(abs(x - got.value) <= abs(x - n.value) for n in rivals)
    assert all(abs(x - got.value) < abs(x - n.value) or got.bits % 2 == 0 for n in rivals)
    assert got.error == got.value - x and abs(got.error_in_ulp) <= Fraction(1, 2)
    assert x == 0 or got.relative_error == got.error / x


@given(numbers)
def test_a_half_is_zero_subnormal_normal_or_neither(x):
    got = rounded(x, HALF)
    value = abs(got.value)
    if got.kind == "normal":
        assert 2**-14 <= value <= 65504
    elif got.kind == "subnormal":
        assert 0 < value < 2**-14
    assert (got.event == "overflow") == (x.is_finite and not got.is_finite)
    assert (got.event == "underflow") == (x.value != got.value and value < 2**-14)


@pytest.mark.parametrize("text, name, words", [
    ("1e-8", "float16", "underflow, flushed to 0: below half of the smallest subnormal, 2^-24"),
    ("-2^-25", "float16", "flushed to -0: exactly half of the smallest subnormal"),
    ("3e-8", "float16", "subnormal, rounded up: 1 of 11 significant bits are left"),
    ("2^-20", "float16", "subnormal, exact: 5 of 11 significant bits are left"),
    ("70000", "float16", "overflow to Inf: it is at least half an ulp beyond the largest num"),
    ("464", "float8_e4m3fn", "normal, rounded from a tie, down"),
    ("465", "float8_e4m3fn", "overflow to NaN: it is more than half an ulp beyond the largest"),
    ("-inf", "float8_e4m3fn", "saturate instead, to -448"),
    ("61440", "float8_e5m2", "overflow to Inf"), ("61439.9", "float8_e5m2", "normal, rounded down"),
    ("-0.1", "float32", "normal, rounded down"), ("0", "float16", "zero, exact"),
    ("nan", "float64", "NaN, as it was"),
    ("256 - 0.009", "float16", "b vanishes: 0.009002685546875 is below 0.0625, half the gap"),
    ("256 - 0.009", "float32", "rounded once"),
    ("1 + 2^-11", "float16", "the addend vanishes: 0.00048828125 is exactly 0.00048828125, half"),
    ("1e-3 + 2048", "float16", "a vanishes"), ("1 + 1", "float8_e5m2", "exact: nothing is lost"),
    ("0.1 + 0.1", "float16", "the operation is exact: only storing a and b lost something"),
    ("1.01 - 1", "float16", "leading bits cancel, so the error of storing a and b"),
    ("1.01 - 1.01", "float16", "all bits cancel"),
    ("1 + 1e-9", "float16", "b was flushed to zero when stored"),
    ("300 * 300", "float16", "overflow to Inf"),
    ("1e-4 * 1e-4", "float16", "underflow, flushed to 0"),
    ("inf - inf", "float64", "NaN, because a and b are not finite here"),
    ("1/0", "float32", "Inf: a division by zero"),
    ("1/0", "float8_e4m3fn", "NaN: a division by zero; the format has no Inf"),
    ("1/1e-9", "float16", "Inf: a division by zero, which b became when it was stored"),
    ("0/0", "float32", "zero divided by zero is no number"),
])  # fmt: skip
def test_the_status_says_what_became_of_it(text, name, words):
    label, pieces = fp.explain(text).rows(name)[-1]
    assert label == "status" and words in pieces[0][1]


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 60))
def test_digits_are_all_of_them_or_correctly_rounded(x, digits):
    text = decimal(Fraction(x), digits)
    if not text.startswith("~"):
        assert Fraction(text) == Fraction(x)
    else:
        shown = min(digits, 17)
        assert Fraction(text[1:]) == Fraction(f"{Decimal(x):.{shown - 1}e}")


PYTHONS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("symbol", PYTHONS)
@settings(max_examples=40)
@given(data=st.data())
def test_results_are_those_of_numpy(name, symbol, data):
    dtype = np.dtype(name)
    pair = st.floats(width=8 * dtype.itemsize)
    a, b = data.draw(pair), data.draw(pair)
    with np.errstate(all="ignore"):
        expected = PYTHONS[symbol](dtype.type(a), dtype.type(b))
    got = fp.explain(a, symbol, b)[name].result
    assert same(got.value, float(expected))
    assert np.isnan(expected) or got.negative == np.signbit(expected)


@every_format
@given(a=fractions, b=fractions, symbol=st.sampled_from("+-*/"))
def test_results_are_the_exact_ones_of_what_is_stored_rounded_once(format, a, b, symbol):
    op = fp.explain(a, symbol, b)[format.name]
    x, y = op.a.value, op.b.value
    if not (op.a.is_finite and op.b.is_finite) or (symbol == "/" and y == 0):
        return
    true = {"+": x + y, "-": x - y, "*": x * y, "/": x / y if y else 0}[symbol]
    assert (op.exact.value, op.result.code) == (true, rounded(Exact.of(true), format).code)
    assert repr(op)
    if op.alignment:
        left = op.alignment
        assert left.staying << left.shift | left.fallen == left.smaller.significand
        vanishes = abs(op.result.value) == max(abs(x), abs(y))
        assert (op.vanishing is not None) == (vanishes and op.result.is_finite)
        if op.vanishing:
            assert left.smaller.number.magnitude <= op.half_gap


def test_a_sum_and_a_product_step_by_step():
    """256 - 0.009 in float16: 15 places to the right, where only 10 are."""
    op = fp.explain("256 - 0.009")["float16"]
    assert (op.alignment.shift, f"{op.alignment.fallen:015b}") == (15, "000010010011100")
    assert op.half_gap == Fraction(1, 16) and op.result.value == 256
    assert op.total_error == Fraction(9, 1000)
    text = fp.explain("256 - 0.009").text()
    assert "- 0.0000000000|000010010011100 x 2^8" in text
    assert "255.990997314453125  in binary 1.1111111111|111011011001 x 2^7" in text
    op = fp.explain(3, "*", "0.1")["float16"]
    assert op.product == 1536 * 1638 and op.result.rest == Fraction(1, 2)
    text = fp.explain("3 * 0.1").text()
    assert "1536 x 1638 = 2515968  significands, in units of 2^-10: 22 bits in all" in text
    assert "1 + (-4) = -3" in text and "in binary 1.0011001100|1 x 2^-2" in text


@given(numbers, st.sampled_from("+-*/"), numbers)
def test_every_explanation_fits_the_screen_and_is_ascii(a, symbol, b):
    for text in (str(fp.explain(a.value)), str(fp.explain(a.value, symbol, b.value))):
        assert text.isascii() and max(map(len, text.splitlines())) <= 100
        assert combine(a, symbol, b) is not None


@pytest.mark.parametrize("x, stored", [
    (np.float16(0.1), "A NumPy scalar of one float16 number, read as stored."),
    (np.array([[0.1]], np.float32), "An array of one float32 number"),
    (fp.tensor([0.1], dtype="float16"), "A tensor of one float16 number"),
    (fp.tensor(0.1, requires_grad=True), "A tensor of one float32 number"),
])  # fmt: skip
def test_elements_are_explained_as_they_are_stored(x, stored):
    found = fp.explain(x)
    assert stored in found.text()
    assert found["float64"].value == Fraction(float(np.asarray(getattr(x, "array", x)).item()))


@pytest.mark.parametrize("name", SMALL)
def test_elements_of_ml_dtypes_are_known(name):
    x = np.array([0.1]).astype(dtype_of(DESCRIBED[name]))
    assert fp.explain(x)[name].is_exact and name in fp.explain(x[0]).text()


def test_python_numbers_are_exact():
    assert fp.explain(Fraction(1, 3))["float16"].exact.value == Fraction(1, 3)
    assert fp.explain(Decimal("0.1"))["float64"].exact.value == Fraction(1, 10)
    assert fp.explain(2**60 + 1)["float64"].error == -1
    assert "0.1000000000000000055511151231257827021181583404541015625" in str(fp.explain(0.1))


def test_anything_else_is_refused_by_name():
    for arguments, error, words in (
        (("abc",), ArgumentError, "not a number: expected a string such as"),
        (("",), ArgumentError, "not a number"),
        (("\u0663",), ArgumentError, "not a number"),  # a digit, but not one of 0 to 9
        (("1 + " + "0" * 3000,), ArgumentError, "expected 2000"),
        (("1e99999999999",), ArgumentError, "expected an exponent from -9999 to 9999"),
        (("9" * 3000,), ArgumentError, "expected 2000"),
        ((10**10000,), ArgumentError, "expected at most"),
        ((Decimal("1e-100000"),), ArgumentError, "expected an exponent"),
        *(((True,), DTypeError, "is a bool"), ((1j,), DTypeError, "is a complex")),
        *(((None,), DTypeError, "is a NoneType"), (([0.1],), DTypeError, "is a list")),
        ((np.zeros(2),), ShapeError, "an array of shape (2,): expected one element"),
        ((np.int32(3),), DTypeError, "a NumPy scalar of int32: expected a number format: float16"),
        ((fp.tensor([1, 2]),), DTypeError, "a tensor of int64"),
        ((fp.zeros(0),), ShapeError, "shape (0,)"),
        ((1.0, "%", 2.0), ArgumentError, "expected one of + - * /"),
        ((1.0, "+"), ArgumentError, "between two numbers"),
        (("1 + 1", "+", 1.0), ArgumentError, "is not a number"),
    ):
        with pytest.raises(error, match=re.escape(words)) as caught:
            fp.explain(*arguments)
        assert isinstance(caught.value, MinifpError) and str(caught.value).startswith("explain: ")


@given(numbers)
def test_the_table_has_of_each_format_what_its_block_says(a):
    found = fp.explain(a.value)
    assert [line[0][1] for line in found.lines()] == [*found]
    for (_, value, error, status), x in zip(found.lines(), found.values()):
        assert value[1] == decimal(x.value, 20)
        assert error[1] == ("-" if x.relative_error is None else decimal(x.relative_error, 8))
        assert dict(found.rows(x.format.name))["status"][0][1].startswith(status[1])
    head, _, *lines = str(found).split("\n\n")[1].splitlines()
    assert head.split() == ["format", "stored", "value", "relative", "error", "status"]
    assert [line.split()[0] for line in lines] == [*found]


@pytest.mark.parametrize("text", ["0.1", "256 - 0.009", "3e4 * 3", "1/3", "nan", "-0.1 * 3"])
def test_html_says_what_the_terminal_says_with_each_format_in_a_card(text):
    html = fp.explain(text)._repr_html_()
    page = Page(html)
    assert "<script" not in html and "http" not in html
    assert [t for t in page.texts if t in DESCRIBED] == [*DESCRIBED, *DESCRIBED]  # table and cards
    assert {"sign", "exponent", "mantissa"} <= {a.get("class") for _, a in page.tags}
    said = "".join(page.texts)
    for x in fp.explain(text).values():
        for stored in [x] if isinstance(x, Stored) else [x.a, x.b, x.result]:
            assert " ".join(stored.fields) in said
    assert "~" not in said and "&" not in said  # real signs, escaped once
    if text == "-0.1 * 3":
        assert "≈" in said and "× 2⁻²" in said and "−0.0999755859375" in said
