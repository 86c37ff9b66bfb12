"""Pooling and resizing: which place was the largest, how overlaps add, what is refused."""

import cases  # noqa: F401 (the bounds of kernels whose sums go through further arithmetic)
import numpy as np
import pytest
from bounds import Calls
from hypothesis import given
from hypothesis import strategies as st
from refusals import check_refusals

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.numerics.formats import float16


def random_array(*shape, seed=0):
    return np.random.default_rng(seed).normal(0, 1, shape)


def gradient_of(fn, x, dy=None):
    """y and the gradient of x for dy (by default ones)."""
    x = fp.tensor(x, requires_grad=True)
    y = fn(x)
    y.backward(gradient=np.ones(y.shape) if dy is None else dy)
    return y.array, x.grad.array


# ---- the largest --------------------------------------------------------------------------------
@pytest.mark.parametrize("name, arguments", [
    ("max_pool1d", (3, 2, 1)),
    ("max_pool2d", (2,)),
    ("max_pool2d", ((3, 2), 1, 1, (1, 2), True)),
    ("max_pool2d", (6, 1)),
    ("adaptive_max_pool1d", (4,)),
    ("adaptive_max_pool2d", ((None, 3),)),
])  # fmt: skip
def test_the_places_of_the_largest_are_pytorchs(torch, name, arguments):
    ndim = int(name[-2])
    for shape in ((2, 3, 7, 6), (0, 1, 7, 6), (2, 7, 6)):
        x = random_array(*(shape if ndim == 2 else shape[:1] + shape[-2:])).round(1)
        y, i = getattr(F, name)(fp.tensor(x), *arguments, return_indices=True)
        z, j = getattr(torch.nn.functional, name)(torch.tensor(x), *arguments, return_indices=True)
        assert i.dtype == np.int64 and not i.requires_grad
        np.testing.assert_array_equal(i.array, j.numpy())
        np.testing.assert_allclose(y.array, z.numpy(), rtol=1e-6)


def test_a_layer_that_returns_places_returns_both():
    y, i = nn.MaxPool2d(2, return_indices=True)(fp.tensor([[[1.0, 4.0], [3.0, 2.0]]]))
    assert (y.tolist(), i.tolist()) == ([[[4.0]]], [[[1]]])
    y, i = nn.AdaptiveMaxPool1d(1, return_indices=True)(fp.tensor([[1.0, 4.0, 3.0]]))
    assert (y.tolist(), i.tolist()) == ([[4.0]], [[1]])


@pytest.mark.parametrize("arguments, byte", [((3, 2, 1), np.uint8), ((17, 1), np.int32)])
def test_the_tape_keeps_a_byte_for_each_window_where_that_is_enough(arguments, byte):
    x = fp.tensor(random_array(2, 3, 40, 40), requires_grad=True)
    kept = [a for a in F.max_pool2d(x, *arguments).node.saved if isinstance(a, np.ndarray)]
    assert [a.dtype for a in kept] == [byte]


