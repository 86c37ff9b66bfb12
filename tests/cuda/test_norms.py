"""Normalisation on a GPU: channels and rows of every length, in one block and in many."""

import numpy as np
import pytest
from checked import results_of
from drawn import checked, drawn

from minifp.ops.normalization import batch_norm_cuda
from minifp.ops.normalization.batch_norm import (
    batch_norm_dx,
    batch_norm_forward,
    batch_norm_statistics,
)
from minifp.ops.normalization.group_norm import (
    group_norm_dx,
    group_norm_forward,
    instance_norm_statistics,
)
from minifp.ops.normalization.layer_norm import layer_norm_dx, layer_norm_forward
from minifp.ops.normalization.rms_norm import rms_norm_dx, rms_norm_forward
from minifp.runtime.cuda.arrays import to_device, to_host

SINGLE = ("float32", "float32")
EPS = 1e-5


def parameters(C, dtype="float32"):
    """A scale and a shift."""
    return drawn((C,), dtype, 0.5, 1.0, seed=2), drawn((C,), dtype, seed=3)


def batch(shape, dtype="float16", shift=2.0, of_parameters="float32"):
    """Statistics, forward and gradient of a batch, each checked."""
    x, (w, b) = drawn(shape, dtype, shift=shift), parameters(shape[1], of_parameters)
    m, v = checked(batch_norm_statistics, x, to=SINGLE)
    checked(batch_norm_forward, x, w, b, m, v, eps=EPS, to=(dtype,))
    dy = drawn(shape, dtype, seed=1)
    for constant in False, True:
        to = (dtype, of_parameters, of_parameters)
        checked(batch_norm_dx, dy, x, w, m, v, eps=EPS, constant=constant, to=to)


def groups_of(shape, groups, dtype="float16", affine=True):
    """Forward and gradient of groups, each checked."""
    x, (w, b) = drawn(shape, dtype, shift=2.0), parameters(shape[1])
    w, b = (w, b) if affine else (None, None)
    _, m, r = checked(group_norm_forward, x, w, b, groups=groups, eps=EPS, to=(dtype, *SINGLE))
    dy = drawn(shape, dtype, seed=1)
    checked(group_norm_dx, dy, x, w, m, r, groups=groups, to=(dtype, *SINGLE))


def rows_of(shape, dtype="float16", affine=True):
    """Forward and gradient of rows, with and without means, each checked."""
    x, (w, b) = drawn(shape, dtype, shift=0.5), parameters(shape[-1])
    w, b = (w, b) if affine else (None, None)
    _, m, r = checked(layer_norm_forward, x, w, b, eps=EPS, to=(dtype, *SINGLE))
    dy = drawn(shape, dtype, seed=1)
    checked(layer_norm_dx, dy, x, w, m, r, to=(dtype, *SINGLE))
    _, r = checked(rms_norm_forward, x, w, eps=EPS, to=(dtype, "float32"))
    checked(rms_norm_dx, dy, x, w, r, to=(dtype, "float32"))


SHAPES = [
    (300, 5),  # columns
    (700, 37),
    (2, 3, 4),
    (9, 40, 4, 4),  # columns of short planes
    (33, 3, 5, 3),
    (11, 6, 8, 8),  # packs
    (7, 5, 7, 7),
    (2, 2, 96, 64),  # parts of a channel
    (3, 2, 75, 77),
    (1, 3, 90, 100),
    (40, 2, 1, 33),
]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", SHAPES)
def test_batches(shape, dtype):
    batch(shape, dtype)


@pytest.mark.parametrize("shape", [(300, 5), (11, 6, 8, 8)])
def test_batches_with_parameters_in_half(shape):
    batch(shape, of_parameters="float16")


def test_many_blocks_of_channels(monkeypatch):
    monkeypatch.setattr(batch_norm_cuda, "ENOUGH", 4)  # so that threads have all they can hold
    for shape in (40, 6, 16, 16), (40, 6, 15, 15), (3000, 40):
        batch(shape)


def test_a_variance_far_below_the_square_of_the_mean():
    batch((16, 3, 32, 32), "float32", shift=1000.0)
    batch((5000, 3), "float32", shift=1000.0)
    x = drawn((1, 3, 60, 70), "float32", 1.0, 1000.0)
    checked(instance_norm_statistics, x, to=SINGLE)
    checked(layer_norm_forward, x, None, None, eps=EPS, to=("float32", *SINGLE))


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(
    "shape, groups",
    [((3, 6, 9, 7), 2), ((5, 8), 4), ((2, 32, 8, 8), 8), ((1, 4, 90, 70), 1), ((40, 6, 5), 6),
     ((2, 64, 16), 64)],
)  # fmt: skip
def test_groups(shape, groups, affine):
    groups_of(shape, groups, affine=affine)
    groups_of(shape, groups, "float32", affine)


@pytest.mark.parametrize("shape", [(3, 5, 6), (20, 3, 40, 40), (2, 300, 33), (1, 2, 110, 100)])
def test_statistics_of_instances(shape):
    checked(instance_norm_statistics, drawn(shape, shift=3.0), to=SINGLE)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(
    "shape",
    [(700, 5), (3, 50, 8), (65, 64), (2, 9, 768), (17, 1000), (3, 1001), (5, 8192), (3, 9001),
     (2, 20000)],
)  # fmt: skip
def test_rows(shape, affine):
    rows_of(shape, affine=affine)
    rows_of(shape, "float32", affine)


