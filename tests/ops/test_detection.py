"""Boxes and what lies in them: precision, empty ones, what is refused; the same as torchvision.

Gradients, bounds and formats of the operations are tested with all others: see cases/detection.py.
"""

import sys
from types import ModuleType

import numpy as np
import pytest

import minifp as fp
import minifp.nn.functional as F
from minifp import nn
from minifp.numerics.formats import float16, float32, float64
from minifp.numerics.policy import by_references, get_precision
from minifp.ops.detection.roi_align import weights_of_boxes


def random_boxes(n, seed=0, picture=300, largest=80):
    """Boxes of at least one pixel, in float32, some of them beyond the right and lower border."""
    random = np.random.default_rng(seed)
    corner, size = random.uniform(0, picture, (n, 2)), random.uniform(1, largest, (n, 2))
    return np.concatenate([corner, corner + size], axis=1).astype("f4")


@pytest.fixture(scope="module")
def torchvision():
    """torchvision, with what it compiled; its threads are slower than one here."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    sys.modules.setdefault("torchvision._meta_registrations", ModuleType("unused"))
    found = pytest.importorskip("torchvision", reason="parity is with torchvision")
    if not found.extension._has_ops():
        pytest.skip("what torchvision compiled is not for this PyTorch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield found
    torch.set_num_threads(before)


def both(fn, their_fn, *arrays, gradients=True):
    """Results and gradients of two functions of the same arrays are equal, but for rounding."""
    import torch

    ours = [fp.tensor(a, dtype=a.dtype, requires_grad=gradients) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=gradients) for a in arrays]
    y, z = fn(*ours), their_fn(*theirs)
    pairs = [(y.array, z)]
    if gradients:
        dy = np.random.default_rng(1).uniform(-1, 1, y.shape).astype(y.dtype)
        y.backward(gradient=dy)
        z.backward(gradient=torch.tensor(dy))
        pairs += [(a.grad.array, b.grad) for a, b in zip(ours, theirs)]
    for a, b in pairs:
        b = b.detach().numpy()
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        close = 1e-11 if a.dtype == float64 else 1e-5
        np.testing.assert_allclose(a, b, rtol=close, atol=close * np.abs(b).max(initial=0))


# ---- boxes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_areas_and_overlaps_are_torchvisions(torchvision, dtype):
    a, b = random_boxes(40).astype(dtype), random_boxes(7, 1).astype(dtype)
    ops = torchvision.ops
    both(F.box_area, ops.box_area, a)
    both(F.box_iou, ops.box_iou, a, b)
    both(F.generalized_box_iou, ops.generalized_box_iou, a, b)
    c = random_boxes(40, 2).astype(dtype)
    for reduction in ("none", "mean", "sum"):
        both(
            lambda x, y, r=reduction: F.generalized_box_iou_loss(x, y, r),
            lambda x, y, r=reduction: ops.generalized_box_iou_loss(x, y, r),
            *(a, c),
        )


def test_conversions_and_clipping_are_torchvisions(torchvision):
    a, ops = random_boxes(9), torchvision.ops
    ways = ("xyxy", "xywh", "cxcywh")
    for i, o in ((i, o) for i in ways for o in ways):
        both(
            lambda x, i=i, o=o: F.box_convert(x, i, o),
            lambda x, i=i, o=o: ops.box_convert(x, i, o),
            a,
        )
    size = (120, 250)
    both(
        lambda x: F.clip_boxes_to_image(x, size), lambda x: ops.clip_boxes_to_image(x, size), a - 40
    )
    import torch

    for least in (0, 20.0, 500):
        expected = ops.remove_small_boxes(torch.tensor(a), least).numpy()
        np.testing.assert_array_equal(F.remove_small_boxes(fp.tensor(a), least).array, expected)


def test_what_networks_learn_of_boxes_is_torchvisions(torchvision):
    from torchvision.models.detection._utils import BoxCoder

    boxes, references = random_boxes(30), random_boxes(30, 1)
    deltas = np.random.default_rng(2).normal(0, 12, (30, 4)).astype("f4")
    for weights in ((10.0, 10.0, 5.0, 5.0), (1.0, 2.0, 3.0, 4.0)):
        coder = BoxCoder(weights)
        both(
            lambda x, y, w=weights: F.encode_boxes(x, y, w),
            lambda x, y, c=coder: c.encode_single(x, y),
            *(boxes, references),
        )
        both(
            lambda x, y, w=weights: F.decode_boxes(x, y, w),
            lambda x, y, c=coder: c.decode_single(x, y),
            *(deltas, references),
        )


def test_what_is_encoded_is_decoded_to_the_same_boxes():
    boxes, references = random_boxes(50), random_boxes(50, 1)
    decoded = F.decode_boxes(F.encode_boxes(boxes, references), references)
    np.testing.assert_allclose(decoded.array, boxes, atol=300 * 2.0**-20)


def test_a_box_grows_at_most_to_62_times_its_reference():
    deltas = fp.tensor([[0.0, 0.0, 1e4, 1e4]], requires_grad=True)
    boxes = F.decode_boxes(deltas, fp.tensor([[0.0, 0.0, 2.0, 4.0]]))
    np.testing.assert_allclose(boxes.array, [[1 - 62.5, 2 - 125, 1 + 62.5, 2 + 125]], rtol=1e-6)
    boxes.sum().backward()
    assert deltas.grad.array[0, 2:].tolist() == [0, 0]


@pytest.mark.parametrize("precision", ["float32", "mixed", "float16", "autocast"])
def test_coordinates_are_float32_in_every_precision(precision):
    """The area of 300 x 300 pixels is Inf in float16."""
    with fp.precision(precision):
        boxes = fp.tensor([[0.0, 0.0, 300.0, 300.0], [0.0, 0.0, 300.0, 150.0]])
        assert F.box_area(boxes).array.tolist() == [90000, 45000]
        iou = F.box_iou(boxes, boxes)
        assert (iou.dtype, iou.array.tolist()) == (float32, [[1, 0.5], [0.5, 1]])
        deltas = fp.zeros(2, 4)
        wide = [
            *(F.box_convert(boxes, "xyxy", "cxcywh"), F.clip_boxes_to_image(boxes, (200, 100))),
            *(F.encode_boxes(boxes, boxes), F.decode_boxes(deltas, boxes)),
            *(F.generalized_box_iou(boxes, boxes), F.generalized_box_iou_loss(boxes, boxes)),
        ]
        assert {y.dtype for y in wide} == {float32}
    with fp.precision("float64"):
        assert F.box_iou(boxes.double(), boxes.double()).dtype == float64


def test_the_gradient_of_a_network_stays_in_the_format_that_it_is_stored_in():
    with fp.precision("mixed"):
        deltas = fp.zeros(3, 4, requires_grad=True)
        F.decode_boxes(deltas, fp.tensor(random_boxes(3), dtype="float32")).sum().backward()
        assert deltas.dtype == deltas.grad.dtype == float16


def test_boxes_that_have_lost_pixels_already_are_warned_of():
    boxes = fp.tensor([[0.0, 0.0, 2049.0, 10.0]], dtype="float16")
    with pytest.warns(fp.MisuseWarning, match=r"box_area: boxes in float16, .* no odd pixels"):
        F.box_area(boxes)
    F.box_area(fp.tensor([[0.0, 0.0, 2047.0, 10.0]], dtype="float16"))  # no warning


def test_empty_boxes_overlap_with_nothing():
    point, inverted = [5.0, 5.0, 5.0, 5.0], [8.0, 8.0, 2.0, 2.0]
    boxes = fp.tensor([point, inverted, [0.0, 0.0, 10.0, 10.0]], requires_grad=True)
    assert F.box_area(boxes).tolist() == [0, 0, 100]
    assert F.box_iou(boxes, boxes).tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    generalized = F.generalized_box_iou(boxes, boxes)
    assert np.isfinite(generalized.array).all()
    generalized.sum().backward()
    assert np.isfinite(boxes.grad.array).all()


def test_tiny_boxes_still_have_gradients():
    """Of fractions of a picture: the square of an area of 1e-20 is below float32's smallest."""
    a = fp.tensor([[0.0, 0.0, 1e-10, 1e-10]], requires_grad=True)
    F.box_iou(a, fp.tensor([[0.0, 0.0, 2e-10, 1e-10]])).sum().backward()
    np.testing.assert_allclose(a.grad.array[0, 2], 0.5e10, rtol=1e-5)


