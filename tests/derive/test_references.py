"""References as people write them: traced as NumPy would run them, or left to NumPy."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refuses

import minifp as fp
from minifp.numerics import guarded, kernels
from minifp.runtime import cpu

if not cpu.can_derive():
    pytest.skip("kernels are not compiled here", allow_module_level=True)

rng = np.random.default_rng(0)
X = (3 * rng.standard_normal((4, 8))).astype(np.float16)
X[1, :6] = 0, -0.0, np.inf, -np.inf, np.nan, 6e4
TABLE, CONFIG, OBJECT = np.array([0.5, 2.0]), {"slope": 0.5}, SimpleNamespace(slope=0.5)
SLOPES = 0.5, 2.0


@pytest.fixture(autouse=True)
def kernels_are_forgotten(monkeypatch):
    monkeypatch.setattr(kernels, "KERNELS", [])


def results(reference, role, settings, x=X):
    """What the kernel of a reference gives, what the reference itself does, and the kernel."""
    kernel, plain = (fp.kernel(role, "x")(reference) for _ in range(2))
    vars(plain)["compiled"] = None
    return kernel(x, **settings), plain(x, **settings), kernel


def assert_alike(result, expected):
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    kept = {"rtol": 2.0**-10, "atol": 2.0**-24, "equal_nan": True}
    assert np.allclose(result.astype(float), expected.astype(float), **kept)


def mask(x):
    y = x.copy()
    y[y < 0] = 0
    return y


def filled(x):
    y = np.empty_like(x)
    y[:] = x * 2
    y[y > 3] = 3
    return y


def truth_as_number(x):
    y = np.zeros_like(x)
    np.greater(x, 0, out=y)
    return y + y


def into(x, *, a):
    y = np.zeros_like(x)
    np.multiply(a, x, out=y)
    return y


def alias(x, *, a):
    b, y = a, x * 1.5
    z = y
    a *= 2
    y *= 2
    return (z + y * b) * a


def series(x, *, n):
    y = np.ones_like(x)
    for k in range(1, n + 1):
        y = y + np.maximum(x, -1) ** k / math.factorial(k)
    return y


def softmax(x):
    y = np.empty_like(x)
    np.exp(x - x.max(axis=-1, keepdims=True), out=y)
    return y / np.sum(y, axis=-1, keepdims=True)


def steep(x):
    for _ in range(25):  # operations that are needed twice, each by the next
        x = np.tanh(x) * 0.5 + x * 0.1 if _ < 2 else x * x * 0.5 + x * 0.1
    return x / (1 + np.abs(x).max(axis=-1, keepdims=True))


def halved(x, *, n):
    for _ in range(n):
        x = x * 0.5
    return x


def of_length(x):
    try:
        return x * len(x)
    except TypeError:
        return x


def of_exception(x):
    try:
        return x * math.exp(x)
    except Exception:
        return x


def view(x):
    y = x * 1.0
    v = y[..., None]
    y *= 2
    return v[..., 0] + y


def with_default(x, slope=0.3):
    return slope * x


TRACED = [
    *((lambda x: np.where(x > 0, x, 0), "map", {}), (lambda x: np.clip(x, -0.5, 1), "map", {})),
    (lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), "map", {}),
    (lambda x, *, a: x * a if isinstance(a, float) else x, "map", {"a": 0.7}),
    (lambda x, *, a: x * a if isinstance(a, int) else x, "map", {"a": 3}),
    (lambda x: x * 2 if isinstance(x, np.ndarray) else x, "map", {}),
    (lambda x, *, a: x * math.exp(a) * float(a), "map", {"a": 1.5}),
    (lambda x, *, a: x * np.float32(a) / np.sqrt(a), "map", {"a": 1.5}),
    (lambda x: x / (np.abs(x) + np.finfo(x.dtype).eps), "map", {}),
    (lambda x, *, mode, a: x * a if mode == "a" else x, "map", {"mode": "a", "a": 0.5}),
    (lambda x: x * SLOPES[0] * np.float32(0.5), "map", {}),
    (lambda x: ((t := np.tanh(x)) > 0) * t, "map", {}),
    (lambda x: x - np.mean(x, axis=-1, keepdims=True), "norm", {}),
    (lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6), "norm", {}),
    (lambda x: x * 2 if x.shape[-1] > 4 and isinstance(x.shape[0], int) else x, "norm", {}),
    (with_default, "map", {"slope": 0.5}),
    *((f, "map", {}) for f in (mask, filled, truth_as_number, with_default)),
    *((f, "map", {"a": 0.8}) for f in (into, alias)),
    *((f, "norm", {}) for f in (softmax, steep)),
    (series, "map", {"n": 4}),
]
LEFT = [
    (lambda x: x * 2 if type(x) is np.ndarray else x, "map", {}, "in NumPy"),
    (lambda x: np.where(x > 0, 1, 0), "map", {}, "int64"),
    (lambda x: x if np.any(np.isnan(x)) else x * 2, "map", {}, "np.any"),
    (lambda x: x * 2 if hasattr(x, "T") else x, "map", {}, ".T"),
    (lambda x: np.asarray(x) * 2, "map", {}, "makes an array"),
    (lambda x: x.astype(np.float16) * x, "map", {}, "float16"),
    (lambda x, *, a: x * {1: 2.0}.get(a, 5.0), "map", {"a": 1}, "looks"),
    (halved, "map", {"n": 250}, "operations"),
    (lambda x, *, a: x * np.sqrt(a), "map", {"a": -1.0}, "domain"),
    (lambda x: x + TABLE[0], "map", {}, "ndarray"),
    (lambda x: x * CONFIG["slope"], "map", {}, "dict"),
    (lambda x: x * OBJECT.slope, "map", {}, "SimpleNamespace"),
    (lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True), "norm", {}, "np.norm"),
    (lambda x: np.stack([row / 2 for row in x]), "norm", {}, "goes through"),
    *((of_length, "map", {}, "goes through"), (of_exception, "map", {}, "Python number")),
    (view, "norm", {}, "has views"),
]


@pytest.mark.filterwarnings("ignore:.*is no longer compiled")
@pytest.mark.parametrize("case", [*TRACED, *LEFT])
def test_references_give_what_numpy_gives(case):
    reference, role, settings, *why = case
    result, expected, kernel = results(reference, role, settings)
    assert_alike(result, expected)
    refused = kernel.compiled.formulas.refused
    assert why[0] in refused if why else refused is None


def test_a_kernel_that_differs_from_its_reference_is_used_no_more_also_at_some_places(monkeypatch):
    with pytest.warns(RuntimeWarning, match="it gave .*, in NumPy") as warned:
        result, expected, kernel = results(LEFT[0][0], "map", {}, X[0])
    assert_alike(result, expected)
    assert warned[0].filename == __file__ and kernel(X).tolist()[0] == expected.tolist()
    monkeypatch.setattr(guarded, "FEW", 16)
    product = fp.kernel("map", "x")(lambda x, y: x * y)
    product(X, X[0])
    assert not product.compiled.formulas.is_new
    with pytest.warns(RuntimeWarning, match="no longer compiled"):
        fp.kernel("map", "x")(LEFT[0][0])(X)


def test_what_numpy_refuses_is_refused_and_roundings_are_no_difference():
    refuses(TypeError, "boolean subtract", fp.kernel("map", "x")(lambda x: (x > 0) - (x < 0)), X)
    double = rng.standard_normal(4096)
    single = (double + 1e-6 * rng.standard_normal(4096)).astype(np.float32)
    other = (double + 1e-6 * rng.standard_normal(4096)).astype(np.float32)
    assert not guarded.difference(other, single, double)
    assert not guarded.difference(other.astype(np.float16), single, double)
    assert guarded.difference(np.where(double > 1.5, 0, other), single, double)


def test_settings_that_are_asked_for_are_compiled_for_so_many_times(monkeypatch):
    monkeypatch.setattr(guarded, "MOST", 4)
    kernel = fp.kernel("map", "x")(series)
    with pytest.warns(RuntimeWarning, match="too often") as warned:
        for n in range(1, 8):
            assert_alike(kernel(X, n=n), results(series, "map", {"n": n})[1])
    assert len(warned) == 1 and kernel.compiled.formulas.count == 4
