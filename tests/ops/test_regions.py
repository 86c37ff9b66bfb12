"""What lies in boxes: RoIAlign and RoI pooling beside torchvision's, outside, and not finite."""

import numpy as np
import pytest
from beside_torchvision import both

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.numerics.formats import float16, float64
from minifp.numerics.policy import by_references, get_precision
from minifp.ops.detection.roi_align import weights_of_boxes


def random_regions(n, seed=0):
    """Boxes of a picture of 80 x 60, some of them beyond its borders, and of any size."""
    random = np.random.default_rng(seed)
    corner = random.uniform(-15, 75, (n, 2))
    return np.concatenate([corner, corner + random.uniform(0, 40, (n, 2))], axis=1).astype("f4")


def pictures(dtype="f4", seed=0):
    return np.random.default_rng(seed).normal(0, 1, (2, 3, 15, 20)).astype(dtype)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio, scale", [(-1, 0.25), (0, 0.6), (1, 0.25), (3, 1.0)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_is_aligned_is_torchvisions(torchvision, dtype, ratio, scale, aligned):
    import torch

    ops = torchvision.ops
    regions = [random_regions(9).astype(dtype), random_regions(4, 1).astype(dtype)]
    given = (3, 4), scale, ratio, aligned
    with fp.precision("float64" if dtype == "f8" else "float32"):
        both(
            lambda x: F.roi_align(x, regions, *given),
            lambda x: ops.roi_align(x, [torch.tensor(r) for r in regions], *given),
            pictures(dtype),
        )
        numbered = np.concatenate([np.insert(r, 0, n, axis=1) for n, r in enumerate(regions)])
        both(
            lambda x: nn.RoIAlign(*given)(x, fp.tensor(numbered)),
            lambda x: ops.RoIAlign(*given)(x, torch.tensor(numbered)),
            pictures(dtype),
        )


@pytest.mark.parametrize("scale", [0.25, 0.3, 1.0])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_is_pooled_is_torchvisions(torchvision, dtype, scale):
    """With equal numbers, and edges that lie on halves."""
    import torch

    ops, x = torchvision.ops, pictures(dtype).round(1)
    regions = [(random_regions(n, n).round(n % 2)).astype(dtype) for n in (8, 5)]
    with fp.precision("float64" if dtype == "f8" else "float32"):
        both(
            lambda x: nn.RoIPool((4, 3), scale)(x, [fp.tensor(r) for r in regions]),
            lambda x: ops.RoIPool((4, 3), scale)(x, [torch.tensor(r) for r in regions]),
            x,
        )


def test_layers_show_themselves_as_torchvisions(torchvision):
    for name, given in (("RoIAlign", ((7, 7), 0.5, 2)), ("RoIPool", (3, 0.25))):
        assert repr(getattr(nn, name)(*given)) == repr(getattr(torchvision.ops, name)(*given))


def test_a_region_of_one_place_for_each_bin_is_the_picture_itself():
    """aligned: the centers of pixels lie at halves."""
    x = fp.tensor(pictures())
    y = F.roi_align(x, [fp.tensor([[0.0, 0, 20, 15]])] * 2, (15, 20), aligned=True)
    np.testing.assert_array_equal(y.array, x.array)
    y = F.roi_pool(x, [fp.tensor([[0.0, 0, 19, 14]])] * 2, (15, 20))
    np.testing.assert_array_equal(y.array, x.array)


@pytest.mark.parametrize("pool", [F.roi_align, F.roi_pool])
def test_half_precision_is_stored_and_float32_is_summed(pool):
    """100 boxes that add 1 to the gradient of the same place, in float16; and coordinates that
    float16 has not: a box from 2049 to 2050."""
    box = fp.tensor([[2049.0, 0, 2050.0, 1]] * 100, dtype="float32")
    with fp.precision("mixed"):
        x = fp.tensor(np.arange(4.0).reshape(1, 1, 1, 4), requires_grad=True)
        y = pool(x, [box], 1, 1 / 1024)
        assert y.dtype == float16 and y.shape == (100, 1, 1, 1)
        assert (y.array >= 2).all()  # near place 2
        y.backward(gradient=np.ones(y.shape))
        assert x.grad.dtype == float16
        np.testing.assert_allclose(x.grad.array.astype(float64).sum(), 100, rtol=1e-3)


