"""Formats that NumPy lacks, stored as codes: their dtypes, tensors of them, and what is refused."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from refusals import each_refused, refuses

import minifp as fp
from minifp.derive.dtypes import CODES
from minifp.numerics import formats
from minifp.numerics.format_codes import code_dtype, codes_of, values_of
from minifp.numerics.formats import as_dtype, downcast, float16, float32, format_of, upcast, wider
from minifp.numerics.number_format import FORMATS, format_named
from minifp.ops.public import DECLARED
from minifp.runtime.cpu import can_compile

NAMES = (*CODES, "float6_e3m2", "float4_e2m1", "e5m7", "e8m10", "e3m3+own_bias=5")
each = pytest.mark.parametrize("name", NAMES)


def test_a_dtype_is_its_name_and_numpy_does_not_take_numbers_for_codes():
    x = fp.tensor([1.0, 2.5], dtype="bfloat16")
    assert x.dtype == "bfloat16" == str(x.dtype) and repr(x.dtype) == "dtype('bfloat16')"
    assert x.dtype is fp.bfloat16 and x.dtype == x.array.dtype and x.array.dtype == x.dtype
    assert x.dtype not in (fp.float16, "float16", None, np.dtype("u2"), fp.float8_e5m2)
    assert hash(x.dtype) == hash(x.array.dtype) and pickle.loads(pickle.dumps(x.dtype)) is x.dtype
    assert (x.dtype.itemsize, x.dtype.codes) == (2, x.array.dtype)
    assert isinstance(x.dtype, fp.dtype) and x.is_floating_point() and "bfloat16" in repr(x)
    made = np.ones(3, "f4")
    for asked in (made.astype, np.dtype, partial(np.ones, 3), partial(np.array, [1.0, 2.0])):
        refuses(TypeError, "bfloat16", asked, fp.bfloat16)
        for name in ("bfloat16", "e5m7"):
            refuses(TypeError, f"NumPy has no {name}.*fp.tensor", asked, format_named(name))
    with pytest.raises(TypeError, match="float8_e5m2"):
        np.zeros_like(made, dtype=fp.tensor([1.0], dtype="float8_e5m2").dtype)
    assert made.astype(fp.Format("e5m10")).dtype == np.ones(3, fp.Format("e5m10")).dtype == float16


@each
def test_all_that_name_a_format_give_its_dtype(name):
    format, dtype = format_named(name), as_dtype(name)
    for given in (name, dtype, format, format.text, fp.tensor(1.0, dtype=name).dtype):
        assert as_dtype(given) == dtype and format_of(given).text == format.text
    assert dtype.itemsize == code_dtype(format).itemsize == format.bytes
    assert fp.Format(format.text).text == format.text


def test_a_copy_is_told_of_once_where_ml_dtypes_lacks_the_format_that_it_knows_else(recwarn):
    theirs = pytest.importorskip("ml_dtypes")
    given = np.array([1, -2.5, np.inf], theirs.bfloat16)
    assert fp.tensor([1.0], dtype=theirs.float8_e4m3fn).dtype == fp.float8_e4m3fn
    x = fp.from_numpy(given)
    assert x.dtype == fp.bfloat16 and x.tolist() == [1, -2.5, np.inf]
    back = x.numpy()
    assert back.dtype == given.dtype and np.shares_memory(back, given)
    assert fp.tensor(given).dtype == float32  # as of any array: the precision's format
    x = fp.tensor([1.5, 2.0], dtype="e5m7")
    array = x.numpy()
    assert array.dtype == float32 and array.tolist() == [1.5, 2]
    (told,) = [str(w.message) for w in recwarn if ".numpy() of a tensor of e5m7" in str(w.message)]
    assert "x.float().numpy()" in told
    refuses(ValueError, "a tensor of e5m7 as a NumPy array needs a copy", np.array, x, copy=False)


@pytest.mark.parametrize("dtypes, expected", [
    (("bfloat16", "float16"), "float32"), (("float8_e4m3fn", "float8_e5m2"), "float16"),
    (("float8_e4m3fn", "bfloat16"), "bfloat16"),
    (("float4_e2m1", "float8_e4m3fn"), "float8_e4m3fn"),
    (("bfloat16", "float64"), "float64"), (("e8m10", "float16"), "e8m10"),
    (("e7m5", "float16"), "float32"), (("bfloat16", "int64"), "float64"),
])  # fmt: skip
def test_of_two_formats_the_narrowest_holds_all_numbers(dtypes, expected):
    a, b = (np.dtype(as_dtype(d)) for d in dtypes)
    if "int64" in dtypes:
        assert (fp.ones(2, dtype=a) * fp.ones(2, dtype=b)).dtype == "bfloat16"
    else:
        assert wider(a, b) == wider(b, a) == as_dtype(expected)
        assert (fp.ones(2, dtype=a) + fp.ones(2, dtype=b)).dtype == expected


rng = np.random.default_rng(0)
SINGLES = np.concatenate([  # bit patterns, what is near 1, and what lies on ties
    rng.integers(0, 2**32, 60_000, np.uint32).view(float32),
    rng.normal(0, 1, 20_000).astype(float32),
    np.ldexp(rng.integers(-63, 64, 20_000) / 32, rng.integers(-30, 20, 20_000)).astype(float32),
])  # fmt: skip


@pytest.mark.skipif(not can_compile(), reason="nothing is compiled")
@pytest.mark.parametrize("name", CODES)
def test_compiled_conversions_are_those_of_the_reference_bit_by_bit(name):
    format, dtype = FORMATS[name], as_dtype(name)
    numbers = np.concatenate([SINGLES, SINGLES[::-1]])
    assert numbers.size >= formats.MANY  # so that it is compiled
    every = np.arange(2**format.bits).astype(code_dtype(format))
    every = np.resize(every, max(every.size, formats.MANY))
    with np.errstate(all="ignore"):
        values = upcast(every.view(dtype), float32)
        np.testing.assert_array_equal(values, values_of(every, format))
        assert (np.signbit(values) == np.signbit(values_of(every, format)))[values == values].all()
        for x in (numbers, numbers.astype(np.float64) * (1 + 2.0**-30)):
            got, expected = downcast(x, dtype).view(every.dtype), codes_of(x, format)
            nan = np.isnan(x)
            np.testing.assert_array_equal(got[~nan], expected[~nan])
            assert np.isnan(values_of(got[nan], format)).all()


@each
def test_numbers_go_in_and_come_out_rounded_once(name):
    x = rng.normal(0, 1, (3, 5)).astype(float32)
    held = values_of(codes_of(x, format_named(name)), format_named(name))
    t = fp.tensor(x, dtype=name)
    np.testing.assert_array_equal(np.asarray(t), held)
    assert np.asarray(t).dtype == float32 and t.tolist() == held.tolist()
    assert t[1, 2].item() == float(t[1, 2]) == held[1, 2]
    assert fp.equal(t.float().to(name), t) and fp.allclose(t, t.double(), rtol=0, atol=0)
    assert fp.equal(copy.deepcopy(t), t) and fp.equal(fp.tensor(t, dtype=name), t)
    assert (t.to("int64").tolist(), fp.tensor([0, 1, -1]).to(name).tolist()) == (
        held.astype(int).tolist(), [0, 1, -1],
    )  # fmt: skip


@each
def test_numpy_casts_codes_to_nothing_and_those_of_earlier_versions_are_read(name):
    x, numbers = fp.tensor([-0.0, 2.0], dtype=name), np.zeros(2, float32)
    codes = x.array
    refuses(TypeError, "codes: write tensor.float", codes.astype, float32)
    refuses(TypeError, "codes", numbers.__setitem__, ..., codes)
    before = np.dtype([(codes.dtype.names[0], f"<u{codes.itemsize}")])
    assert fp.equal(fp.Tensor(codes.view(before)), x) and fp.nonzero(x).tolist() == [[1]]


OPERATORS = [d for d in DECLARED if "y" in d.operator and not {*d.operator} & {*"@&|^"}]
MEET = [f"z = {d.operator}" for d in OPERATORS]
MEET += [f"x.{d.names[0]}_(y)" for d in OPERATORS if d.in_place]
MEET += ["x.copy_(y)", "x.fill_(y[1])", "x.lerp_(y, 1.0)", "x.masked_fill_(x > 1.75, y[0])"]
MEET += ["x[0] = y[0]", "x[[1, 0]] = y", "x[:] = np.array(y)", "x.data = y", "x += np.array(y)"]
MEET += ["z = np.array(x) + y", "z = fp.cat([fp.hstack([x, y]), fp.vstack([x, y])[0], y.long()])"]


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "e5m7", "float16"])
@pytest.mark.parametrize("other", ["bfloat16", "float8_e4m3fn", "e5m7", "float32"])
def test_what_meets_and_what_is_written_are_numbers(name, other):
    def run(*dtypes):
        values = zip("xy", ([1.5, 2.0], [1.0, 2.0]), dtypes)
        tensors = {name: fp.tensor(numbers, dtype=dtype) for name, numbers, dtype in values}
        exec(statement, globals(), tensors)
        assert tensors["x"].dtype == dtypes[0]
        return {name: t.tolist() for name, t in tensors.items()}

    for statement in MEET:
        assert run(name, other) == run("float32", "float32"), statement


@each
def test_what_makes_and_changes_tensors_writes_numbers_and_not_codes(name):
    x = fp.full((2, 3), 1.5, dtype=name)
    assert x.tolist() == [[1.5] * 3] * 2 and fp.ones_like(x).tolist() == [[1.0] * 3] * 2
    assert fp.eye(2, dtype=name).tolist() == [[1, 0], [0, 1]] and not fp.zeros(2, dtype=name).any()
    x[0, 1:] = 2.0
    x[1] = fp.tensor([0.0, 1.0, 0.5])
    x += 1
    assert x.tolist() == [[2.5, 3, 3], [1, 2, 1.5]] or format_named(name).mantissa_bits == 1
    assert x.fill_(3).sum() == 18 and x.masked_fill(x > 2, 1.0).sum() == 6
    assert x[x > 4].numel() == 0 and fp.where(x > 2, x, 0.0).dtype == name
    drawn = fp.rand(500, dtype=name).double()
    assert 0 <= drawn.min() and drawn.max() < 1
    drawn = fp.zeros(500, dtype=name).uniform_(-2, 1).double()
    assert -2 <= drawn.min() and drawn.max() < 1
    assert {*fp.bernoulli(fp.full((99,), 0.5, dtype=name)).tolist()} == {0, 1}
    assert fp.cat([x, x]).dtype == fp.stack([x, x]).dtype == fp.sort(x).values.dtype == name
    info, format = fp.finfo(name), format_named(name)
    assert (info.max, info.eps, info.bits) == (format.max, format.eps, 8 * format.bytes)


@pytest.mark.parametrize("name, text", [
    ("float8_e4m3fn", r"1 of 2 values overflow float8_e4m3fn \(largest 448\): now NaN"),
    ("float8_e5m2", r"1 of 2 values overflow float8_e5m2 \(largest 57344\): now -?Inf"),
    ("float4_e2m1", r"1 of 2 values overflow float4_e2m1 \(largest 6\): now 6"),
])  # fmt: skip
def test_what_is_too_large_is_told(name, text):
    with pytest.warns(fp.PrecisionWarning, match=text):
        fp.tensor([1.0, -1e9], dtype=name)
    if format_named(name).has_inf:
        fp.tensor([1.0, -np.inf], dtype=name)


test_what_cannot_be_stored_is_refused = each_refused(
    (lambda: fp.ones(2, dtype="e9m3"), fp.PrecisionError, "a format whose numbers float32 can"),
    (lambda: fp.ones(2, dtype="bf16"), fp.PrecisionError, 'did you mean "bfloat16"'),
    (lambda: fp.ones(2, dtype="fp8"), fp.PrecisionError, 'did you mean "float8_e4m3fn"'),
    (lambda: fp.Format("e4m3+nan=first"), fp.ArgumentError, "expected one of 'ieee', 'last'"),
    (lambda: fp.Format("e4m3+inf=no"), fp.PrecisionError, "inf=no: expected nan=ieee, last"),
    (lambda: fp.Format("e4m3+subnormals=2"), fp.PrecisionError, "subnormals=on or off"),
    (lambda: fp.tensor(np.zeros(2, [("a", "u2")])), fp.DTypeError, "expected floating numbers"),
    (lambda: fp.tensor(np.zeros(2, "V2")), fp.DTypeError, "expected floating numbers"),
    (lambda: fp.Precision(accumulate="e8m12"), fp.PrecisionError, "at most 10 bits of mantissa"),
    (lambda: fp.Precision(weights="e4m30"), fp.PrecisionError, "float32 can hold"),
)


@pytest.mark.references
@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2"])
def test_sums_in_a_format_round_each_partial_sum(name):
    format, x = FORMATS[name], rng.normal(0, 1, (4, 9)).astype(float16)

    def rounded(value):
        return float(values_of(codes_of(np.float64(value), format), format))

    with fp.precision(f"mixed,reduce={name},accumulate={name}"):
        sums = fp.tensor(x).sum(1, dtype="float32").tolist()
        dots = (fp.tensor(x) @ fp.tensor(x[:1]).T).float().reshape(-1).tolist()
    for row, total, dot in zip(x.astype(np.float64), sums, dots):
        expected, product = 0.0, 0.0
        for a, b in zip(row, x[0].astype(np.float64)):
            expected = rounded(expected + rounded(a))
            product = rounded(product + rounded(rounded(a) * rounded(b)))
        assert (total, dot) == (expected, product)


def test_a_gradient_that_is_given_in_a_format_of_codes_is_its_numbers():
    for dtype in ("bfloat16", "float32"):
        x = fp.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
        dy = fp.tensor([0.5, -3.0], dtype="bfloat16")
        assert fp.grad(x * 2, x, dy)[0].tolist() == [1, -6]
        (x * 2).backward(gradient=dy.array, seed=2.0)
        assert x.grad.dtype == dtype and x.grad.tolist() == [2, -12]


def test_a_kernel_of_ones_own_is_compiled_for_codes_and_zeros_are_written_there():
    @fp.kernel("map", "x")
    def capped(x, *, cap):
        return cap * np.tanh(x / cap)

    x = fp.tensor([0.5, -2.0, 40.0], dtype="bfloat16")
    with fp.precision("bfloat16"):
        y = fp.Tensor(capped(x.array, cap=30.0))
    exact = 30 * np.tanh(np.array([0.5, -2.0, 40.0]) / 30)
    assert (np.abs(y.numpy() - exact) <= 2.0**-8 * np.abs(exact)).all()
    assert x.zero_().tolist() == [0, 0, 0] and x.dtype == "bfloat16"
