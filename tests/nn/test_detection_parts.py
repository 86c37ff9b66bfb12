"""What detectors are made of: boxes, matching, sampling, losses, targets, batches of pictures."""

import numpy as np
import pytest
from refusals import each_refused, refuses

import minifp as fp
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.nn import detection
from minifp.nn.detection.matching import BETWEEN, NOTHING, batch_overlaps
from minifp.nn.detection.multibox_loss import MultiBoxLoss
from minifp.nn.detection.predictions import best_of_labels
from minifp.nn.detection.transform import rescaled, rescaled_objects

SSD300 = {
    "aspect_ratios": ((2,), (2, 3), (2, 3), (2, 3), (2,), (2,)),
    "scales": (0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05),
    "steps": (8, 16, 32, 64, 100, 300),
}
GRIDS = [(38, 38), (19, 19), (10, 10), (5, 5), (3, 3), (1, 1)]


def objects(*counts, size=200, labels=5, seed=0):
    """Of pictures so many objects each, of sides from 20 pixels to half of the picture."""
    rng, found = np.random.default_rng(seed), []
    for n in counts:
        corner, sides = rng.uniform(0, size / 2, (n, 2)), rng.uniform(20, size / 2, (n, 2))
        boxes = np.concatenate([corner, corner + sides], 1).astype(np.float32)
        found.append(detection.Objects(boxes, rng.integers(1, labels, n)))
    return found


def test_ssd300_has_8732_default_boxes_at_equal_distances_inside_of_the_picture():
    boxes = detection.DefaultBoxes(**SSD300)((300, 300), GRIDS)
    assert boxes.shape == (8732, 4) and boxes.dtype == np.float32
    side, between = 0.07 * 300, np.sqrt(0.07 * 0.15) * 300
    width, height = side * np.sqrt(2), side / np.sqrt(2)
    sides = [(side, side), (between, between), (width, height), (height, width)]
    expected = [(4 - w / 2, 4 - h / 2, 4 + w / 2, 4 + h / 2) for w, h in sides]
    np.testing.assert_allclose(boxes[:4], expected, rtol=1e-5)
    assert (boxes[-4] == [19.5, 19.5, 280.5, 280.5]).all()  # 0.87 of the picture, in its middle
    whole = [0, 0, 60, 40]
    for clip, expected in ((True, [whole] * 2), (False, [[-15, -10, 75, 50], [-30, -20, 90, 60]])):
        make = detection.DefaultBoxes([[]], scales=(1.5, 8 / 3), clip=clip)
        np.testing.assert_allclose(make((40, 60), [(1, 1)]), expected, atol=1e-5)
    found = detection.DefaultBoxes([[2]] * 4, min_ratio=0.2, max_ratio=0.8).scales
    np.testing.assert_allclose(found, [0.2, 0.4, 0.6, 0.8, 1.0])


def test_anchors_have_the_published_areas_and_stand_a_stride_apart():
    anchors = detection.AnchorGenerator()((608, 800), [(38, 50)])
    assert anchors.shape == (38 * 50 * 9, 4)
    sides = anchors[:, 2:] - anchors[:, :2]
    areas = sides.prod(1).reshape(-1, 3, 3)  # cells, ratios, sizes
    np.testing.assert_allclose(areas, np.broadcast_to([128**2, 256**2, 512**2], areas.shape), 0.02)
    np.testing.assert_array_equal(anchors[9] - anchors[0], [16, 0, 16, 0])
    np.testing.assert_array_equal(anchors[9 * 50] - anchors[0], [0, 16, 0, 16])


