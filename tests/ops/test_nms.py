"""Non-maximum suppression: the same as torchvision's, as its reference's, and on any machine."""

import numpy as np
import pytest
from beside_torchvision import random_boxes

import minifp as fp
import minifp.nn.functional as F
from minifp.numerics.formats import float16
from minifp.numerics.policy import by_references, get_precision


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
    scores, classes = fp.tensor(random.integers(0, 9, n) / 8), random.integers(0, 9, n) // 2
    kept = F.nms(boxes, scores, 0.5).array, F.batched_nms(boxes, scores, classes, 0.5).array
    with fp.precision(by_references(get_precision())):
        expected = F.nms(boxes, scores, 0.5), F.batched_nms(boxes, scores, classes, 0.5)
    for a, b in zip(kept, expected):
        np.testing.assert_array_equal(a, b.array)
        assert (np.diff(scores.array[a]) <= 0).all()


def test_no_kept_class_depends_on_the_number_of_threads(monkeypatch, threads):
    pool = pytest.importorskip("minifp.runtime.cpu.kernels.pool")
    monkeypatch.setattr(pool, "WORTH_A_THREAD", -1)
    boxes, scores = fp.tensor(random_boxes(500)), fp.tensor(distinct_scores(500))
    classes, found = np.arange(500) % 7, set()
    for count in (1, 2, 3):
        threads(count)
        found.add(F.batched_nms(boxes, scores, classes, 0.4).array.tobytes())
    assert len(found) == 1


def test_the_first_of_equal_scores_is_kept_all_at_the_threshold_and_all_without_area():
    boxes = fp.tensor([[0.0, 0, 10, 10], [0, 0, 10, 5], [0, 0, 10, 10]])
    scores = fp.tensor([0.5, 0.5, 0.5])
    assert F.nms(boxes, scores, 0.5).tolist() == [0, 1]
    assert F.nms(boxes, scores, 0.49).tolist() == [0]
    assert F.nms(boxes, scores, 1.0).tolist() == [0, 1, 2]
    assert F.nms(fp.tensor([[3.0, 3, 3, 3]] * 3), fp.tensor([0.1, 0.3, 0.2]), 0.0).tolist() == [
        1,
        2,
        0,
    ]
    none = fp.zeros(0, 4), fp.zeros(0)
    assert F.nms(*none, 0.5).shape == (0,)
    assert F.batched_nms(*none, np.zeros(0, int), 0.5).shape == (0,)


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
