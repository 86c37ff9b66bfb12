"""Convolutions on a GPU in the sizes that take several launches, and in groups of one channel."""

import numpy as np
import pytest
from drawn import checked, drawn

from minifp.ops.convolution import conv_cuda
from minifp.ops.convolution.conv import conv_dw, conv_dx, conv_forward
from minifp.ops.convolution.conv_transpose import conv_transpose_forward
from minifp.ops.windows import window_count
from minifp.runtime.cuda.arrays import cupy, to_device, to_host
from minifp.runtime.cuda.product import current_handle

ONE = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}


def all_three(shape, w_shape, dtype="float16", bias="float16", to=None, **given):
    """Forward and both gradients, each checked."""
    given, to = {**ONE, **given}, to or dtype
    each = given["stride"], given["padding"], given["dilation"]
    sizes = zip(shape[2:], w_shape[2:], *each)
    counts = tuple(window_count(n, k, s, p, d) for n, k, s, p, d in sizes)
    x, w = drawn(shape, dtype), drawn(w_shape, dtype, seed=1)
    b = drawn(w_shape[:1], bias, seed=2) if bias else None
    y = checked(conv_forward, x, w, b, counts=counts, to=(to,), **given)
    dy = drawn(y.shape, dtype, seed=3)
    checked(conv_dx, dy, w, x_sizes=shape[2:], to=(to,), **given)
    checked(conv_dw, dy, x, w_shape=w_shape, to=(to,), **given)


@pytest.mark.parametrize(
    "shape, w_shape, given",
    [
        ((3, 5, 19, 21), (7, 5, 3, 3), {"padding": (1, 1)}),  # more than one block, side by side
        ((2, 3, 16, 32), (4, 3, 3, 3), {"padding": (1, 1)}),  # a matrix for each picture
        ((11, 4, 9, 7), (6, 2, 2, 3), {"groups": 2, "stride": (2, 3), "dilation": (3, 2)}),
        ((9, 6, 4, 4), (5, 6, 1, 1), {}),  # nothing to unfold
        ((9, 6, 7, 7), (5, 6, 1, 1), {"stride": (2, 2)}),
        ((4, 2, 5, 6), (3, 2, 3, 3), {"padding": (2, 2)}),
        ((2, 3, 5, 5), (4, 3, 2, 2), {"padding": (4, 3), "stride": (3, 3)}),
    ],
)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_pictures_in_one_part_and_in_several(shape, w_shape, given, dtype, monkeypatch):
    all_three(shape, w_shape, dtype, dtype, **given)
    monkeypatch.setattr(conv_cuda, "WORKSPACE", 5000)
    all_three(shape, w_shape, dtype, None, **given)