test_what_makes_no_sense_is_refused = each_refused(
    (lambda: detection.DefaultBoxes([[2]], scales=[0.1]), "scales: 1 numbers, expected 2"),
    (lambda: detection.DefaultBoxes([[2], [-1]]), "aspect_ratios: -1"),
    (lambda: detection.DefaultBoxes([[2]], min_ratio=0.95), "min_ratio"),
    (lambda: detection.DefaultBoxes([[2]])((32, 32), [(4, 4), (2, 2)]), "was given 2"),
    (lambda: detection.AnchorGenerator(((8,),), ((1,), (2,))), "sizes of 1 feature maps"),
    (lambda: detection.Matcher(0.3, 0.7), "low_threshold=0.7"),
    (lambda: detection.BalancedSampler(0, 0.5, "x"), "count=0"),
    (lambda: MultiBoxLoss(negative_ratio=-1), "negative_ratio=-1"),
    (lambda: detection.DetectionTransform((0.5,), (0.0,)), "no 0 in image_std"),
    error=ArgumentError,
)


def test_a_box_finds_what_it_overlaps_with_most_if_that_is_enough_and_each_object_a_box():
    quality = np.array([[0.8, 0.2, 0.5, 0.1], [0.6, 0.25, 0.5, 0.65]], np.float32)
    found = detection.Matcher(0.6, 0.3)(quality)
    np.testing.assert_array_equal(found, [0, NOTHING, BETWEEN, 1])
    low = np.array([[0.1, 0.2, 0.2], [0.9, 0.0, 0.25]], np.float32)  # the first is found by two
    found = detection.Matcher(0.6, 0.3, allow_low_quality_matches=True)(low)
    np.testing.assert_array_equal(found, [1, 0, 1])
    quality = np.array([[0, 0, 0], [0.9, 0, 0.1]], np.float32)
    found = detection.Matcher(0.7, 0.3, allow_low_quality_matches=True)(quality)
    np.testing.assert_array_equal(found, [1, NOTHING, NOTHING])
    quality = np.array([[0.7, 0.1, 0.3, 0], [0.2, 0.0, 0.4, 0], [0.1, 0, 0.35, 0]], np.float32)
    np.testing.assert_array_equal(detection.match_default_boxes(quality), [0, NOTHING, 2, NOTHING])


def test_pictures_with_more_and_with_fewer_objects_are_matched_as_if_alone():
    boxes = detection.DefaultBoxes([[2], [2]])((200, 200), [(20, 20), (5, 5)])
    together = objects(3, 0, 7)
    quality = batch_overlaps([o.boxes for o in together], boxes)
    matcher = detection.Matcher(0.5, 0.3, allow_low_quality_matches=True)
    for match in (detection.match_default_boxes, matcher):
        alone = [match(batch_overlaps([o.boxes], boxes))[0] for o in together]
        np.testing.assert_array_equal(match(quality), alone)
    assert (alone[1] == NOTHING).all() and len({*alone[2]} - {NOTHING, BETWEEN}) == 7


@pytest.mark.parametrize("precision", ["mixed", "float16", "autocast"])
def test_boxes_and_matches_are_float32s_in_every_precision(precision):
    for make in (detection.DefaultBoxes([[2]]), detection.AnchorGenerator(((64, 99),), ((1, 2),))):
        expected = make((400, 300), [(20, 15)])
        with fp.precision(precision):
            boxes = make((400, 300), [(20, 15)])
            quality = batch_overlaps([o.boxes for o in objects(9, size=300)], boxes)
        assert boxes.dtype == quality.dtype == np.float32
        np.testing.assert_array_equal(boxes, expected)
        wide = batch_overlaps([o.boxes for o in objects(9, size=300)], expected)
        np.testing.assert_array_equal(quality, wide)


def test_samples_are_balanced_and_decided_by_the_seed_and_call_alone():
    labels = np.array([1] * 100 + [0] * 300 + [-1] * 50)
    positives, negatives = detection.BalancedSampler(64, 0.25, "some")(labels)
    assert (labels[positives] == 1).all() and (labels[negatives] == 0).all()
    assert (len(positives), len(negatives)) == (16, 48)
    positives, negatives = detection.BalancedSampler(64, 0.5, "some")(labels[97:])
    assert (len(positives), len(negatives)) == (3, 61)  # made up of the others
    labels = np.array([1] * 40 + [0] * 400)
    sampler, drawn = detection.BalancedSampler(32, 0.25, "some"), []
    for relabelled in (False, True):
        fp.manual_seed(7)
        labels[3] = 0 if relabelled else 1
        drawn.append([{*np.concatenate(sampler(labels)).tolist()} for _ in range(3)])
    one, other = drawn
    assert one[0] != one[1]
    assert all(len(a ^ b) <= 4 for a, b in zip(one, other))


