"""Softmax and its gradients on a GPU, for every way in which threads share rows."""

import build
import numpy as np
import pytest
from checked import check, results_of

from minifp.runtime.cuda.rows import rows_along
from minifp.runtime.cuda.source import THREADS, common

STORED = ("float16", "float32")
# Short rows, warps, a block, several chunks of a block; behind the axis nothing, few, many.
SHAPES = [
    *(((70, 10), 1), ((300, 8), 1), ((33, 100), 1), ((9, 1024), 1), ((3, 1500), 1), ((2, 9000), 1)),
    *(((1, 20000), 1), ((3, 7, 5), 1), ((2, 100, 37), 1), ((2, 600, 40), 1), ((40, 3), 0)),
]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("dtype", STORED)
@pytest.mark.parametrize("kind", ["softmax", "log_softmax", "softmin"])
@pytest.mark.parametrize("shape, axis", SHAPES)
def test_softmax_stays_within_the_bound(rng, shape, axis, kind, dtype):
    x, dy = (rng.normal(size=shape) * 4).astype(dtype), rng.normal(size=shape).astype(dtype)
    y = check(f"softmax.{kind}_forward", x, axis=axis, to=(dtype,))
    check(f"softmax.{kind}_dx", dy, y, axis=axis, to=(dtype,))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (3, 0, 4)])
def test_softmax_of_nothing_is_nothing(shape):
    (y,) = results_of("softmax.softmax_forward", np.ones(shape, "float16"), axis=1, to=("float16",))
    assert y.shape == shape


@pytest.mark.parametrize("n", [5, 40, 2000])
@pytest.mark.parametrize("behind", [(), (3,)])
def test_softmax_of_what_is_not_finite(n, behind):
    x = np.zeros((6, n, *behind), "float16")
    x[0, 1] = np.nan
    x[1, 1] = np.inf
    x[2, 1:] = -np.inf
    x[3] = -np.inf
    x[4, 3] = np.finfo("float16").max
    x[5, 0], x[5, 1:] = np.finfo("float16").min, -np.inf
    y = check("softmax.softmax_forward", x, axis=1, to=("float16",))
    assert np.isnan(y[[0, 1, 3]]).all()
    assert (y[2, 0] == 1).all() and (y[2, 1:] == 0).all() and (y[4, 3] == 1).all()
    assert (y[5, 0] == 1).all()
    check("softmax.log_softmax_forward", x, axis=1, to=("float16",))


def test_a_rising_row_is_summed_from_its_largest():
    x = np.linspace(-60000, 60000, 5000).astype("float16").reshape(1, -1)
    check("softmax.softmax_forward", x, axis=1, to=("float32",))
    x = np.linspace(0, 3, 5000).astype("float32").reshape(1, -1)
    check("softmax.log_softmax_forward", x, axis=1, to=("float32",))


@pytest.mark.parametrize("n", [1, 9, 33, 1000, 1025, 8192, 8193, 50257, 2**20])
@pytest.mark.parametrize("behind", [(), (1,), (7,), (4096,)])
def test_rows_of_any_length_are_shared_by_no_more_threads_than_kernels_are_told_of(n, behind):
    rows = rows_along((3, n, *behind), 1)
    assert rows.group <= THREADS == build.number_of("MOST_ALONG", common())


# ---- attention ----------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [5, 70, 1200])
def test_probabilities_of_masked_keys_are_zero(rng, keys):
    s = rng.normal(size=(2, 4, keys)).astype("float16")
    s[0, 0], s[0, 1, 1:], s[1, 2, 0], s[1, 3] = -np.inf, -np.inf, np.nan, -np.inf
    s[1, 3, 2] = np.nan
    p = check("attention.attention_probabilities", s, to=("float16",))
    assert (p[0, 0] == 0).all() and p[0, 1, 0] == 1 and np.isnan(p[1, 2:]).all()


@pytest.mark.parametrize("mask", ["none", "causal", "booleans", "numbers"])
@pytest.mark.parametrize("dtype", STORED)
def test_attention(rng, mask, dtype):
    q, k, v = (rng.normal(size=(2, 3, n, 16)).astype(dtype) for n in (40, 70, 70))
    hidden = {"booleans": rng.random((40, 70)) > 0.3, "numbers": rng.normal(size=(40, 70))}
    m = hidden.get(mask)
    m = m.astype(dtype) if mask == "numbers" else m
    given = {"scale": 0.25, "is_causal": mask == "causal", "to": (dtype,)}
    s = check("attention.attention_scores", q, k, m, **given)
    p = check("attention.attention_probabilities", s, to=(dtype,))
    dy = rng.normal(size=q.shape).astype(dtype)
    for before in (None, p):
        ds = check("attention.attention_dp", dy, v, before, to=(dtype,))
    for shape in (q.shape, (3, 40, 16)):
        check("attention.attention_dq", ds, k, scale=0.25, shape=shape, to=(dtype,))
    check("attention.attention_dk", ds, q, scale=0.25, shape=k.shape, to=(dtype,))