def test_without_boxes_results_are_empty():
    none, some = fp.zeros(0, 4), fp.tensor(random_boxes(3))
    assert F.box_iou(none, some).shape == (0, 3) and F.box_iou(some, none).shape == (3, 0)
    assert F.box_area(none).shape == (0,)
    assert F.remove_small_boxes(none, 1).shape == (0,)
    assert F.encode_boxes(none, none).shape == F.decode_boxes(none, none).shape == (0, 4)
    assert F.generalized_box_iou_loss(none, none, "sum").item() == 0


# ---- suppression ---------------------------------------------------------------------------------


def distinct_scores(n, seed=0):
    return np.random.default_rng(seed).permutation(n).astype("f4") / n


@pytest.mark.parametrize("picture", [100, 1000])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.7, 1.0])
def test_what_is_suppressed_is_torchvisions(torchvision, picture, threshold):
    import torch

    boxes, scores = random_boxes(400, picture=picture), distinct_scores(400)
    classes = np.random.default_rng(1).integers(-2, 5, 400)
    ours = [fp.tensor(a) for a in (boxes, scores, classes)]
    theirs = [torch.tensor(a) for a in (boxes, scores, classes)]
    kept = F.nms(*ours[:2], threshold)
    assert kept.dtype == np.int64 and not kept.requires_grad
    expected = torchvision.ops.nms(*theirs[:2], threshold)
    np.testing.assert_array_equal(kept.array, expected.numpy())
    expected = torchvision.ops.batched_nms(*theirs, threshold)
    np.testing.assert_array_equal(F.batched_nms(*ours, threshold).array, expected.numpy())