def test_the_hardest_boxes_without_object_count_three_for_each_with_one():
    rng = np.random.default_rng(0)
    losses, positives = rng.random((4, 50)), rng.random((4, 50)) < 0.1
    positives[2] = False  # a picture without objects
    positives[3, :20] = True
    chosen = detection.hard_negatives(losses, positives, 3.0)
    for of_picture, its_losses, mine in zip(chosen, losses, positives):
        wanted = min(3 * mine.sum(), (~mine).sum())
        order = [k for k in np.argsort(-its_losses) if not mine[k]]
        assert {*np.flatnonzero(of_picture)} == {*order[:wanted]}
    positives = np.array([[True, False, False, False, False, False]])
    losses = np.array([[9.0, 1.0, 1.0, np.nan, 1.0, 1.0]])
    chosen = detection.hard_negatives(losses, positives, 3.0)
    np.testing.assert_array_equal(np.flatnonzero(chosen), [1, 2, 3])
    labels, scores = np.array([2, 1, 2, 1, 2, 1]), np.array([0.5, 0.9, 0.5, 0.1, 0.8, 0.3])
    np.testing.assert_array_equal(best_of_labels(labels, scores, 2), [1, 5, 4, 0])


BOXES = detection.DefaultBoxes([[2], [2]])((200, 200), [(6, 6), (3, 3)])


def predictions(pictures, classes=5, spread=1.0, requires_grad=False):
    rows = (pictures, len(BOXES))
    logits, deltas = fp.randn(*rows, classes) * spread, fp.randn(*rows, 4)
    return [fp.tensor(t.array, requires_grad=requires_grad) for t in (logits, deltas)]


def test_the_multibox_loss_is_its_formula_and_gradients_its_slopes():
    mine = objects(2, 0, 4)
    logits, deltas = predictions(3)
    found, z = MultiBoxLoss()(logits, deltas, BOXES, mine), logits.array.astype(np.float64)
    surprise = np.log(np.exp(z).sum(2, keepdims=True)) - z
    matched, regression, entropy = 0, 0.0, 0.0
    for its_surprise, its_rows, (boxes, labels) in zip(surprise, deltas.array, mine):
        matches = detection.match_default_boxes(batch_overlaps([boxes], BOXES))[0]
        places = np.flatnonzero(matches >= 0)
        a, b = BOXES[places].astype(float), boxes[matches[places]].astype(float)
        shift = ((b[:, :2] + b[:, 2:]) - (a[:, :2] + a[:, 2:])) / 2 / (a[:, 2:] - a[:, :2]) * 10
        growth = np.log((b[:, 2:] - b[:, :2]) / (a[:, 2:] - a[:, :2])) * 5
        d = np.abs(its_rows[places] - np.concatenate([shift, growth], 1))
        regression += np.where(d < 1, d * d / 2, d - 0.5).sum()
        entropy += its_surprise[places, labels[matches[places]]].sum()
        others = np.delete(its_surprise[:, 0], places)
        entropy += np.sort(others)[::-1][: 3 * len(places)].sum()
        matched += len(places)
    assert found["bbox_regression"].item() == pytest.approx(regression / matched, rel=1e-5)
    assert found["classification"].item() == pytest.approx(entropy / matched, rel=1e-5)
    with fp.precision("float64"):
        logits, deltas = predictions(2, requires_grad=True)
        mine, loss = objects(2, 1), MultiBoxLoss()
        assert fp.gradcheck(lambda *x: sum(loss(*x, BOXES, mine).values()), (logits, deltas))
    logits, deltas = predictions(2)
    with pytest.raises(ShapeError, match=r"expected \(1, 180, classes\)"):
        MultiBoxLoss()(logits, deltas, BOXES, objects(1))


