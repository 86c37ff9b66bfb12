"""Pooling on a GPU: windows of every kind, in more than one block, and what is not finite."""

import numpy as np
import pytest
from drawn import checked, drawn

import minifp as fp
import minifp.nn.functional as F
from minifp.ops.pooling.avg_pool import avg_pool_dx, avg_pool_forward
from minifp.ops.pooling.max_pool import max_pool_dx, max_pool_forward
from minifp.ops.pooling.pool_windows import adaptive_axes, pool_axes
from minifp.runtime.cuda.arrays import to_host

MEAN = {"include_pad": True, "override": None}


def windows(x, size, stride=None, padding=0, ceil_mode=False, dilation=1):
    """The axes of pool1d or pool2d."""
    ndim = x.ndim - 2
    return pool_axes("pool", x, ndim, size, stride, padding, ceil_mode, dilation)


def all_four(x, axes, to, **mean):
    """Forward and gradient of both kinds, each checked."""
    mean = {**MEAN, **mean}
    y, chosen = checked(max_pool_forward, x, axes=axes, to=(to, chosen_in(axes)))
    dy = drawn(y.shape, x.dtype, seed=1)
    checked(max_pool_dx, dy, chosen, axes=axes, to=(to,))
    if all(a.dilation == 1 for a in axes):
        checked(avg_pool_forward, x, axes=axes, to=(to,), **mean)
        checked(avg_pool_dx, dy, axes=axes, to=(to,), **mean)


def chosen_in(axes):
    """The name of the format of places."""
    return "uint8" if np.prod([a.size for a in axes]) <= 256 else "int32"


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    "shape, given",
    [
        ((5, 7, 24, 22), (2,)),
        ((3, 4, 23, 25), (3, 2, 1)),  # windows that overlap
        ((2, 3, 11, 13), ((5, 3), (1, 2), (2, 1))),
        ((2, 3, 17, 14), (3, 2, 1, True)),
        ((2, 3, 19, 21), (3, (4, 1), 1, False, (2, 3))),
        ((2, 2, 9, 9), (13, 1, 6)),  # most of a window is padding
        ((1, 2, 40, 40), (20, 5, 3)),  # a warp for each window
        ((3, 2, 700), (300, 7, 100)),
        ((2, 2, 33, 33), (33,)),  # one window
    ],
)
def test_windows_in_rows(shape, given, dtype):
    x = drawn(shape, dtype)
    all_four(x, windows(x, *given), dtype, include_pad=len(given) < 3 or given[2] != 1)


@pytest.mark.parametrize(
    "shape, size",
    [((3, 5, 13, 7), (5, 3)), ((2, 3, 50), (7,)), ((1, 2, 60, 90), (2, 4)), ((2, 2, 3, 3), (5, 7))],
)
def test_windows_that_cover_everything_evenly(shape, size):
    x = drawn(shape)
    all_four(x, adaptive_axes("pool", x, len(size), size), "float16")


def test_a_mean_over_another_number():
    x = drawn((2, 3, 9, 9))
    axes = windows(x, 3, 2, 1)
    for override in (3, -5):
        all_four(x, axes, "float32", override=override)
    x = drawn((2, 3, 4, 4))
    all_four(x, windows(x, 4), "float16", override=7)


def test_the_first_of_equal_ones_and_the_first_nan_win():
    x = np.zeros((2, 2, 6, 40, 40), "float16").reshape(4, 6, 40, 40)
    x[1] = -np.inf
    x[2, :, ::3, ::5] = np.nan
    x[3, :, 20:] = 65504
    for given in (3, 2, 1), (20, 5, 3), (16, 16):
        axes = windows(x, *given)
        all_four(x, axes, "float16")


def test_sums_beyond_the_largest_half_are_means_within_it():
    x = np.full((1, 2, 32, 32), 60000, "float16")
    for size in 2, 16, 32:
        axes = windows(x, size)
        assert (
            checked(avg_pool_forward, x, axes=axes, to=("float16",), **MEAN) == x[0, 0, 0, 0]
        ).all()


def test_an_infinite_gradient_reaches_what_was_chosen():
    x = drawn((1, 1, 8, 8))
    axes = windows(x, 3, 2, 1)
    _, chosen = checked(max_pool_forward, x, axes=axes, to=("float16", "uint8"))
    dy = np.full(chosen.shape, 60000, "float16")
    dy[0, 0, 1, 1] = np.nan
    dx = checked(max_pool_dx, dy, chosen, axes=axes, to=("float16",))
    assert np.isinf(dx).any() and np.isnan(dx).sum() == 1


@pytest.mark.parametrize("shape", [(0, 3, 8, 8), (2, 0, 8, 8)])
def test_no_pictures(shape):
    x = drawn(shape)
    axes = windows(x, 2)
    all_four(x, axes, "float16")


def test_places_of_the_largest_are_told_on_the_device():
    x = drawn((2, 3, 9, 9))
    y, places = F.max_pool2d(fp.tensor(x, device="cuda"), 3, 2, 1, return_indices=True)
    assert places.device == "cuda"
    found = np.take_along_axis(x.reshape(6, 81), to_host(places.array).reshape(6, -1), 1)
    assert np.array_equal(found, to_host(y.array).reshape(6, -1))