@pytest.mark.parametrize("walks", [2, 40])
def test_of_equal_ones_the_first_gets_the_gradient(walks):
    """In windows that are walked by places, and in ones that are walked one by one."""
    _, dx = gradient_of(lambda x: F.max_pool1d(x, 40 // walks), np.ones((1, 40)))
    assert np.flatnonzero(dx).tolist() == list(range(0, 40, 40 // walks))


# ---- overlaps -----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_gradients_that_overlap_are_summed_in_float32_and_rounded_once(name):
    """2048, seven times 1, and 2048 are 4103, stored as 4104; in float16 each 1 is lost."""
    x, dy = np.zeros((1, 5, 5)), np.ones((1, 3, 3))
    x[0, 2, 2], dy[0, 0, 0], dy[0, 2, 2] = 1.0, 2048.0, 2048.0
    scale = {"max_pool2d": 1.0, "avg_pool2d": 9.0}[name]
    for precision, expected in (("mixed", 4104.0), ("mixed,reduce=float16", 4096.0)):
        with fp.precision(precision):
            _, dx = gradient_of(lambda x: getattr(F, name)(x, 3, 1), x, dy * scale)
        assert (dx[0, 2, 2], dx.dtype) == (expected, float16)


def test_the_mean_of_a_picture_of_tenths_is_a_tenth():
    x = np.full((2, 3, 64, 64), 0.1)
    with fp.precision("mixed"):
        for y in (F.adaptive_avg_pool2d(fp.tensor(x), 1), F.avg_pool2d(fp.tensor(x), 64)):
            np.testing.assert_array_equal(y.array, np.full((2, 3, 1, 1), float16.type(0.1)))
    with fp.precision("mixed,reduce=float16"):  # 256 + 1/10 is 256
        assert F.avg_pool2d(fp.tensor(x), 64).array.max() == 256 / 4096


@given(st.integers(1, 12), st.integers(1, 12))
def test_adaptive_windows_cover_everything_evenly(n, count):
    """The definition: window p from floor(p n / count) to ceil((p + 1) n / count)."""
    x = random_array(2, 1, n)
    windows = [x[..., p * n // count : -(-(p + 1) * n // count)] for p in range(count)]
    with fp.precision("float64"):
        for kind, value in (("avg", np.mean), ("max", np.max)):
            y = getattr(F, f"adaptive_{kind}_pool1d")(fp.tensor(x), count)
            expected = np.stack([value(w, axis=-1) for w in windows], -1)
            np.testing.assert_allclose(y.array, expected, rtol=1e-12, atol=1e-15)


SEQUENCE, PICTURE = np.ones((2, 3, 7)), np.ones((2, 3, 7, 6))


def test_pooling_names_what_does_not_fit():
    check_refusals(r"""
    F.max_pool1d(p, 2) -> ShapeError: max_pool1d: input of shape \(2, 3, 7, 6
    F.avg_pool1d(s[0, 0], 2) -> ShapeError: expected \(N, C, L\) or \(C, L\)
    F.adaptive_avg_pool2d(p[None], 2) -> ShapeError: expected \(N, C, H, W\)
    F.max_pool2d(p, (2, 2, 2)) -> ShapeError: kernel_size=\(2, 2, 2\): expe
    F.max_pool1d(s, 2, 0) -> ShapeError: max_pool1d: stride=0: expected
    F.max_pool1d(s, 2, dilation=0) -> ShapeError: dilation=0: expected
    F.max_pool1d(s, 8) -> ShapeError: a window of \(8,\) does not fit input
    F.avg_pool2d(p, 2, 2, 2) -> ShapeError: padding=\(2, 2\) must be at most
    F.avg_pool2d(p, 2, True) -> ShapeError: stride=True: expected an integer
    F.max_pool1d(s[..., :1], 2, 1, 1, 2)
        -> ShapeError: max_pool1d: .*a window of \(2,\) would see only padding
    F.max_pool1d(s, 2, ceil_mode=1) -> ArgumentError: ceil_mode=1: expected
    F.max_pool1d(s, 2, return_indices=1) -> ArgumentError: return_indices=1
    F.avg_pool2d(p, 2, count_include_pad=0)
        -> ArgumentError: count_include_pad=0: expected True or False
    F.avg_pool2d(p, 2, divisor_override=0)
        -> ArgumentError: divisor_override=0: expected an integer other than 0
    F.avg_pool2d(p, 2, divisor_override=1.5) -> ArgumentError: override=1\.5
    F.adaptive_avg_pool1d(s, 0) -> ShapeError: output_size=\(0,\): expected
    F.adaptive_max_pool2d(p, (1, 2, 3)) -> ShapeError: output_size=\(1, 2, 3
    F.max_pool1d(s[..., :0], 1) -> ShapeError: \(2, 3, 0\) has nothing to p
    F.max_pool1d(fp.ones(1, 4, dtype="int64"), 2)
        -> DTypeError: max_pool1d: input of int64: expected floating
    """, s=SEQUENCE, p=PICTURE)  # fmt: skip


# ---- other sizes --------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "bilinear"])
def test_every_place_is_taken_from_where_pytorch_takes_it(torch, mode):
    """Where the border between two places is met exactly, rounding decides: as PyTorch rounds."""
    for ndim in {"linear": (1,), "bilinear": (2,)}.get(mode, (1, 2)):
        for n in (1, 2, 3, 7, 14, 33):
            x = np.arange(n, dtype="float32").reshape(1, 1, *(1,) * (ndim - 1), n)
            settings = [{"size": (1, m)[-ndim:]} for m in (1, 5, 12, 46, 49, 98)]
            settings += [{"scale_factor": (1, f)[-ndim:]} for f in (1, 1.1, 2, 2.1, 7 / 3)]
            for s in settings:
                y = F.interpolate(fp.tensor(x), mode=mode, **s)
                z = torch.nn.functional.interpolate(torch.tensor(x), mode=mode, **s)
                np.testing.assert_allclose(y.array, z.numpy(), atol=1e-5 * n, err_msg=f"{n} {s}")


def test_the_nearest_place_is_the_same_in_every_precision():
    found = []
    for precision in ("float64", "float32", "mixed"):
        with fp.precision(precision):
            x = fp.tensor(np.arange(49.0).reshape(1, 1, 49))
            found.append(F.interpolate(x, 343, mode="nearest-exact").array)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_a_place_that_is_read_often_sums_its_gradients_in_float32():
    with fp.precision("mixed"), Calls() as calls:
        _, dx = gradient_of(lambda x: F.interpolate(x, 3000), np.ones((1, 1, 1)))
        gradient_of(lambda x: F.interpolate(x, 700, mode="linear"), random_array(1, 2, 5))
    assert dx.item() == 3000
    assert all(call.excess() <= 1 for call in calls)


def test_a_size_that_does_not_change_changes_nothing():
    x = fp.tensor(random_array(1, 2, 3, 4))
    for settings in ({"size": (3, 4)}, {"scale_factor": 1, "align_corners": True}):
        y = F.interpolate(x, mode="bilinear", **settings)
        np.testing.assert_array_equal(y.array, x.array)


def test_interpolate_names_what_does_not_fit():
    check_refusals(r"""
    F.interpolate(x) -> ArgumentError: expected one of them
    F.interpolate(x, 3, 2) -> ArgumentError: size=3, scale_factor=2: expected
    F.interpolate(x, 0) -> ShapeError: size=0: expected an integer
    F.interpolate(x, (1, 2, 3)) -> ShapeError: size=\(1, 2, 3\): expected
    F.interpolate(x, scale_factor=-1) -> ArgumentError: scale_factor=-1: expec
    F.interpolate(x, scale_factor="2") -> ArgumentError: scale_factor='2': exp
    F.interpolate(x, scale_factor=(2,)) -> ArgumentError: or 2 of them
    F.interpolate(x, scale_factor=0.1) -> ShapeError: leaves sizes \(0, 0\)
    F.interpolate(x, 3, mode="bicubic") -> ArgumentError: mode='bicubic': exp
    F.interpolate(x, 3, mode="linear") -> ShapeError: mode='linear': expected 3
    F.interpolate(x[0, 0], 3) -> ShapeError: expected 3 or 4 dimensions
    F.interpolate(x[..., :0], 3) -> ShapeError: none of those after two of siz
    F.interpolate(x, 3, align_corners=True)
        -> ArgumentError: align_corners with mode='nearest': expected None
    F.interpolate(x, 3, mode="bilinear", align_corners=1)
        -> ArgumentError: align_corners=1: expected True or False
    F.interpolate(x, scale_factor=2, recompute_scale_factor=True)
        -> ArgumentError: recompute_scale_factor=True is not supported
    F.interpolate(x, 3, antialias=True) -> ArgumentError: antialias=True is not
    nn.Upsample(scale_factor=2, mode="x")(x) -> ArgumentError: mode='x'
    """, prefix="interpolate: .*", x=PICTURE)  # fmt: skip