def test_sums_of_losses_stay_float32_and_gradients_are_stored_as_activations():
    """Of 400 default boxes with a loss of 300 each: in float16 the sum would be Inf."""
    boxes = np.tile(np.array([[0, 0, 100, 100]], np.float32), (400, 1))
    mine = [detection.Objects(boxes[:1], np.array([1]))]
    with fp.precision("mixed"):
        logits = np.zeros((1, 400, 3), np.float32)
        logits[..., 0] = 300
        logits = fp.tensor(logits, requires_grad=True)
        deltas = fp.zeros(1, 400, 4, requires_grad=True)
        found = MultiBoxLoss()(logits, deltas, boxes, mine)
        sum(found.values()).backward()
    assert logits.dtype == logits.grad.dtype == deltas.grad.dtype == np.float16
    assert found["classification"].dtype == np.float32
    assert found["classification"].item() == pytest.approx(300.0)


@pytest.mark.parametrize("precision", ["float32", "mixed", "float16", "autocast"])
def test_pictures_without_objects_have_no_loss_and_no_gradient(precision):
    with fp.precision(precision):
        logits, deltas = predictions(2, requires_grad=True)
        found = MultiBoxLoss()(logits, deltas, BOXES, objects(0, 0))
        sum(found.values()).backward()
    assert [loss.item() for loss in found.values()] == [0.0, 0.0]
    assert not logits.grad.array.any() and not deltas.grad.array.any()


BOX = [[10.0, 10.0, 50.0, 40.0]]


@pytest.mark.parametrize("targets, error, what", [
    (None, ArgumentError, "training needs targets"),
    ({"boxes": BOX, "labels": [1]}, ArgumentError, "one dict for 1 images"),
    ([], ArgumentError, "0 targets for 1 images"),
    ([{"boxes": BOX}], ArgumentError, r"targets\[0\] has no 'labels'"),
    ([{"boxes": BOX, "labels": [1, 2]}], ShapeError, r"expected \(K, 4\) and \(K,\)"),
    ([{"boxes": BOX, "labels": [0]}], ArgumentError, "label 0: expected 1 to 3"),
    ([{"boxes": BOX, "labels": [4]}], ArgumentError, "label 4: expected 1 to 3"),
    ([{"boxes": BOX, "labels": [1.0]}], DTypeError, "expected integers"),
    ([{"boxes": np.float16(BOX), "labels": [1]}], DTypeError, "expected float32"),
    ([{"boxes": [[50, 10, 10, 40]], "labels": [1]}], ArgumentError, "has no area"),
    ([{"boxes": [[10, 10, 60, 40]], "labels": [1]}], ArgumentError, "not inside its"),
    ([{"boxes": [[-5, 10, 30, 40]], "labels": [1]}], ArgumentError, "clip_boxes_to_image"),
    ([{"boxes": [[1, 1, np.nan, 9]], "labels": [1]}], ArgumentError, "not inside its"),
])  # fmt: skip
def test_targets_that_cannot_be_are_refused(targets, error, what):
    refuses(error, what, detection.as_objects, targets, [(60, 50)], classes=4)


def test_targets_are_tensors_arrays_or_lists_and_crowds_teach_nothing():
    boxes = fp.tensor(BOX, dtype="float32")
    targets = [{"boxes": boxes, "labels": fp.tensor([2])}, {"boxes": [], "labels": []}]
    one, none = detection.as_objects(targets, [(60, 50)] * 2, classes=4)
    assert one.boxes.dtype == np.float32 and one.labels.tolist() == [2]
    assert none.boxes.shape == (0, 4) and none.labels.shape == (0,)
    targets = [{"boxes": np.array([BOX[0]] * 2), "labels": [2, 3], "iscrowd": [True, False]}]
    (found,) = detection.as_objects(targets, [(60, 50)], classes=4)
    assert found.labels.tolist() == [3] and found.boxes.shape == (1, 4)
    with pytest.raises(ShapeError, match=r"iscrowd of shape \(1,\): expected \(2,\)"):
        detection.as_objects([{**targets[0], "iscrowd": [True]}], [(60, 50)], classes=4)


