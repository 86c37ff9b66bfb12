"""Boxes: precision, empty ones, what is refused; and the same as torchvision.

Gradients, bounds and formats of the operations are tested with all others: see cases/detection.py.
What lies in boxes is in test_regions.py, suppression in test_nms.py.
"""

import numpy as np
import pytest
from beside_torchvision import both, random_boxes
from refusals import check_refusals

import minifp as fp
import minifp.nn.functional as F
from minifp.numerics.formats import float16, float32, float64


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


def test_what_is_encoded_is_decoded_to_the_same_boxes_which_grow_at_most_62_times():
    boxes, references = random_boxes(50), random_boxes(50, 1)
    decoded = F.decode_boxes(F.encode_boxes(boxes, references), references)
    np.testing.assert_allclose(decoded.array, boxes, atol=300 * 2.0**-20)
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
    with pytest.warns(fp.MisuseWarning, match=r"box_area: boxes in float16, .* no odd numbers"):
        F.box_area(boxes)
    F.box_area(fp.tensor([[0.0, 0.0, 2047.0, 10.0]], dtype="float16"))  # no warning


def test_empty_boxes_overlap_with_nothing_and_tiny_ones_still_have_gradients():
    point, inverted = [5.0, 5.0, 5.0, 5.0], [8.0, 8.0, 2.0, 2.0]
    boxes = fp.tensor([point, inverted, [0.0, 0.0, 10.0, 10.0]], requires_grad=True)
    assert F.box_area(boxes).tolist() == [0, 0, 100]
    assert F.remove_small_boxes(fp.zeros(0, 4), 1).shape == (0,)
    assert F.box_iou(boxes, boxes).tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1]]
    generalized = F.generalized_box_iou(boxes, boxes)
    assert np.isfinite(generalized.array).all()
    generalized.sum().backward()
    assert np.isfinite(boxes.grad.array).all()
    # Of fractions of a picture: the square of an area of 1e-20 is below float32's smallest.
    a = fp.tensor([[0.0, 0.0, 1e-10, 1e-10]], requires_grad=True)
    F.box_iou(a, fp.tensor([[0.0, 0.0, 2e-10, 1e-10]])).sum().backward()
    np.testing.assert_allclose(a.grad.array[0, 2], 0.5e10, rtol=1e-5)


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


def test_what_is_no_box_is_refused():
    check_refusals(
        r"""
    F.box_area(fp.zeros(3, 5)) -> MinifpError: box_area: boxes of shape \(3, 5\): expected boxes
    F.box_area([[0, 0, 1, 1]]) -> MinifpError: box_area: boxes is a list: expected a tensor
    F.box_area(fp.tensor([[0, 0, 1, 1]])) -> MinifpError: boxes of int64: expected floating
    F.box_iou(fp.zeros(4), b) -> MinifpError: boxes1 of shape \(4,\).* \(N, 4\)
    F.box_convert(b, "xyxy", "yxyx") -> MinifpError: out_fmt='yxyx': expected one of
    F.clip_boxes_to_image(b, 5) -> MinifpError: size=5: expected \(height, width\)
    F.clip_boxes_to_image(b, (5, -1)) -> MinifpError: size=-1: expected a finite number
    F.remove_small_boxes(b, -1) -> MinifpError: min_size=-1: expected a finite number
    F.generalized_box_iou_loss(b, bb) -> MinifpError: boxes1 .*\(1, 4\), boxes2 .*\(2, 4\): .* same
    F.generalized_box_iou_loss(b, b, "all") -> MinifpError: reduction='all': expected one of mean
    F.encode_boxes(bb, bb + 1) -> MinifpError: encode_boxes: boxes \[0.0, .* at \(0,\): expected a
    F.decode_boxes(fp.zeros(2, 3), bb) -> MinifpError: decode_boxes: deltas of shape \(2, 3\)
    F.decode_boxes(bb, fp.zeros(3, 4)) -> MinifpError: deltas of .*\(2, 4\) and references of .*\(3
    F.decode_boxes(bb, bb, (1, 2)) -> MinifpError: weights=\(1, 2\): expected four numbers
    F.decode_boxes(bb, bb, (1, 2, 0, 1)) -> MinifpError: weights=0: expected a number above 0
    F.nms(bb, fp.zeros(3), 0.5) -> MinifpError: nms: scores of shape \(3,\) .*\(2, 4\): expected \(2
    F.nms(bb, bb[:, 0], 50) -> MinifpError: iou_threshold=50: expected a finite number
    F.batched_nms(bb, bb[:, 0], bb[:, 0], 0.5) -> MinifpError: batched_nms: idxs of float32
    F.batched_nms(bb, bb[:, 0], np.zeros(3, int), 0.5) -> MinifpError: idxs of shape \(3,\) for
    F.roi_align(x[0], [], 2) -> MinifpError: input of shape \(1, 4, 4\): expected \(N, C
    F.roi_align(fp.cat([x, x]), [b], 2) -> MinifpError: roi_align: boxes for 1 pictures, input has 2
    F.roi_pool(x, [fp.zeros(1, 5)], 2) -> MinifpError: roi_pool: boxes\[0\] of .*\(1, 5\): .*\(L, 4
    F.roi_align(x, b, 2) -> MinifpError: boxes of shape \(1, 4\): expected \(K, 5\), with the
    F.roi_align(x, 7, 2) -> MinifpError: boxes is a int: expected a list of tensors
    F.roi_align(x, fp.ones(1, 5), 2) -> MinifpError: boxes\[0\] is in picture 1: expected 0 to 0
    F.roi_align(x, [fp.Tensor(b.array, requires_grad=True)], 2) -> MinifpError: \[0\] requires a
    F.roi_align(x, [b], 0) -> MinifpError: roi_align: output_size=0: expected an integer of at least
    F.roi_align(x, [b], 2, float("nan")) -> MinifpError: spatial_scale=nan: expected a finite number
    F.roi_align(x, [b], 2, 1, 2.5) -> MinifpError: sampling_ratio=2.5: expected an integer
    F.roi_align(x, [b], 2, 1, 2, aligned=1) -> MinifpError: aligned=1: expected True or False
    F.sigmoid_focal_loss(b, b, 1.5) -> MinifpError: sigmoid_focal_loss: alpha=1.5: expected .* 0 to
    F.sigmoid_focal_loss(b, bb) -> MinifpError: input of shape \(1, 4\), target of .*\(2, 4\)
    F.sigmoid_focal_loss(b, b, gamma=-1) -> MinifpError: gamma=-1: expected a fin
        """,
        **{"b": np.zeros((1, 4)), "bb": np.zeros((2, 4)), "x": np.zeros((1, 1, 4, 4))},
    )