def test_what_is_not_finite():
    x = drawn((6, 5, 9, 8))
    x[0, 1, 3, 3], x[2, 2, 0, 0], x[3, 3] = np.nan, np.inf, 65504
    x[4, 4, 1, 1], x[5, 4, 1, 1] = np.inf, -np.inf
    m, v = checked(batch_norm_statistics, x, to=SINGLE)
    assert np.isfinite(m).tolist() == [True, False, False, True, False]
    w, b = parameters(5)
    checked(batch_norm_forward, x, w, b, m, v, eps=EPS, to=("float16",))
    dy = drawn(x.shape, seed=1)
    dy[1, 0, 2, 2] = np.inf
    for constant in False, True:
        to = ("float16", *SINGLE)
        given = np.ones(5, "float32"), np.ones(5, "float32")
        checked(batch_norm_dx, dy, x, w, *given, eps=EPS, constant=constant, to=to)
    _, m, r = checked(group_norm_forward, x, w, b, groups=5, eps=EPS, to=("float16", *SINGLE))
    checked(group_norm_dx, dy, x, w, m, r, groups=5, to=("float16", *SINGLE))
    x = x.reshape(6, 360)
    checked(layer_norm_forward, x, None, None, eps=EPS, to=("float16", *SINGLE))
    checked(rms_norm_forward, x, None, eps=EPS, to=("float16", "float32"))


def test_sums_beyond_the_largest_half():
    x = np.full((4, 2, 16, 16), 60000, "float16")
    x[:, 1, ::2] = -60000
    m, v = checked(batch_norm_statistics, x, to=SINGLE)
    assert m.tolist() == [60000, 0] and v[0] == 0 and np.isfinite(v).all()
    x = x.reshape(4, 512)
    checked(rms_norm_forward, x, None, eps=0.0, to=("float16", "float32"))


def test_a_row_of_equal_numbers_without_eps_is_not_a_number():
    x = np.full((3, 40), 3, "float32")
    y, m, r = checked(layer_norm_forward, x, None, None, eps=0.0, to=("float32", *SINGLE))
    assert np.isnan(y).all() and np.isinf(r).all()


def test_rows_that_overflow_float32_squares():
    x = np.full((3, 40), 3e38, "float32")
    x[:, 1::2] = -3e38
    y, r = results_of("rms_norm.rms_norm_forward", x, None, eps=0.0, to=SINGLE)
    assert not y.any() and not r.any()


def test_views_that_are_not_aligned():
    base = to_device(drawn((1 + 6 * 4 * 64,)))
    x = base[1:].reshape(6, 4, 8, 8)
    to = np.dtype("float32"), np.dtype("float32")
    found = batch_norm_statistics.device_kernel(x, to=to)
    expected = checked(batch_norm_statistics, to_host(x), to=SINGLE)
    for a, b in zip(found, expected):
        assert np.allclose(to_host(a), b, rtol=1e-6, atol=1e-6)
    rows = x.reshape(6, 256)
    y, _, _ = layer_norm_forward.device_kernel(rows, None, None, eps=EPS, to=(rows.dtype, *to))
    checked_y = checked(layer_norm_forward, to_host(rows), None, None, eps=EPS,
                        to=("float16", *SINGLE))[0]  # fmt: skip
    assert np.allclose(to_host(y), checked_y, rtol=2e-3, atol=1e-6)


def test_nothing_to_normalise():
    f16, single = np.dtype("float16"), (np.dtype("float32"),) * 2
    x = to_device(np.empty((0, 6, 4), "float16"))
    w = to_device(np.ones(6, "float32"))
    y, dw, db = batch_norm_dx.device_kernel(
        x, x, w, w, w, eps=EPS, constant=False, to=(f16, *single)
    )
    assert y.shape == (0, 6, 4) and not to_host(dw).any() and not to_host(db).any()
    y, m, r = group_norm_forward.device_kernel(x, w, w, groups=2, eps=EPS, to=(f16, *single))
    assert (y.shape, m.shape, r.shape) == ((0, 6, 4), (0, 2, 1), (0, 2, 1))
    dx, dw, db = group_norm_dx.device_kernel(x, x, w, m, r, groups=2, to=(f16, *single))
    assert dx.shape == x.shape and not to_host(dw).any() and db.shape == (6,)
    rows = x.reshape(0, 6)
    y, m, r = layer_norm_forward.device_kernel(rows, w, w, eps=EPS, to=(f16, *single))
    assert (y.shape, m.shape) == ((0, 6), (0, 1))
    dx, dw, db = layer_norm_dx.device_kernel(rows, rows, w, m, r, to=(f16, *single))
    assert dx.shape == (0, 6) and not to_host(dw).any()
    y, r = rms_norm_forward.device_kernel(rows, w, eps=EPS, to=(f16, single[0]))
    dx, dw = rms_norm_dx.device_kernel(rows, rows, w, r, to=(f16, single[0]))
    assert dx.shape == (0, 6) and not to_host(dw).any()
    assert batch_norm_statistics.device_kernel(x, to=single) is None