def test_few_pictures_a_part_are_multiples_of_a_pack():
    assert conv_cuda.parts_of(20, conv_cuda.WORKSPACE // 9) == [(0, 8), (8, 8), (16, 4)]
    assert conv_cuda.parts_of(7, conv_cuda.WORKSPACE // 3) == [(0, 3), (3, 3), (6, 1)]
    assert conv_cuda.parts_of(2, conv_cuda.WORKSPACE * 3) == [(0, 1), (1, 1)]
    assert conv_cuda.parts_of(0, 10) == []
    assert conv_cuda.parts_of(3, 0) == [(0, 3)]


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("stride", [1, 2])
def test_groups_of_one_channel(stride, each):
    given = {"stride": (stride, stride), "padding": (1, 1), "groups": 6}
    all_three((3, 6, 13, 11), (6 * each, 1, 3, 3), **given)


@pytest.mark.parametrize("w_shape, groups", [((3, 1, 500), 3), ((4, 3, 300), 1)])
@pytest.mark.parametrize("stride", [1, 2])
def test_sequences_with_long_kernels(w_shape, groups, stride):
    given = {"stride": (stride,), "padding": (20,), "dilation": (1,), "groups": groups}
    all_three((2, 3, 900), w_shape, **given)


def test_gradient_of_many_windows_of_one_channel():
    w_shape, given = (2, 1, 3, 3), {**ONE, "padding": (1, 1), "groups": 2}
    x, dy = drawn((40, 2, 24, 24)), drawn((40, 2, 24, 24), seed=1)  # more than a block sums
    checked(conv_dw, dy, x, w_shape=w_shape, to=("float16",), **given)


def test_formats_that_differ():
    shape, w_shape = (2, 3, 6, 7), (4, 3, 3, 3)
    all_three(shape, w_shape, "float16", "float32")  # the bias is not rounded
    all_three(shape, w_shape, "float16", "float16", "float32")
    all_three(shape, w_shape, "float32", "float32", "float16")
    x, w = drawn(shape), drawn(w_shape, "float32", seed=1)
    for groups, weights in (1, w), (3, w[:3, :1]):
        given = {**ONE, "groups": groups, "counts": (4, 5)}
        checked(conv_forward, x, weights, None, to=("float16",), **given)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("w_shape", [(4, 3, 3, 3), (4, 1, 3, 3)])
def test_a_transposed_one_adds_its_bias_before_it_rounds(stride, w_shape):
    x, w = drawn((3, 4, 9, 8)), drawn(w_shape, seed=1)
    groups = 1 if w_shape[1] > 1 else 4
    b = drawn((w_shape[1] * groups,), scale=100, seed=2)
    y_sizes = tuple((n - 1) * stride + 1 + stride for n in (9, 8))
    given = {**ONE, "stride": (stride, stride), "padding": (1, 1), "groups": groups}
    checked(conv_transpose_forward, x, w, b, y_sizes=y_sizes, to=("float16",), **given)


def test_sums_beyond_the_largest_half_are_infinite_and_none_on_the_way():
    x, w = np.full((1, 64, 4, 4), 60000, "float16"), np.ones((2, 64, 1, 1), "float16")
    w[0, 1::2] = -1
    given = {**ONE, "counts": (4, 4)}
    y = checked(conv_forward, x, w, None, to=("float16",), **given)
    assert not y[:, 0].any() and np.isposinf(y[:, 1]).all()


def test_nan_and_inf_reach_the_windows_that_see_them():
    x, w = np.ones((2, 3, 9, 9), "float16"), np.ones((2, 3, 3, 3), "float16")
    x[0, 1, 4, 4], x[1, 2, 0, 0] = np.nan, np.inf
    given = {**ONE, "counts": (7, 7)}
    y = checked(conv_forward, x, w, None, to=("float16",), **given)
    assert np.isnan(y[0, 0]).sum() == 9 and np.isinf(y[1, 1]).sum() == 1


@pytest.mark.parametrize("groups", [1, 3])
def test_padding_is_zeros_that_are_multiplied(groups):
    given = {**ONE, "padding": (1, 1), "groups": groups}
    x, w = drawn((2, 3, 6, 6)), drawn((3, 3 // groups, 3, 3), seed=1)
    dy = drawn((2, 3, 6, 6), seed=2)
    w[1, 0, 0, 0], dy[0, 0, 0, 0] = np.inf, np.nan
    checked(conv_forward, x, w, None, counts=(6, 6), to=("float16",), **given)
    dw = checked(conv_dw, dy, x, w_shape=w.shape, to=("float16",), **given)
    assert np.isnan(dw[0]).all()


def test_columns_of_all_parts_lie_in_the_same_memory(monkeypatch):
    monkeypatch.setattr(conv_cuda, "WORKSPACE", 2**16)
    x, w, pool = drawn((512, 4, 8, 8)), drawn((4, 4, 3, 3)), cupy().get_default_memory_pool()
    given = {**ONE, "stride": (2, 2), "padding": (1, 1)}
    (dy, x, w), to = map(to_device, (drawn((512, 4, 4, 4)), x, w)), (np.dtype("float16"),)
    calls = (
        (conv_forward, (x, w, None), {"counts": (4, 4)}),
        (conv_dx, (dy, w), {"x_sizes": (8, 8)}),
        (conv_dw, (dy, x), {"w_shape": w.shape}),
    )
    current_handle()  # or its workspace would count
    for kernel, args, more in calls:
        pool.free_all_blocks()
        before = pool.total_bytes()
        result = kernel.device_kernel(*args, to=to, **given, **more)
        taken = pool.total_bytes() - before - result.nbytes
        assert taken < 1.9 * 2**16  # those of all parts together are 9 times the workspace


def test_no_pictures():
    given = {**ONE, "counts": (3, 3)}
    x, w, dy = drawn((0, 2, 5, 5)), drawn((4, 2, 3, 3)), drawn((0, 4, 3, 3))
    assert checked(conv_forward, x, w, None, to=("float16",), **given).shape == (0, 4, 3, 3)
    assert checked(conv_dx, dy, w, x_sizes=(5, 5), to=("float16",), **ONE).shape == (0, 2, 5, 5)
    for groups in 1, 2:
        w_shape = (4, 2 // groups, 3, 3)
        given = {**ONE, "groups": groups, "w_shape": w_shape}
        dw = conv_dw.device_kernel(to_device(dy), to_device(x), to=(np.dtype("float16"),), **given)
        assert not to_host(dw).any() and dw.shape == w_shape