@pytest.mark.parametrize("n", [1, 64, 65, 700])
def test_the_compiled_suppression_keeps_what_the_reference_keeps(n):
    """Among scores and edges that are alike, and classes of no, one and many boxes."""
    random = np.random.default_rng(n)
    boxes = fp.tensor(random_boxes(n, n, picture=60, largest=30).round())
    scores = fp.tensor(random.integers(0, 9, n) / 8)
    classes = random.integers(0, 9, n) // 2
    kept = F.nms(boxes, scores, 0.5).array, F.batched_nms(boxes, scores, classes, 0.5).array
    with fp.precision(by_references(get_precision())):
        expected = F.nms(boxes, scores, 0.5), F.batched_nms(boxes, scores, classes, 0.5)
    for a, b in zip(kept, expected):
        np.testing.assert_array_equal(a, b.array)
        assert (np.diff(scores.array[a]) <= 0).all()


def test_no_kept_class_depends_on_the_number_of_threads(monkeypatch):
    pool = pytest.importorskip("minifp.runtime.cpu.pool")
    monkeypatch.setattr(pool, "WORTH_A_THREAD", -1)
    boxes, scores = fp.tensor(random_boxes(500)), fp.tensor(distinct_scores(500))
    classes, before, found = np.arange(500) % 7, fp.get_num_threads(), set()
    try:
        for count in (1, 2, 3):
            fp.set_num_threads(count)
            found.add(F.batched_nms(boxes, scores, classes, 0.4).array.tobytes())
    finally:
        fp.set_num_threads(before)
    assert len(found) == 1


def test_of_equal_scores_the_first_is_kept_and_an_overlap_of_the_threshold_suppresses_nothing():
    boxes = fp.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [0, 0, 10, 10]])
    scores = fp.tensor([0.5, 0.5, 0.5])
    assert F.nms(boxes, scores, 0.5).tolist() == [0, 1]
    assert F.nms(boxes, scores, 0.49).tolist() == [0]
    assert F.nms(boxes, scores, 1.0).tolist() == [0, 1, 2]


def test_boxes_without_area_are_all_kept():
    boxes = fp.tensor([[3.0, 3, 3, 3]] * 3)
    assert F.nms(boxes, fp.tensor([0.1, 0.3, 0.2]), 0.0).tolist() == [1, 2, 0]


def test_half_precision_scores_and_boxes_are_ranked_and_compared_exactly():
    boxes, scores = random_boxes(200).astype(float16), distinct_scores(200).astype(float16)
    kept = F.nms(fp.tensor(boxes, "float16"), fp.tensor(scores, "float16"), 0.3)
    wide = F.nms(fp.tensor(boxes, "float32"), fp.tensor(scores, "float32"), 0.3)
    assert 0 < kept.shape[0] < 200 and kept.tolist() == wide.tolist()


