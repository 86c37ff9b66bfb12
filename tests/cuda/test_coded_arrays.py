"""Formats that CuPy lacks, on a GPU: their codes are read and written as the CPU's, and moved."""

import numpy as np
import pytest
from real_gpu import IMITATED
from refusals import refuses

import minifp as fp
import minifp.nn.functional as F
from minifp import models, optim
from minifp.derive.dtypes import CODED, CODES
from minifp.errors import DeviceError, DTypeError
from minifp.numerics.format_codes import code_dtype, codes_of, values_of
from minifp.numerics.formats import as_dtype, float32
from minifp.numerics.number_format import FORMATS
from minifp.runtime.cuda import product
from minifp.runtime.cuda.arrays import cupy, empty, to_device, to_host
from minifp.runtime.cuda.devices import generation
from minifp.runtime.cuda.pointwise import cast
from minifp.runtime.cuda.source import type_of

each = pytest.mark.parametrize("name", CODES)


def singles():
    """float32 numbers: any bits, what is near 1, what lies on ties, and the ends."""
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        return np.concatenate([
            rng.integers(0, 2**32, 300_000, np.uint32).view(float32),
            rng.normal(size=50_000).astype(float32),
            np.ldexp(rng.integers(-63, 64, 100_000) / 32, rng.integers(-150, 128, 100_000)),
            [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 464, 464.0001, 61440, 61439.996],
        ]).astype(float32)  # fmt: skip


def is_there(x):
    """Which numbers are some, and not subnormal in float32: of these a GPU has none."""
    return (x == x) & (IMITATED | (x == 0) | (np.abs(x) >= 2.0**-126))


@each
def test_conversions_are_those_of_the_reference_bit_by_bit(name):
    format, dtype = FORMATS[name], as_dtype(name)
    every = np.arange(2**format.bits).astype(code_dtype(format))
    values = to_host(cast(to_device(every.view(dtype)), float32))
    expected = values_of(every, format)
    nan, there = np.isnan(expected), is_there(expected)
    assert np.isnan(values[nan]).all() and values[there].tobytes() == expected[there].tobytes()
    x = singles()
    codes = to_host(cast(to_device(x), dtype)).view(every.dtype)
    with np.errstate(all="ignore"):
        expected, there = codes_of(x, format), is_there(x) | np.isnan(x)
        assert codes[there].tobytes() == expected[there].tobytes()


@each
def test_what_float32_does_not_hold_is_rounded_once(name):
    format, dtype = FORMATS[name], as_dtype(name)
    with np.errstate(all="ignore"):
        wide = singles()[300_000:].astype(np.float64) * (1 + 2.0**-30)
        for x in (wide, np.trunc(wide[np.abs(wide) < 2**52]).astype(np.int64)):
            codes = to_host(cast(to_device(x), dtype)).view(code_dtype(format))
            expected = codes_of(x.astype(np.float64), format)
            there = is_there(x.astype(np.float64))
            np.testing.assert_array_equal(codes[there], expected[there])
    axes = to_device(np.arange(2**13).astype(float32) % 4).reshape((2,) * 13).T
    assert to_host(cast(cast(axes, dtype).T, float32)).tobytes() == to_host(axes.T).tobytes()
    x = cast(to_device(np.array([1.0, -2.0])), dtype)
    assert to_host(cast(x, np.float64)).tolist() == to_host(cast(x, np.int64)).tolist() == [1, -2]


def test_every_format_that_is_compiled_has_a_type():
    assert {type_of(dtype) for dtype in CODED} == {type_of(name) for name in CODES} == {*CODES}


@each
def test_codes_are_moved_as_numpy_moves_them(name):
    x = np.arange(24, dtype=code_dtype(FORMATS[name])).reshape(2, 3, 4).view(as_dtype(name))
    y = to_device(x)

    def same(ours, theirs):
        assert (type(ours), ours.dtype, ours.shape) == (type(y), x.dtype, theirs.shape)
        assert to_host(ours).tobytes() == theirs.tobytes()

    for move in (
        *(lambda a: a.T, lambda a: a[:, ::-1, 1:3].copy(), lambda a: a.T.reshape(6, 4)),
        *(lambda a: np.concatenate([a, a[:1]]), lambda a: np.moveaxis(a, 0, 2), lambda a: a[1, 2]),
        *(lambda a: np.split(a, [1])[1], lambda a: np.where(a == a[0], a, np.zeros_like(a))),
    ):
        same(move(y), move(x))
    z = empty(x.shape, x.dtype)
    z.fill(0)
    z[:, 1] = y[:, 0]
    expected = np.zeros_like(x)
    expected[:, 1] = x[:, 0]
    same(z, expected)


