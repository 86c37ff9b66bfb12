"""What enters products: its bits, its scale, and that all of it is rounded and nothing else."""

import itertools
from collections import Counter

import numpy as np
import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

import minifp as fp
from minifp import nn
from minifp.numerics import autocast, kernels, policy
from minifp.numerics.formats import as_dtype, downcast, float32, float64, format_of, upcast
from minifp.numerics.kernels import KERNELS
from minifp.numerics.number_format import Format, operand_format
from minifp.numerics.operands import CURRENT, ROW, Rounding, quotient_of, rounded, scale_of
from minifp.ops.products.linear import linear_dw, linear_dx, linear_forward

E4M3, E5M2 = format_of("float8_e4m3fn"), format_of("float8_e5m2")


FORMATS = [E4M3, E5M2, format_of("bfloat16"), operand_format("tf32"), Format("e5m7")]
FORMATS += map(Format, "e2m1+nan=none e4m3+subnormals=off e5m2+own_bias=20 e6m0+nan=none".split())


def numbers(*shape, seed=0, size=1.0):
    x = np.random.default_rng(seed).normal(0, size, shape).astype("f4")
    return downcast(x, as_dtype("bfloat16"))


def significant_bits(x):
    """The bits that the mantissas of x take, with the first."""
    digits = np.abs(np.frexp(np.asarray(x, float64))[0]) * 2.0**53
    return max([54 - len(bin(int(n) & -int(n))[2:]) for n in digits.flat if n], default=0)


@given(st.floats(2.0**-110, 2.0**126, width=32), st.sampled_from(["float8_e4m3fn", "float8_e5m2"]))
def test_the_scale_is_the_largest_power_of_two_that_keeps_the_maximum_in_the_format(amax, name):
    largest = format_of(name).max
    scale = float(scale_of(np.float32(amax), largest))
    assert np.frexp(scale)[0] == 0.5 and amax * scale <= largest < amax * scale * 2
    exact = quotient_of(np.float32(amax), largest)
    assert (exact.dtype, exact) == (float32, np.float32(min(largest / amax, 2.0**126)))


def test_what_has_no_maximum_is_not_scaled_too_large_saturates_and_a_row_scales_alone():
    for of in (scale_of, quotient_of):
        np.testing.assert_array_equal(of(np.array([0, np.inf, np.nan], float32), 448.0), 1)
    x = np.array([1e4, -1e4, 3, np.inf, -np.inf, np.nan], float32)
    y = rounded(x, Rounding(E4M3, CURRENT), (0,))
    np.testing.assert_array_equal(y, [448, -448, 3, np.inf, -np.inf, np.nan])
    half = np.array([65504, -65504], "f2")  # rounded up they would be Inf
    np.testing.assert_array_equal(rounded(half, Rounding(E4M3, CURRENT), (0,)), [61440, -61440])
    x, w = np.full((2, 16), 2.0**-30, float32), np.ones((1, 16), float32)
    x[0] = 1.0
    found = {}
    for scale in ("current", "row", "off"):
        with fp.precision(f"float32,operands=float8_e4m3fn,operand_scale={scale}"):
            found[scale] = linear_forward(x, w, None)[:, 0].tolist()
    assert found == {"current": [16, 0], "row": [16, 2.0**-26], "off": [16, 0]}


@pytest.mark.parametrize("how", [(CURRENT,), (ROW,), (None,), (CURRENT, (), True)])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_an_operand_is_what_ml_dtypes_rounds_over_the_scale(how, name):
    """By the exact factor, as float64 arithmetic rounded where operands.py says so."""
    theirs = getattr(pytest.importorskip("ml_dtypes"), name)
    x, (format, axes) = numbers(3, 700, size=1e-4), (format_of(name), {CURRENT: (0, 1), ROW: (1,)})
    wide, s = upcast(x, float64), np.float32(1)
    if how[0]:
        quotient = format.max / np.abs(wide).max(axes[how[0]], keepdims=True)
        s = (quotient if len(how) > 1 else np.exp2(np.floor(np.log2(quotient)))).astype("f4")
    codes = np.clip((wide * s).astype("f4"), -format.max, format.max).astype(theirs)
    expected = (codes.astype(float64) * (1 / s.astype(float64)).astype("f4")).astype("f4")
    ours = rounded(x, Rounding(format, *(how if len(how) > 1 else (*how, (1,)))), (1,))
    np.testing.assert_array_equal(upcast(ours, float32), expected)