def test_boxes_that_are_not_finite_are_left_out_and_told_of():
    boxes = random_boxes(5)
    boxes[1, 2], boxes[3, 0] = np.nan, np.inf
    scores = np.array([0.1, 0.9, np.nan, 0.8, np.inf], "f4")
    with pytest.warns(fp.MisuseWarning, match="nms: 3 of 5 boxes have a score of NaN, or a coord"):
        kept = F.nms(fp.tensor(boxes), fp.tensor(scores), 1.0)
    assert kept.tolist() == [4, 0]
    with pytest.warns(fp.MisuseWarning, match="batched_nms: 3 of 5"):
        kept = F.batched_nms(fp.tensor(boxes), fp.tensor(scores), np.arange(5) % 2, 1.0)
    assert kept.tolist() == [4, 0]


def test_of_no_boxes_none_is_kept():
    none = fp.zeros(0, 4), fp.zeros(0)
    assert F.nms(*none, 0.5).shape == (0,)
    assert F.batched_nms(*none, np.zeros(0, int), 0.5).shape == (0,)


# ---- inside of boxes -----------------------------------------------------------------------------


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


def test_without_boxes_features_are_empty_and_gradients_0():
    for pool in (F.roi_align, F.roi_pool):
        x = fp.tensor(pictures(), requires_grad=True)
        y = pool(x, [fp.zeros(0, 4), fp.zeros(0, 4)], (3, 2))
        assert y.shape == (0, 3, 3, 2)
        y.sum().backward()
        assert not x.grad.array.any()
        assert pool(fp.zeros(0, 3, 4, 4), [], 2).shape == (0, 3, 2, 2)


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


# ---- focal loss ----------------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_the_focal_loss_is_torchvisions(torchvision, reduction):
    random, ops = np.random.default_rng(0), torchvision.ops
    x, t = random.normal(0, 4, (20, 7)), random.integers(0, 2, (20, 7)).astype("f8")
    for alpha, gamma in ((0.25, 2), (-1, 2), (0.5, 0), (0.9, 0.5)):
        both(
            lambda x, t, a=alpha, g=gamma: F.sigmoid_focal_loss(x, t, a, g, reduction),
            lambda x, t, a=alpha, g=gamma: ops.sigmoid_focal_loss(x, t, a, g, reduction),
            *(x, t),
        )


def test_the_focal_loss_of_what_is_certain_is_0_and_not_nan():
    x = fp.tensor([200.0, -200.0, 200.0], requires_grad=True)
    losses = F.sigmoid_focal_loss(x, fp.tensor([1.0, 0.0, 0.0]), alpha=-1)
    assert losses.tolist() == [0, 0, 200]
    losses.sum().backward()
    assert x.grad.tolist() == [0, 0, 1]


# ---- what is refused -----------------------------------------------------------------------------