def test_what_would_compute_with_codes_is_refused():
    x = to_device(np.ones(3, np.uint16).view(as_dtype("bfloat16")))
    halves = cupy().ones(3, "float16")
    for wrong in (
        *(lambda: x + x, lambda: halves + x, lambda: np.exp(x), lambda: np.sum(x)),
        *(lambda: x.astype("float32"), lambda: np.concatenate([x, halves])),
        *(lambda: x.fill(1.5), lambda: x.__setitem__(..., halves), lambda: x < x),
    ):
        refuses(DTypeError, "of an array of bfloat16 on a GPU: CuPy has", wrong)
    with pytest.raises(DeviceError, match="float6_e3m2 on a GPU: minifp stores bfloat16, float16"):
        fp.tensor([1.0], dtype="float6_e3m2").to("cuda")


@each
def test_tensors_are_made_read_changed_and_shown(name):
    x = fp.tensor([[1.0, 2.5], [-3.0, 0.3]], device="cuda").to(name)
    on_cpu = fp.tensor([[1.0, 2.5], [-3.0, 0.3]], dtype=name)
    assert (x.device, x.dtype) == ("cuda", name) and x.tolist() == on_cpu.tolist()
    assert x[1, 1].item() == on_cpu[1, 1].item() and x.cpu().dtype == x.dtype
    assert repr(x) == repr(on_cpu)[:-1] + ", device=cuda)"
    assert fp.full((2,), 1.5, dtype=name, device="cuda").tolist() == [1.5, 1.5]
    for a in (x, on_cpu):
        a[0, 1:] = 2.0
        a += 1
    assert x.tolist() == on_cpu.tolist() and x.float().dtype == "float32"
    assert fp.cat([x, x], 1).tolist() == fp.cat([on_cpu, on_cpu], 1).tolist()
    assert F.pad(x, (1, 0), value=0.5).tolist() == F.pad(on_cpu, (1, 0), value=0.5).tolist()


B16, E4, E5 = map(as_dtype, CODES)
F16, F32 = np.dtype("float16"), np.dtype("float32")


@pytest.mark.parametrize(
    "dtypes, kind",
    [((B16, B16), B16), ((B16, E4), B16), ((E4, E5), F16), ((F16, E5), F16), ((B16, F16), F32)]
    + [((B16, F32), F32), ((F16, F16), F16)],
)
def test_operands_are_multiplied_in_a_format_that_holds_both(dtypes, kind, monkeypatch):
    assert product.multiplied_in(*dtypes) == kind
    monkeypatch.setattr(product, "generation", lambda capability: generation("75"))
    assert product.multiplied_in(*dtypes) == (F32 if kind == B16 else kind)


@pytest.mark.parametrize("names", [(a, b) for a in CODES for b in (a, "bfloat16", "float16")])
def test_products_are_rounded_once(names):
    """Of small integers, which all of it holds exactly but the last rounding."""
    a, b = np.random.default_rng(0).integers(-4, 5, (2, 9, 9)).astype(float32)
    x, y = (cast(to_device(v), as_dtype(n)) for v, n in zip((a, b), names))
    for to in CODES:
        got = to_host(product.product(x, y, as_dtype(to)))
        expected = codes_of(a @ b, FORMATS[to])
        assert got.tobytes() == expected.tobytes()
    sums = product.multiply(x, y, cast(to_device(a), as_dtype(names[0])), accumulate=True)
    assert to_host(sums).tobytes() == codes_of(a @ b + a, FORMATS[names[0]]).tobytes()


def lenet(device):
    model, x = models.LeNet(size=8).to(device), np.random.default_rng(1).normal(size=(4, 1, 8, 8))
    return model, lambda: model(fp.tensor(x, device=device))


def lstm(device):
    model = models.CharLSTM(10, 8, 8, 1).to(device)
    codes = np.random.default_rng(1).integers(0, 10, (4, 1))
    return model, lambda: model(fp.tensor(codes, device=device)).reshape(4, 10)


STEPS = {
    "bfloat16": 2.0**-7,
    "bfloat16,master_weights=off,update_rounding=stochastic": 2.0**-7,
    "bfloat16,optimizer_state=bfloat16": 2.0**-7,
    "float8": 2.0**-7,
    "float8,operand_scale=row": 2.0**-7,
    "float32,storage=float8_e4m3fn,loss_scale=16": 2.0**-3,
}


@pytest.mark.parametrize("precision", STEPS)
@pytest.mark.parametrize("make", [lenet, lstm])
def test_steps_are_those_of_the_cpu(make, precision):
    """Weights differ by some of their last places at most: what both add in other orders is of
    float32, and seldom is on another side of what is rounded at."""
    found = []
    for device in ("cpu", "cuda"):
        fp.manual_seed(0)
        with fp.precision(precision):
            model, scores = make(device)
            optimizer = fp.MixedOptimizer(optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
            t = fp.tensor([1, 5, 0, 3], device=device)
            results = [optimizer.minimize(F.cross_entropy(scores(), t)) for _ in range(2)]
            assert all(r.stepped for r in results)
            assert (optimizer._step_memory() is not None) == (device == "cuda")
        found.append({name: np.asarray(w.cpu().double()) for name, w in model.state_dict().items()})
    for name, expected in found[0].items():
        error = np.abs(found[1][name] - expected).max()
        assert error <= 4 * STEPS[precision] * np.abs(expected).max(), (name, error)
