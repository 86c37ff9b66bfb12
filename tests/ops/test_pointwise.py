"""Claims about operations element by element: every half, integers, settings, layers, errors."""

from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
from bounds import Calls
from cases import COMPARISONS, OF_NUMPY, activation, pointwise
from refusals import check_refusals, refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.numerics.formats import FORMATS, float16, float32, float64

HALVES = np.arange(65536, dtype=np.uint16).view(float16)


def function(name):
    return getattr(F, name, None) or getattr(fp, name)


PLAIN = (*pointwise.ANY, *pointwise.STEPS, *pointwise.LIMITED, *activation.PLAIN)
OF_ONE = [(name, {}) for name in (*PLAIN, *activation.SETTINGS)] + [
    *(("gelu", {"approximate": "tanh"}), ("softplus", {"beta": 2, "threshold": 5})),
    *(("celu", {"alpha": 0.5}), ("leaky_relu", {"negative_slope": -0.3})),
]


@pytest.mark.parametrize("name, settings", OF_ONE)
def test_of_every_half_value_and_slope_are_the_exact_ones_rounded_once(name, settings):
    """From subnormal numbers to 65504, Inf and NaN: nothing overflows or cancels on the way."""
    with fp.precision("mixed"), Calls() as calls:
        x = fp.Tensor(HALVES.copy(), requires_grad=True)
        function(name)(x, **settings).backward(gradient=np.ones(x.shape))
    assert len(calls) == 2
    for call in calls:
        assert call.excess() <= 1, call.kernel


@pytest.mark.parametrize("name, settings", OF_ONE)
def test_of_every_finite_half_float64_gives_what_pytorch_does(torch, name, settings):
    """In the tails PyTorch's gelu and erf are 1 + something small, with errors of 2^-53."""
    low, high = pointwise.LIMITED.get(name, (-65504.0, 65504.0))
    if name in ("sinh", "cosh"):  # PyTorch's overflow a little too early
        low, high = -709.0, 709.0
    a = HALVES[np.isfinite(HALVES)].astype(float64)
    a = a[(a >= low) & (a <= high)]
    with fp.precision("float64"):
        x = fp.tensor(a, requires_grad=True)
        y = function(name)(x, **settings)
        y.backward(gradient=np.ones(x.shape))
    t = torch.tensor(a, requires_grad=True)
    theirs = getattr(torch.nn.functional, name, None) or getattr(torch, name)
    z = theirs(t, **settings)
    z.backward(torch.ones_like(z))
    np.testing.assert_allclose(y.array, z.detach().numpy(), rtol=1e-12, atol=1e-12)
    slope = 1e-7 if name == "hardsigmoid" else 1e-12  # PyTorch's 1/6 is that of float32
    np.testing.assert_allclose(x.grad.array, t.grad.numpy(), rtol=slope, atol=1e-12)


@pytest.mark.parametrize("dtype, close", [("float32", 1e-6), ("float64", 2e-15)])
def test_erf_and_the_left_tail_of_gelu_keep_their_digits(dtype, close):
    """Of x (1 + erf(x / sqrt 2)) / 2 float32 has none left at -6, and float64 at -9."""
    from math import erf, erfc, sqrt

    a = fp.tensor(np.linspace(-8, 4, 1001), dtype=dtype)
    expected = [v * erfc(-v / sqrt(2)) / 2 for v in a.tolist()]
    rounded = 40 if dtype == "float64" else 1  # erfc is given a rounded v / sqrt(2), too
    np.testing.assert_allclose(F.gelu(a).array, expected, rtol=close * rounded, atol=1e-300)
    np.testing.assert_allclose(fp.erf(a).array, [erf(v) for v in a.tolist()], rtol=close)