BAD = [
    (lambda: F.box_area(fp.zeros(3, 5)), r"box_area: boxes of shape \(3, 5\): expected boxes"),
    (lambda: F.box_area([[0, 0, 1, 1]]), "box_area: boxes is a list: expected a tensor"),
    (lambda: F.box_area(fp.tensor([[0, 0, 1, 1]])), "boxes of int64: expected floating"),
    (lambda: F.box_iou(fp.zeros(4), fp.zeros(1, 4)), r"boxes1 of shape \(4,\).* \(N, 4\)"),
    (lambda: F.box_convert(fp.zeros(1, 4), "xyxy", "yxyx"), "out_fmt='yxyx': expected one of"),
    (lambda: F.clip_boxes_to_image(fp.zeros(1, 4), 5), r"size=5: expected \(height, width\)"),
    (lambda: F.clip_boxes_to_image(fp.zeros(1, 4), (5, -1)), "size=-1: expected a finite number"),
    (lambda: F.remove_small_boxes(fp.zeros(1, 4), -1), "min_size=-1: expected a finite number"),
    (
        lambda: F.generalized_box_iou_loss(fp.zeros(1, 4), fp.zeros(2, 4)),
        r"boxes1 of shape \(1, 4\), boxes2 of shape \(2, 4\): expected the same",
    ),
    (
        lambda: F.generalized_box_iou_loss(fp.zeros(1, 4), fp.zeros(1, 4), "all"),
        "reduction='all': expected one of mean, sum, none",
    ),
    (
        lambda: F.encode_boxes(fp.tensor([[0.0, 0, 1, 1], [3, 4, 3, 5]]), fp.ones(2, 4)),
        r"encode_boxes: boxes \[3.0, 4.0, 3.0, 5.0\] at \(1,\): expected a width and a height",
    ),
    (
        lambda: F.decode_boxes(fp.zeros(2, 3), fp.zeros(2, 4)),
        r"decode_boxes: deltas of shape \(2, 3\): expected",
    ),
    (
        lambda: F.decode_boxes(fp.zeros(2, 4), fp.zeros(3, 4)),
        r"deltas of shape \(2, 4\) and references of shape \(3, 4\): expected the same",
    ),
    (
        lambda: F.decode_boxes(fp.zeros(2, 4), fp.zeros(2, 4), (1, 2)),
        r"weights=\(1, 2\): expected four numbers",
    ),
    (
        lambda: F.decode_boxes(fp.zeros(2, 4), fp.zeros(2, 4), (1, 2, 0, 1)),
        "weights=0: expected a number above 0",
    ),
    (
        lambda: F.nms(fp.zeros(2, 4), fp.zeros(3), 0.5),
        r"nms: scores of shape \(3,\) for boxes of shape \(2, 4\): expected \(2,\)",
    ),
    (lambda: F.nms(fp.zeros(2, 4), fp.zeros(2), 50), "iou_threshold=50: expected a finite number"),
    (
        lambda: F.batched_nms(fp.zeros(2, 4), fp.zeros(2), fp.zeros(2), 0.5),
        "batched_nms: idxs of float32: expected integers",
    ),
    (
        lambda: F.batched_nms(fp.zeros(2, 4), fp.zeros(2), np.zeros(3, int), 0.5),
        r"idxs of shape \(3,\) for scores of shape \(2,\): expected the same",
    ),
    (lambda: F.roi_align(fp.zeros(3, 4, 4), [], 2), r"input of shape \(3, 4, 4\): expected \(N, C"),
    (
        lambda: F.roi_align(fp.zeros(2, 1, 4, 4), [fp.zeros(1, 4)], 2),
        "roi_align: boxes for 1 pictures, input has 2: expected a tensor",
    ),
    (
        lambda: F.roi_pool(fp.zeros(1, 1, 4, 4), [fp.zeros(1, 5)], 2),
        r"roi_pool: boxes\[0\] of shape \(1, 5\): expected \(L, 4\)",
    ),
    (
        lambda: F.roi_align(fp.zeros(1, 1, 4, 4), fp.zeros(1, 4), 2),
        r"boxes of shape \(1, 4\): expected \(K, 5\), with the picture's number in front",
    ),
    (lambda: F.roi_align(fp.zeros(1, 1, 4, 4), 7, 2), "boxes is a int: expected a list of tensors"),
    (
        lambda: F.roi_align(fp.zeros(1, 1, 4, 4), fp.ones(1, 5), 2),
        r"roi_align: boxes\[0\] is in picture 1: expected 0 to 0",
    ),
    (
        lambda: F.roi_align(fp.zeros(1, 1, 4, 4), [fp.zeros(1, 4, requires_grad=True)], 2),
        r"boxes\[0\] requires a gradient, and none is given to it",
    ),
    (
        lambda: F.roi_align(fp.zeros(1, 1, 4, 4), [fp.zeros(1, 4)], 0),
        "roi_align: output_size=0: expected an integer of at least 1",
    ),
    (
        lambda: F.roi_align(fp.zeros(1, 1, 4, 4), [fp.zeros(1, 4)], 2, float("nan")),
        "spatial_scale=nan: expected a finite number",
    ),
    (
        lambda: F.roi_align(fp.zeros(1, 1, 4, 4), [fp.zeros(1, 4)], 2, 1, 2.5),
        "sampling_ratio=2.5: expected an integer",
    ),
    (
        lambda: F.roi_align(fp.zeros(1, 1, 4, 4), [fp.zeros(1, 4)], 2, 1, 2, aligned=1),
        "aligned=1: expected True or False",
    ),
    (
        lambda: F.sigmoid_focal_loss(fp.zeros(2), fp.zeros(2), 1.5),
        "sigmoid_focal_loss: alpha=1.5: expected a finite number, from 0 to 1",
    ),
    (
        lambda: F.sigmoid_focal_loss(fp.zeros(2), fp.zeros(3)),
        r"input of shape \(2,\), target of shape \(3,\): expected the same",
    ),
    (lambda: F.sigmoid_focal_loss(fp.zeros(2), fp.zeros(2), gamma=-1), "gamma=-1: expected a fin"),
]


@pytest.mark.parametrize("call, message", BAD)
def test_what_is_no_box_is_refused(call, message):
    with pytest.raises(fp.MinifpError, match=message):
        call()
