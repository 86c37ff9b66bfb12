"""Norms, variances, extremes, running sums and losses on a GPU: sizes that several blocks share."""

import numpy as np
import pytest
from checked import check, results_of

import minifp as fp
from minifp.autograd.tape import Tensor
from minifp.runtime.cuda.arrays import to_device

BOTH = pytest.mark.parametrize("dtype", ["float16", "float32"])
# Shapes and the axes that are reduced: inner, outer, in the middle, apart, all, and long ones.
SHAPES = [
    *(((40, 300), (1,)), ((300, 40), (0,)), ((3, 50, 7), (1,)), ((3, 50, 7), (0, 2))),
    *(((3, 50, 7), (0, 1, 2)), ((2, 40000), (1,)), ((70000,), (0,))),
]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def drawn(rng, shape, axes, dtype):
    """(x, a gradient of what is left)."""
    left = [n for i, n in enumerate(shape) if i not in axes]
    return (np.asarray(rng.normal(size=s)).astype(dtype) for s in (shape, left))


@BOTH
@pytest.mark.parametrize("shape, axes", SHAPES)
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0])
def test_norms(rng, shape, axes, p, dtype):
    x, dy = drawn(rng, shape, axes, dtype)
    check("norm.norm_forward", x, p=p, axes=axes, keepdims=False, to=("float32",))
    check("norm.norm_dx", dy, x, p=p, axes=axes, to=(dtype,))


@BOTH
@pytest.mark.parametrize("shape, axes", SHAPES)
def test_logsumexp(rng, shape, axes, dtype):
    x, dy = drawn(rng, shape, axes, dtype)
    check("norm.logsumexp_forward", x, axes=axes, keepdims=False, to=("float32",))
    check("norm.logsumexp_dx", dy, x, axes=axes, to=(dtype,))


@pytest.mark.parametrize("behind", [(), (2,)])
def test_logsumexp_of_what_is_not_finite(behind):
    x = np.zeros((4, 40, *behind), "float16")
    x[0], x[1, 3], x[2, 3], x[3, 0], x[3, 1] = -np.inf, np.inf, np.nan, np.inf, np.nan
    given = {"axes": (1,), "keepdims": False, "to": ("float16",)}
    y = check("norm.logsumexp_forward", x, **given)
    assert np.isneginf(y[0]).all() and np.isposinf(y[1]).all() and np.isnan(y[2:]).all()


@BOTH
@pytest.mark.parametrize("shape, axes", SHAPES)
@pytest.mark.parametrize("kind", ["var", "std"])
def test_variances(rng, shape, axes, kind, dtype):
    x, dy = drawn(rng, shape, axes, dtype)
    x = (x + 3).astype(dtype)
    given = {"axes": axes, "correction": 1}
    check(f"variance.{kind}_forward", x, keepdims=True, to=("float32",), **given)
    check(f"variance.{kind}_dx", dy, x, to=(dtype,), **given)


@pytest.mark.parametrize("shape, axes", SHAPES)
def test_normalised(rng, shape, axes):
    x, _ = drawn(rng, shape, axes, "float16")
    given = {"p": 2.0, "axes": axes, "eps": 1e-12}
    y, n = check("normalize.normalize_forward", x, to=("float16", "float32"), **given)
    check("normalize.normalize_dx", y, x, n, to=("float16",), **given)


@pytest.mark.parametrize("shape, axes", SHAPES)
@pytest.mark.parametrize("kind, sign", [("amax", 1), ("amin", -1)])
def test_extremes(rng, shape, axes, kind, sign):
    x, dy = drawn(rng, shape, axes, "float16")
    y = check(f"min_max.{kind}_forward", x, axes=axes, keepdims=False, to=("float16",))
    assert np.array_equal(y, sign * (sign * x).max(axes))
    check("min_max.share_dx", dy, x, y, axes=axes, nan_is_found=False, to=("float16",))
    x.reshape(-1)[x.size // 2] = np.nan
    y = check(f"min_max.{kind}_forward", x, axes=axes, keepdims=False, to=("float16",))
    assert np.isnan(y).sum() == 1


def test_the_largest_along_an_axis_and_its_place(rng):
    x = rng.integers(0, 9, size=(5, 70, 4)).astype("float16")
    found = []
    for place in (lambda a: a, to_device):
        leaf = Tensor(place(x.copy()), requires_grad=True)
        values, indices = fp.max(leaf, 1)
        values.sum().backward()
        results = values, indices, fp.argmax(leaf, 0), leaf.grad
        found.append([r.numpy() for r in results])
    for a, b in zip(*found):
        assert a.dtype == b.dtype and np.array_equal(a, b)


@BOTH
@pytest.mark.parametrize(
    "shape, axis", [((5, 3000), 1), ((300, 40), 0), ((3, 50, 7), 1), ((9,), 0)]
)
def test_running_sums(rng, shape, axis, dtype):
    x = rng.normal(size=shape).astype(dtype)
    check("cumulative.cumsum_forward", x, axis=axis, to=(dtype,))
    check("cumulative.cumsum_dx", x, axis=axis, to=(dtype,))


def test_a_running_sum_is_finite_until_it_is_not():
    x = np.ones((1, 600), "float16")
    x[0, 300] = np.inf
    (y,) = results_of("cumulative.cumsum_forward", x, axis=1, to=("float16",))
    assert np.array_equal(y[0, :300], np.arange(1, 301)) and np.isposinf(y[0, 300:]).all()


@BOTH
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_losses_of_differences(rng, name, dtype):
    x, t = (rng.normal(size=(300, 301)).astype(dtype) * 3 for _ in range(2))
    settings = {"smooth_l1_loss": {"beta": 0.7}, "huber_loss": {"delta": 1.3}}.get(name, {})
    given = {"divisor": x.size, **settings}
    loss = check(f"regression_loss.{name}_total", x, t, None, None, to=("float32",), **given)
    given |= {"shape": x.shape, "to": ("float32",)}
    check(f"regression_loss.{name}_dx", loss, x, t, None, None, **given)


@BOTH
@pytest.mark.parametrize("name", ["binary_cross_entropy_with_logits", "binary_cross_entropy"])
def test_binary_cross_entropy(rng, name, dtype):
    x, t = (rng.uniform(0.01, 0.99, size=(300, 301)).astype(dtype) for _ in range(2))
    w = rng.uniform(0.5, 2, size=(301,)).astype(dtype)
    p = rng.uniform(0.5, 2, size=(300, 1)).astype(dtype) if name.endswith("logits") else None
    given = {"divisor": x.size, "to": ("float32",)}
    loss = check(f"binary_cross_entropy.{name}_total", x, t, w, p, **given)
    for d in ("dx", "dt"):
        check(f"binary_cross_entropy.{name}_{d}", loss, x, t, w, p, shape=x.shape, **given)