@pytest.mark.parametrize("pool", [F.roi_align, F.roi_pool])
def test_many_gradients_of_one_place_are_summed_before_they_are_rounded(pool):
    """In float16 a sum of ones stops at 2048."""
    with fp.precision("mixed"):
        x = fp.tensor(np.ones((1, 2, 1, 1)), requires_grad=True)
        boxes = fp.tensor([[0.0, 0, 1, 1]] * 3000, dtype="float32")
        pool(x, [boxes], 1).backward(gradient=np.ones((3000, 2, 1, 1)))
    assert x.grad.array.reshape(-1).tolist() == [3000, 3000]


@pytest.mark.parametrize("pool", [F.roi_align, F.roi_pool])
def test_boxes_outside_or_without_size_are_no_error(pool):
    x = fp.tensor(pictures(), requires_grad=True)
    outside, point = [500.0, 500, 600, 600], [3.0, 3, 3, 3]
    huge, inverted = [-1e9, -1e9, 1e9, 1e9], [9.0, 9, 2, 2]
    y = pool(x, [fp.tensor([outside, point, huge, inverted]), fp.zeros(0, 4)], 2)
    assert np.isfinite(y.array).all() and not y.array[0].any()
    y.sum().backward()
    assert np.isfinite(x.grad.array).all() and not x.grad.array[1].any()


@pytest.mark.parametrize("pool", [F.roi_align, F.roi_pool])
def test_a_box_that_is_not_finite_makes_its_features_nan_and_no_others(pool):
    x = fp.tensor(pictures())
    for column in range(4):
        for value in (np.nan, np.inf, -np.inf):
            boxes = random_regions(3)
            boxes[1, column] = value
            y = pool(x, [fp.tensor(boxes), fp.zeros(0, 4)], (2, 3))
            assert np.isnan(y.array[1]).all() and np.isfinite(y.array[[0, 2]]).all()


@pytest.mark.parametrize("pool", [F.roi_align, F.roi_pool])
def test_what_lies_beside_a_bin_is_not_seen_in_it(pool):
    x = np.zeros((1, 1, 8, 8), "f4")
    x[0, 0, 6, 6] = np.inf
    y = pool(fp.tensor(x), [fp.tensor([[0.0, 0, 7, 7]])], 2)
    assert np.isfinite(y.array).sum() == 3 and np.isposinf(y.array[0, 0, 1, 1])


def test_a_window_with_nan_is_nan_and_gives_its_gradient_to_the_first():
    x = fp.tensor(np.arange(9.0).reshape(1, 1, 3, 3), requires_grad=True)
    x.array[0, 0, 1, :2] = np.nan
    y = F.roi_pool(x, [fp.tensor([[0.0, 0, 2, 2]])], 1)
    assert np.isnan(y.array).all()
    y.backward(gradient=np.ones((1, 1, 1, 1)))
    assert x.grad.array[0, 0].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("wide", [None, "float64"])
def test_weights_are_the_same_compiled_and_not(wide):
    boxes = random_regions(40).astype(wide or "f4")
    boxes[3, 1] = np.nan
    for given in ((5, 0.25, 0, True), (2, 1.0, 3, False), (7, 0.6, 0, False)):
        count, *rest = given
        found = weights_of_boxes(boxes, (1, 1, 15, 20), (count, count), *rest)
        with fp.precision(by_references(get_precision())):
            expected = weights_of_boxes(boxes, (1, 1, 15, 20), (count, count), *rest)
        for a, b in zip(found, expected):
            assert a.dtype == boxes.dtype
            np.testing.assert_allclose(a, b, atol=20 * 3 * 2.0**-24)