@pytest.mark.parametrize("stored", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("to", FORMATS, ids=lambda f: f.name)
def test_compiled_and_reference_round_alike(stored, to, monkeypatch):
    wide = np.random.default_rng(1).normal(size=(40, 50)) * 2.0 ** np.arange(-25, 25)
    wide[1] = np.arange(50) * 2.0**-12  # ties
    for special in ([], [np.inf, np.nan, -np.inf], [65504.0, -1e-7]):
        wide[0, : len(special)] = special
        x = downcast(
            np.clip(wide, -6e4, 6e4) if special[:1] != [np.inf] else wide, as_dtype(stored)
        )
        hows = [(CURRENT,), (ROW,), (None,), (CURRENT, (), True)]
        for a, how in itertools.product((x.T, x[2, 3, ...]), [Rounding(to, *how) for how in hows]):
            ours = rounded(a, how, (1,))
            with monkeypatch.context() as m:
                m.setattr("minifp.numerics.operands.worth_compiling", lambda *_: False)
                theirs = rounded(a, how, (1,))
            assert ours.dtype == theirs.dtype == (float32 if how.is_exact else x.dtype)
            np.testing.assert_array_equal(*(upcast(y, float32) for y in (ours, theirs)))


def test_tf32_is_float32_rounded_to_ten_bits_of_mantissa():
    bits = np.random.default_rng(0).integers(0, 2**32, 50_000, np.uint32)
    bits[:4000] &= 0xFFFFE000  # numbers of tf32,
    bits[2000:4000] |= 0x1000  # and what lies halfway between two
    x = bits.view(float32)
    x = x[np.isfinite(x)]
    y = rounded(x, Rounding(operand_format("tf32"), None), (0,))
    bits = x.view(np.uint32).astype(np.uint64)
    even = bits + 0xFFF + (bits >> 13 & 1) & 0xFFFFE000
    top = np.uint64(0x7F7FE000)  # the largest, at which what is beyond stays
    even = np.where((even & 0x7FFFFFFF) > top, (even & 0x80000000) | top, even)
    np.testing.assert_array_equal(y.view(np.uint32), even)


def test_tf32_is_for_operands_alone():
    p = fp.Precision.parse("float32,operands=tf32,gradient_operands=tf32")
    assert p.operands == fp.Precision(operands="tf32").operands == "tf32"
    assert fp.Precision.parse(str(p)) == p
    with fp.precision(p):
        y = linear_forward(np.full((1, 3), 1 + 2.0**-11, float32), np.ones((1, 3), float32), None)
    assert y == 3  # a tie: to even
    why = '19 bits, and is for operands of products only: operands=tf32; to store .* "e8m10"'
    for wrong in (
        *(lambda: fp.Precision.parse("float32,storage=tf32"), lambda: fp.Precision(weights="tf32")),
        lambda: fp.Precision.parse("float32,accumulate=tf32"),
        lambda: fp.tensor([1.0], dtype="tf32"),
    ):
        refuses(fp.PrecisionError, why, wrong)


@pytest.mark.parametrize("variant", [lambda p: p, policy.by_references], ids=["compiled", "numpy"])
def test_a_product_is_that_of_the_codes_over_both_scales(variant):
    ml_dtypes = pytest.importorskip("ml_dtypes")

    def codes(x, name, largest):
        wide = upcast(x, float32)
        s = np.float32(2.0 ** np.floor(np.log2(largest / np.abs(wide).max())))
        return (wide * s).astype(getattr(ml_dtypes, name)).astype("f4"), s

    x, w = numbers(64, 300), numbers(40, 300, seed=1, size=0.05)
    dy = numbers(64, 40, seed=2, size=1e-9)
    (cx, sx), (cw, sw) = (codes(a, "float8_e4m3fn", 448) for a in (x, w))
    cy, sy = codes(dy, "float8_e5m2", 57344)
    calls = [
        (linear_forward, (x, w, None), (cx, cw, None), sx * sw),
        *((linear_dx, (dy, w), (cy, cw), sy * sw), (linear_dw, (dy, x), (cy, cx), sy * sx)),
    ]
    for product, args, of_codes, scale in calls:
        with fp.precision(variant(fp.Precision.parse("float8"))):
            ours = product(*args, to=float32)
        with fp.precision(variant(fp.Precision())):
            np.testing.assert_array_equal(ours, product(*of_codes, to=float32) / scale)


PRODUCTS = {"dot", *" ".join(map(autocast.OPERATIONS.get, ("product", "recurrence"))).split()}
SCALED = {"attention_scores", "attention_dk"}  # which multiply q by its scale before


def sums_before(args, left=(), right=(), out=(), shape=(), **_):
    """Whether an einsum adds up one operand alone before it multiplies: over labels of its own, or
    where the other one stretches."""
    counts = Counter([*set(left), *set(right), *set(out)]).values()
    return 1 in counts or bool(left) and any(1 in s for s in (shape, *(a.shape for a in args)))


def test_all_that_enters_a_product_is_rounded_and_gradients_to_a_format_of_their_own(monkeypatch):
    """Operands have 2 significant bits, gradients 4, wherever products are, between the steps of
    sequences too."""
    seen, plain = [], kernels.primitives(float32)

    def dot(a, b):
        seen.append((significant_bits(a), significant_bits(b)))
        return plain.dot(a, b)

    monkeypatch.setattr(kernels, "primitives", lambda sums: plain._replace(dot=dot))
    p = policy.by_references(
        fp.Precision.parse("float32,operands=e6m1,gradient_operands=e6m3,operand_scale=row")
    )
    called, original = set(), kernels.Kernel.__call__

    def noted(kernel, *args, **how):
        seen.clear()
        result = original(kernel, *args, **how)
        if seen and kernel.reference.__name__ not in SCALED and not sums_before(args, **how):
            called.add(kernel)
            gradients = any(o.is_gradient for o in kernel.rule.operands)
            for bits in seen:
                assert min(bits) <= 2 and max(bits) <= (4 if gradients else 2), (kernel, bits)
        return result

    monkeypatch.setattr(kernels.Kernel, "__call__", noted)
    products = {k for k in KERNELS if k.rule.role == "dot"}
    with fp.precision(p):
        for case in CASES:
            if case.operation in PRODUCTS:
                y = case.fn(*[fp.tensor(a, requires_grad=True) for a in case.arrays()])
                sum((t * t).sum() for t in (y if isinstance(y, tuple) else (y,))).backward()
    assert {k for k in products if k.reference.__name__ not in SCALED} <= called


def test_products_round_their_operands_alone():
    """Not biases, masks, first states, or what is saved for a step's formulas."""
    of_sequences = {"h", "dy", "dh", "dc", "before", "cs", "gates", "hs"}
    for k in KERNELS:
        if k.rule.role == "dot":
            entering = {o.name for o in k.rule.operands}
            others = {*k.names} - entering
            sequences = of_sequences if "enter" in k.wants else set()
            assert others <= {"b", "b_ih", "b_hh", "c", "mask", "dp"} | sequences, k
            assert ("enter" in entering) == ("enter" in k.wants) and entering, k
        else:
            assert "dot" not in k.wants and not k.rule.operands


def test_recurrent_layers_compiled_and_not_compute_the_same():
    def gradients(p, make):
        with fp.precision(p):
            fp.manual_seed(0)
            layer, x = make(), fp.randn(4, 5, 6, requires_grad=True)
            y = layer(x)[0]
            (y * y).sum().backward()
            return [t.float().numpy() for t in (y, x.grad, *(w.grad for w in layer.parameters()))]

    p = fp.Precision.parse("float8")
    for make in (lambda: nn.LSTM(6, 8, proj_size=3), lambda: nn.GRU(6, 8), lambda: nn.RNN(6, 8)):
        ours, theirs, plain = (gradients(q, make) for q in (p, policy.by_references(p), "bfloat16"))
        for a, b, c in zip(ours, theirs, plain):
            # a float32 sum in another order may be stored as the next number of bfloat16
            np.testing.assert_allclose(a, b, rtol=2.0**-6, atol=2.0**-8 * np.abs(b).max())
            assert (a != c).any()


@pytest.mark.parametrize("text, problem", [
    ("float32,operand_scale=current", "operand_scale=current without operands to scale"),
    ("float32,operand_scale=delayed:9", "operand_scale=delayed:9 without operands to scale"),
    ("float8,operands=off,gradient_operands=off", "expected operand_scale=off"),
    ("float8,operand_scale=late", "expected current, row, delayed, delayed:N .* or off"),
    ("float8,operand_scale=row+factor=exact", r"expected .* current\+factor=exact"),
    ("mixed,operands=float16", "has no effect on numbers stored in float16"),
    ("mixed,operands=tf32", "has no effect on numbers stored in float16"),
    ("float32,gradient_operands=float32", "no effect .* expected off, or a format of fewer"),
    ("float8,operands=fp8", "expected off, tf32, float16"),
])  # fmt: skip
def test_switches_that_would_do_nothing_are_refused(text, problem):
    refuses(fp.PrecisionError, problem, fp.Precision.parse, text)