def test_pictures_of_any_sizes_become_one_batch():
    transform = detection.DetectionTransform((0.5,) * 3, (0.25,) * 3, None, 40, 60, multiple=16)
    images = [fp.ones(3, 20, 25), fp.ones(3, 40, 80)]
    batch = transform(images)
    assert batch.original == [(20, 25), (40, 80)]
    assert batch.sizes == [(40, 50), (30, 60)]  # the longer side decides
    assert batch.images.shape == (2, 3, 48, 64)
    assert (batch.images.array[0, :, :40, :50] == 2).all()
    assert (batch.images.array[1, :, 30:] == 0).all() and (
        batch.images.array[1, ..., 60:] == 0
    ).all()
    given = [
        detection.Objects(np.array([[0, 0, w, h]], np.float32), np.array([1]))
        for h, w in batch.original
    ]
    there = rescaled_objects(given, batch)
    assert [o.boxes.tolist() for o in there] == [[[0, 0, 50, 40]], [[0, 0, 60, 30]]]
    back = [rescaled(o.boxes, *s) for o, *s in zip(there, batch.sizes, batch.original)]
    np.testing.assert_array_equal(back, [o.boxes for o in given])
    images = fp.randn(2, 1, 8, 12)
    batch = detection.DetectionTransform((0.5,), (0.25,), (8, 12))(images)
    np.testing.assert_allclose(batch.images.array, (images.array - 0.5) / 0.25, rtol=1e-6)
    listed = detection.DetectionTransform((0.5,), (0.25,), (8, 12))([images[0], images[1]])
    np.testing.assert_array_equal(listed.images.array, batch.images.array)


@pytest.mark.parametrize("images, error, what", [
    ([], DTypeError, "an empty list"), (np.zeros((3, 8, 8)), DTypeError, "ndarray"),
    ([np.zeros((3, 8, 8))], DTypeError, "pictures are a ndarray"),
    (fp.zeros(3, 8, 8), ShapeError, r"of shape \(3, 8, 8\): expected a list"),
    ([fp.zeros(1, 8, 8)], ShapeError, "C = 3 channels"),
    ([fp.tensor(np.zeros((3, 8, 8), np.uint8))], DTypeError, r"uint8.* / 255"),
])  # fmt: skip
def test_pictures_that_are_none_are_refused(images, error, what):
    refuses(error, what, detection.DetectionTransform((0.5,) * 3, (0.25,) * 3), images)


def test_boxes_and_matches_are_those_of_torchvision(torchvision):
    import torch

    utils, anchors = torchvision.models.detection._utils, torchvision.models.detection.anchor_utils
    ImageList = torchvision.models.detection.image_list.ImageList
    ratios = ((0.5, 1.0, 2.0), (1.0, 3.0))
    pairs = [
        (detection.DefaultBoxes(**SSD300), anchors.DefaultBoxGenerator(**SSD300)),
        (
            detection.AnchorGenerator(((128, 256, 512), (17, 33)), ratios),
            anchors.AnchorGenerator(((128, 256, 512), (17, 33)), ratios),
        ),
    ]
    for (mine, theirs), size, grids in zip(
        pairs, ((300, 300), (608, 800)), (GRIDS, [(38, 50), (19, 25)])
    ):
        images = ImageList(torch.zeros(1, 3, *size), [size])
        maps = [torch.zeros(1, 1, *grid) for grid in grids]
        np.testing.assert_array_equal(mine(size, grids), theirs(images, maps)[0].numpy())
    boxes = pairs[0][0]((300, 300), GRIDS)
    quality = batch_overlaps([o.boxes for o in objects(12, size=300)], boxes)[0]
    for mine, theirs in (
        (detection.match_default_boxes, utils.SSDMatcher(0.5)),
        (detection.Matcher(0.7, 0.3, True), utils.Matcher(0.7, 0.3, True)),
        (detection.Matcher(0.5, 0.5), utils.Matcher(0.5, 0.5)),
    ):
        np.testing.assert_array_equal(mine(quality), theirs(torch.from_numpy(quality)).numpy())