@pytest.mark.parametrize("name, settings", OF_ONE)
def test_the_tape_stores_the_input_or_the_result_and_not_both(name, settings):
    with fp.precision("mixed"):
        x = fp.tensor([0.5, 1.0], requires_grad=True)
        y = function(name)(x, **settings)
    if name in ("neg", *pointwise.STEPS):
        assert y.node.saved == ()
    else:
        (saved,) = y.node.saved
        assert saved is x.array or saved is y.array
    assert y.node.op == name


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", ["exp", "sqrt", "sigmoid", "tanh", "erf", "reciprocal", "log1p"])
def test_functions_of_integers_are_floating_and_computed_in_float32(name, dtype):
    """NumPy would give float16, of float16 accuracy, for uint8, and 1 // x for 1 / x."""
    x = fp.tensor([1, 3, 1], dtype=dtype)
    expected = getattr(fp, name)(fp.tensor(x.array, dtype="float64")).array
    for precision, stored in (("float32", float32), ("mixed", float16), ("float64", float64)):
        with fp.precision(precision):
            y = getattr(fp, name)(x)
        assert y.dtype == stored and not y.requires_grad
        np.testing.assert_allclose(y.array, expected, rtol=2 * FORMATS[stored.name].eps)


def test_arithmetic_and_rounding_of_integers_stay_integers():
    x, y = fp.tensor([7, -7, 0]), fp.tensor([2, 2, -3])
    same = {"floor": x, "ceil": x, "trunc": x, "round": x, "neg": -x, "sign": [1, -1, 0]}
    for name, expected in same.items():
        z = getattr(fp, name)(x)
        assert z.dtype == np.int64 and z.tolist() == list(expected), name
    assert fp.floor(x).array is not x.array
    results = {
        **{"x // y": (x // y, [3, -4, 0]), "x % y": (x % y, [1, 1, 0])},
        **{"-7 // y": (-7 // y, [-4, -4, 2]), "7 % y": (7 % y, [1, 1, -2])},
        "trunc": (fp.div(x, y, rounding_mode="trunc"), [3, -3, 0]),
        **{"add": (fp.add(x, y, alpha=3), [13, -1, -9]), "sub": (x.sub(y, alpha=2), [3, -11, 6])},
        "clamp": (x.clamp(-2, 5), [5, -2, 0]),
    }
    for name, (z, expected) in results.items():
        assert z.dtype == np.int64 and z.tolist() == expected, name
    assert fp.div(x, y).dtype == float32


@pytest.mark.parametrize("name", [*activation.PLAIN, *activation.SETTINGS, "glu"])
def test_activations_of_integers_are_refused(name):
    refuses(fp.DTypeError, f"{name}: input of int64: expected", getattr(F, name), fp.tensor([1, 2]))


def test_pow_of_zero_and_of_negative_numbers_is_pytorchs(torch):
    bases, exponents = np.meshgrid(
        [0.0, -0.0, -2, 3, np.inf, np.nan], [0.0, 1, 2, -1, 0.5, -3, np.inf, np.nan]
    )
    x, y = (fp.tensor(a, requires_grad=True) for a in (bases, exponents))
    t, u = (torch.tensor(a, dtype=torch.float32, requires_grad=True) for a in (bases, exponents))
    z, v = x**y, t**u
    z.backward(gradient=np.ones(z.shape))
    v.backward(torch.ones_like(v))
    np.testing.assert_allclose(z.array, v.detach().numpy(), rtol=1e-6)
    np.testing.assert_allclose(x.grad.array, t.grad.numpy(), rtol=1e-6)
    np.testing.assert_allclose(y.grad.array, u.grad.numpy(), rtol=1e-6)


def test_division_to_whole_numbers_is_pytorchs_at_its_edges(torch):
    values = [0.0, -0.0, 5, -5, 7.5, -0.5, np.inf, -np.inf, np.nan]
    a, b = (m.astype(float32) for m in np.meshgrid(values, values))
    for ours, theirs in (
        *((lambda m, x, y, r=r: m.div(x, y, rounding_mode=r),) * 2 for r in ("floor", "trunc")),
        *((lambda m, x, y: m.remainder(x, y),) * 2, (lambda m, x, y: x // y,) * 2),
    ):
        expected = theirs(torch, torch.tensor(a), torch.tensor(b)).numpy()
        np.testing.assert_array_equal(ours(fp, fp.tensor(a), fp.tensor(b)).array, expected)


def test_alpha_enters_in_the_compute_format():
    with fp.precision("mixed"):
        x, y = fp.tensor([0.0], requires_grad=True), fp.tensor([1e-4], requires_grad=True)
        z = fp.add(x, y, alpha=1e5)  # Inf in float16
        z.backward(gradient=np.ones(1))
    assert abs(z.item() - 10) < 0.01
    assert (x.grad.item(), y.grad.item()) == (1, np.inf)


def test_an_infinite_gradient_does_not_pass_where_the_slope_is_zero():
    """0 times Inf would be NaN, where PyTorch has 0."""
    x = fp.tensor([-9.0, 9.0], requires_grad=True)
    zero = [F.relu, F.relu6, F.hardtanh, F.hardsigmoid, F.hardswish, fp.floor, fp.sign]
    zero += [lambda x: x.clamp(max=0), lambda x: fp.maximum(x, 0)]
    zero += [lambda x: fp.where(x > 0, x, 1.0), lambda x: x.masked_fill(x > 0, 0)]
    for f in zero:
        x.grad = None
        f(x).backward(gradient=[np.inf, np.inf])
        assert not np.isnan(x.grad.array).any(), f
        assert 0 in x.grad.tolist(), f


def test_where_and_masked_fill_take_numbers_which_decide_no_format():
    c = fp.tensor([True, False])
    with fp.precision("mixed"):
        x = fp.tensor([3.0, 4.0])
        assert fp.where(c, x, 0).dtype == fp.where(c, 0.1, x).dtype == float16
        assert fp.where(c, 1.0, 0.0).dtype == float16
        assert fp.where(c, fp.tensor([1, 2]), 0.5).tolist() == [1, 0.5]
    assert (fp.where(c, 1, 0).dtype, x.where(c, 0.0).tolist()) == (np.int64, [3, 0])
    mask = fp.tensor([True, False])
    with fp.precision("mixed"):
        assert fp.tensor([1.0, 2.0]).masked_fill(mask, float("-inf")).tolist() == [-np.inf, 2]
    filled = fp.tensor([1, 2], dtype="uint8").masked_fill(mask, 7.0)
    assert (filled.dtype, filled.tolist()) == (np.uint8, [7, 2])
    assert (fp.tensor([1, 2]) > 1).masked_fill(mask, True).tolist() == [True, True]


def test_a_prelu_weight_meets_activations_in_their_format_and_its_gradient_is_summed_in_float32():
    with fp.precision("mixed"):
        layer = nn.PReLU()
        layer(fp.tensor(-np.ones((3000, 1)))).backward(gradient=np.ones((3000, 1)))
        assert layer.weight.dtype == layer.weight.grad.dtype == float16
        assert layer.weight.grad.tolist() == [-3000]  # a sum in float16 stops at 2048
    with fp.precision("float32,activations=float16,gradients=float16"):
        layer = nn.PReLU(2, init=0.1)
        y = layer(fp.tensor([[-1.0, 1.0]]))
    assert (layer.weight.dtype, y.dtype) == (float32, float16)
    assert layer.state_dict()["weight"].tolist() == [float(float32.type(0.1))] * 2
    assert y.tolist() == [[-float(float16.type(0.1)), 1]]


X = np.linspace(-1, 1, 6).reshape(2, 3)


def test_bad_input_is_refused_by_name():
    check_refusals(r"""
    fp.erf(0.5) -> DTypeError: erf: input is a float: expected a tensor
    fp.add(x, [1.0]) -> DTypeError: add\(float32 \(2, 3\), \[1\.0\]\): a list: exp
    fp.mul([1.0], x) -> DTypeError: mul\(\[1\.0\], .*a list: expected tensors or nu
    fp.eq(x, [1.0]) -> DTypeError: eq\(.*a list: expected tensors or numbers
    fp.where(x > 0, x, [1.0]) -> DTypeError: where\(.*a list: expected tensors
    x.lerp(x, [0.5]) -> DTypeError: lerp\(.*a list: expected tensors or numbers
    x.lerp(fp.ones(2), 0.5) -> ShapeError: lerp\(.*broadcast
    fp.exp(np.array(1j)) -> DTypeError: exp\(complex128 \(\)\): .*expected tensors or
    fp.erf(np.array(["a"])) -> DTypeError: erf\(<U1 \(1,\)\): .*expected tensors or
    x + np.array([None]) -> DTypeError: data of type object.*: write array\.astype
    x * 10 ** 400 -> DTypeError: mul\(.*too large
    fp.add(x, x, alpha="a") -> DTypeError: add: alpha='a': expected a number
    x.sub(x, alpha=None) -> DTypeError: sub: alpha=None: expected a number
    fp.add(fp.tensor([1]), 2, alpha=0.5) -> DTypeError: add: alpha=0\.5 for integers: expected an
    x.div(x, rounding_mode="up") -> ArgumentError: div: rounding_mode='up': expect
    fp.tensor([1]) // 0 -> ArgumentError: floor_divide\(.*integers divided by 0
    1 % fp.tensor([0]) -> ArgumentError: remainder\(.*integers divided by 0
    x // fp.ones(2) -> ShapeError: floor_divide\(.*broadcast
    x.clamp() -> ArgumentError: clamp: without min and max
    x.clamp(x, "1") -> DTypeError: clamp.*: a str: expected tensors or numbers
    fp.clamp(1.0, 0, 1) -> DTypeError: clamp: input is a float
    x.masked_fill(x, 1.0) -> DTypeError: masked_fill: a mask of float32: expected b
    x.masked_fill(x > 0, [1]) -> DTypeError: masked_fill: value=\[1\]: expected a n
    x.masked_fill(x > 0, x) -> ShapeError: masked_fill: value of shape \(2, 3\)
    x.masked_fill(fp.ones(2) > 0, 0) -> ShapeError: masked_fill\(.*broadcast
    x.half().masked_fill(x > 0, -1e9) -> ArgumentError: masked_fill: value=-1e\+09 overflows float16
    fp.tensor([1]).masked_fill(fp.tensor([True]), 0.5) -> DTypeError: masked_fill: value=0\.5 for
    fp.tensor([1], dtype="uint8").masked_fill(fp.tensor([True]), 300)
        -> ArgumentError: masked_fill: value=300 does not fit uint8
    F.leaky_relu(x, "a") -> DTypeError: leaky_relu: negative_slope='a': expected a
    F.elu(x, None) -> DTypeError: elu: alpha=None: expected a number
    F.celu(x, 0) -> ArgumentError: celu: alpha=0: expected another number
    F.softplus(x, 0) -> ArgumentError: softplus: beta=0: expected another number
    F.gelu(x, approximate="erf") -> ArgumentError: gelu: approximate='erf': expecte
    F.hardtanh(x, 2, 1) -> ArgumentError: hardtanh: min_val=2 is larger than max_va
    F.glu(x) -> ShapeError: glu: input of shape \(2, 3\): expected an even size
    F.glu(x, 2) -> ShapeError: glu: dim=2 for a tensor of 2 dimensions
    F.glu(x.sum()) -> ShapeError: glu: dim=-1 for a tensor without dimensions
    F.prelu(x, 0.25) -> DTypeError: prelu: weight is a float: expected a tensor
    F.prelu(x, fp.tensor([1])) -> DTypeError: prelu: weight of int64
    F.prelu(x, fp.ones(2)) -> ShapeError: prelu: weight of shape \(2,\) .* \(2, 3\): expected \(1,\)
    F.prelu(x[0], fp.ones(3)) -> ShapeError: prelu: .*\(3,\): expected \(1,\)$
    F.prelu(x, fp.ones(1, 3)) -> ShapeError: prelu: weight of shape \(1, 3\)
    nn.PReLU(0) -> ArgumentError: num_parameters=0: expected a positive integer
    nn.Softmax(3)(x) -> ShapeError: softmax: dim=3
    """, x=X)  # fmt: skip


def test_settings_may_be_numpys_numbers_and_decide_no_format():
    x = fp.tensor(X, requires_grad=True)
    for f in (
        *(lambda v: F.leaky_relu(x, v), lambda v: fp.add(x, 1.0, alpha=v)),
        *(lambda v: x.clamp(max=v), lambda v: F.softplus(x, v, v)),
    ):
        y = f(np.float64(0.1))
        y.backward(gradient=np.ones(y.shape))
        assert y.dtype == x.grad.dtype == float32
        np.testing.assert_array_equal(y.array, f(0.1).array)


def test_a_missing_number_leaves_its_mark_on_the_gradient():
    """As in PyTorch: 1 would tell what lies before that all is well."""
    smooth = "elu celu selu silu mish logsigmoid softsign softplus hardswish gelu sigmoid tanh"
    for name, precision in product(smooth.split(), ("float32", "mixed", "float64")):
        with fp.precision(precision):
            x = fp.tensor([np.nan, -1.0, 0.0, 4.0], requires_grad=True)
            getattr(F, name)(x).backward(gradient=np.ones(4))
        assert np.isnan(x.grad.array).tolist() == [True, False, False, False], (name, precision)


@pytest.mark.references
@pytest.mark.parametrize("name", OF_NUMPY)
def test_comparisons_are_those_of_numpy(name):
    x, y = np.array([[1.0, 2, np.nan], [-np.inf, -0.0, np.inf]]), np.array([1.0, 3, np.nan])
    expected, count = getattr(np, OF_NUMPY[name]), 1 + (name in COMPARISONS)
    for pair, p in product(((x, y), (x > 1, y > 1)), ("float32", "mixed")):
        with fp.precision(p):
            z = getattr(fp, name)(*map(fp.tensor, pair[:count]))
        assert z.dtype == bool and not z.requires_grad
        np.testing.assert_array_equal(z.array, expected(*pair[:count]))
    if count == 2:
        np.testing.assert_array_equal(getattr(fp.tensor(x), name)(1).array, expected(x, 1))


MASK = np.array([True, False])
LARGE = {  # a number beyond float16: what is refused, told, or as it should be
    "overflows float16.*use float..-inf": (
        *(lambda x: fp.where(MASK, -1e9, x), lambda x: x.where(MASK, 1e9), lambda x: x.fill_(1e9)),
        *(lambda x: x.masked_fill(MASK, -1e9), lambda x: x.__setitem__(MASK, -1e9)),
    ),
    "number -?1e.09 overflowed": (
        *(lambda x: x + 1e9, lambda x: 10**9 - x, lambda x: (x + 1) * -1e9),
        *(lambda x: 1e9 / (x + 1), lambda x: x.add_(1e9)),
    ),
    "": (
        *(lambda x: (x + 0.01) * 1e6, lambda x: fp.maximum(x, -1e9), lambda x: x.clamp(-1e9, 1e9)),
        *(lambda x: fp.where(MASK, float("-inf"), x), lambda x: (x + fp.inf) * 1e9),
    ),
}


@pytest.mark.parametrize("words, call", [(w, call) for w, calls in LARGE.items() for call in calls])
def test_a_number_beyond_float16_is_refused_where_stored_else_told_of(words, call):
    error = fp.ArgumentError if words.startswith("overflows") else fp.PrecisionWarning
    with fp.precision("mixed"), pytest.raises(error, match=words) if words else nullcontext():
        call(fp.zeros(2))
    with fp.precision("bfloat16"):
        call(fp.zeros(2))
