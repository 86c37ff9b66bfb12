"""Average precision and F1: held against pycocotools, and a slow program by the definition."""

import contextlib
import io
import math

import numpy as np
import pytest
from boxed_pictures import detections
from refusals import refuses

from minifp.errors import ArgumentError
from minifp.lab import CocoEvaluation, coco_map, detection_f1, voc_average_precision, voc_map

# Means over at most 10 thresholds, 101 recalls and 6 classes are summed in another order.
SUMMED = 10 * 101 * 6 * 2.0**-53
# What pycocotools 2.0.11 makes of `detections`, in percent, in the order of its table.
GOLDEN = [
    (
        {"pictures": 40, "seed": 1},
        [13.562829848728148, 24.75853878929556, 13.557383508457665, 7.752429355999178,
         18.78876704427283, 23.54734865427935, 19.692996567996566, 48.539521664521665,
         48.85698198198198, 28.240740740740744, 52.196517142753706, 91.11111111111111],
    ),
    (
        {"pictures": 25, "seed": 2, "classes": 1, "most_true": 12, "most_found": 150, "side": 400},
        [15.580439528860257, 26.646024916556772, 17.193822773698265, 12.253672650704955,
         20.689766809089644, 26.56876933699099, 5.820895522388058, 33.2089552238806,
         66.71641791044776, 44.34782608695652, 70.67961165048544, 80.0],
    ),
    (
        {"pictures": 30, "seed": 3, "classes": 6, "levels": 5},
        [10.367702017098889, 18.05651983936956, 11.730912895297887, 4.486643417627692,
         18.549251529553086, 24.38888888888889, 24.58207070707071, 47.827651515151516,
         47.96654040404041, 17.738095238095237, 60.921911421911425, 80.0],
    ),
]  # fmt: skip


def boxes(*rows):
    return np.array(rows, np.float32).reshape(-1, 4)


def found(*rows, scores=None, labels=None):
    n = len(rows)
    given = np.linspace(0.9, 0.5, n) if scores is None else np.array(scores)
    return {"boxes": boxes(*rows), "scores": given, "labels": np.array(labels or [1] * n, int)}


def true(*rows, labels=None, **more):
    return {"boxes": boxes(*rows), "labels": np.array(labels or [1] * len(rows), int), **more}


A, B, C = (0, 0, 10, 10), (20, 20, 30, 30), (50, 50, 60, 60)


@pytest.mark.parametrize("settings, expected", GOLDEN)
def test_cocos_numbers_are_those_of_pycocotools(settings, expected):
    evaluation = CocoEvaluation(*detections(**settings))
    np.testing.assert_allclose([*evaluation.stats.values()], expected, rtol=SUMMED)
    assert [*evaluation.stats][:3] == ["AP", "AP50", "AP75"]
    mean = np.mean([*evaluation.by_class.values()])
    np.testing.assert_allclose(mean, evaluation.stats["AP"], rtol=SUMMED)


def by_pycocotools(outputs, targets, classes):
    """Its table, in percent, with NaN for its -1."""
    coco = pytest.importorskip("pycocotools.coco", reason="pycocotools is not installed")
    cocoeval = pytest.importorskip("pycocotools.cocoeval")

    def sides(box):
        left, top, right, bottom = map(float, box)
        return [left, top, right - left, bottom - top]

    true = [
        {"image_id": i, "category_id": int(t["labels"][k]), "bbox": sides(t["boxes"][k]),
         "area": float(t["area"][k]), "iscrowd": int(t["iscrowd"][k])}
        for i, t in enumerate(targets) for k in range(len(t["labels"]))
    ]  # fmt: skip
    guesses = [
        {"image_id": i, "category_id": int(o["labels"][k]), "bbox": sides(o["boxes"][k]),
         "score": float(o["scores"][k])}
        for i, o in enumerate(outputs) for k in range(len(o["labels"]))
    ]  # fmt: skip
    with contextlib.redirect_stdout(io.StringIO()):
        dataset = coco.COCO()
        dataset.dataset = {
            "images": [{"id": i} for i in range(len(targets))],
            "categories": [{"id": k} for k in range(1, classes + 1)],
            "annotations": [{**box, "id": i} for i, box in enumerate(true, 1)],
        }
        dataset.createIndex()
        evaluation = cocoeval.COCOeval(dataset, dataset.loadRes(guesses), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return np.where(evaluation.stats < 0, np.nan, 100 * evaluation.stats)


RANDOM = [
    *(settings for settings, _ in GOLDEN),
    *({"pictures": 9, "seed": 10 + i, "levels": 4 + i % 3, "classes": 1 + i % 4} for i in range(6)),
    {"pictures": 3, "seed": 30, "most_true": 40, "most_found": 200, "classes": 1},
    {"pictures": 6, "seed": 31, "most_true": 1, "most_found": 2},
]


@pytest.mark.parametrize("settings", RANDOM, ids=lambda settings: str(settings["seed"]))
def test_random_detections_are_judged_as_pycocotools_judges_them(settings):
    outputs, targets = detections(**settings)
    expected = by_pycocotools(outputs, targets, settings.get("classes", 3))
    own = [*CocoEvaluation(outputs, targets).stats.values()]
    np.testing.assert_allclose(own, expected, rtol=SUMMED)
    assert coco_map(outputs, targets) == own[0] or math.isnan(own[0])


def test_what_is_perfect_and_what_is_not_there():
    _, targets = detections(6, most_true=3)
    perfect = [{**t, "scores": np.ones(len(t["labels"]))} for t in targets]
    assert coco_map(perfect, targets) == pytest.approx(100)
    assert coco_map([found() for _ in targets], targets) == 0.0
    assert math.isnan(coco_map([found(A)], [true()]))
    stats = CocoEvaluation([found(A)], [true(A)]).stats
    assert stats["AP_small"] == pytest.approx(100) and math.isnan(stats["AP_large"])
    assert repr(CocoEvaluation([found(A)], [true(A)])).startswith("AP 100.0, AP50 100.0")


def test_a_crowd_may_be_found_often_and_never_and_only_the_best_hundred_count():
    crowd = {"iscrowd": np.array([False, True])}
    often = found(A, (20, 20, 22, 22), (25, 25, 28, 28), (27, 20, 29, 30))
    for outputs in (often, found(A)):
        assert CocoEvaluation([outputs], [true(A, B, **crowd)]).stats["AP"] == pytest.approx(100)
    assert CocoEvaluation([often], [true(A, B)]).stats["AP"] < 60
    rows = [C] * 100 + [A]
    outputs = [found(*rows, scores=np.linspace(1, 0.5, 101))]
    assert coco_map(outputs, [true(A)]) == 0.0
    assert coco_map([found(*rows[1:], scores=np.linspace(1, 0.5, 100))], [true(A)]) > 0


def voc_slowly(outputs, targets, label, iou, points):
    """Everingham and others, section 4.4, line by line, with loops."""
    everything = [
        (float(o["scores"][k]), i, o["boxes"][k].astype(float))
        for i, o in enumerate(outputs)
        for k in np.argsort(-o["scores"], kind="stable")
        if o["labels"][k] == label
    ]
    everything.sort(key=lambda one: -one[0])
    positives = sum(((t["labels"] == label) & ~t["difficult"]).sum() for t in targets)
    taken, hits, misses, curve = set(), 0, 0, []
    for _, i, box in everything:
        best, where = -1.0, None
        for k, other in enumerate(targets[i]["boxes"].astype(float)):
            if targets[i]["labels"][k] != label:
                continue
            sides = np.minimum(box[2:], other[2:]) - np.maximum(box[:2], other[:2])
            common = max(sides[0], 0) * max(sides[1], 0)
            areas = sum((b[2] - b[0]) * (b[3] - b[1]) for b in (box, other))
            if common / (areas - common) > best:
                best, where = common / (areas - common), k
        if where is not None and best >= iou:
            if not targets[i]["difficult"][where]:
                hits, misses = hits + ((i, where) not in taken), misses + ((i, where) in taken)
                taken.add((i, where))
        else:
            misses += 1
        curve.append((hits / positives, hits / max(hits + misses, 1)))
    if points:
        return np.mean([max([p for r, p in curve if r >= t / 10], default=0) for t in range(11)])
    recalls = sorted({r for r, _ in curve})
    steps = np.diff([0.0, *recalls])
    return sum(s * max(p for q, p in curve if q >= r) for s, r in zip(steps, recalls))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("points", [None, 11])
def test_vocs_numbers_are_those_of_a_program_by_its_definition(seed, points):
    outputs, targets = detections(15, seed, levels=[None, 6][seed % 2])
    for iou in (0.5, 0.7):
        by_class = voc_average_precision(outputs, targets, iou, points)
        assert [*by_class] == [1, 2, 3]
        for label, value in by_class.items():
            slowly = 100 * voc_slowly(outputs, targets, label, iou, points)
            assert value == pytest.approx(slowly, rel=1000 * 2.0**-53)
        mean = np.mean([*by_class.values()])
        assert voc_map(outputs, targets, iou, points) == pytest.approx(mean)


def test_vocs_rules_by_hand():
    wrong, near = (70, 70, 80, 80), (1, 0, 11, 10)
    # right, wrong, right: precisions 1, 1/2, 2/3 at recalls 1/2, 1/2, 1
    outputs, targets = [found(A, wrong, B)], [true(A, B)]
    assert voc_map(outputs, targets) == pytest.approx(100 * (1 / 2 + 1 / 2 * 2 / 3))
    assert voc_map(outputs, targets, points=11) == pytest.approx(100 * (6 + 5 * 2 / 3) / 11)
    # the second of the same box is wrong, though another box is left
    assert voc_map([found(A, near, B)], [true(A, B)]) == pytest.approx(100 * (0.5 + 0.5 * 2 / 3))
    # difficult: neither found nor missed, and no precision is lost by it
    hard = {"difficult": np.array([False, True, False])}
    assert voc_map([found(B, B, A, C)], [true(A, B, C, **hard)]) == pytest.approx(100)
    assert voc_map([found(A, C)], [true(A, B, C, **hard)]) == pytest.approx(100)
    # an overlap of exactly one half is enough: 10 x 10 in 10 x 20
    assert voc_map([found((0, 0, 10, 20))], [true(A)]) == 100
    assert voc_map([found((0, 0, 10, 21))], [true(A)]) == 0
    # a box of another class or picture is none
    assert voc_map([found(A, labels=[2])], [true(A)]) == 0
    assert voc_map([found(), found(A)], [true(A), true()]) == 0
    # the mean is over the classes that are to be found
    outputs, targets = [found(A, B, labels=[1, 3])], [true(A, B, labels=[1, 2])]
    assert voc_average_precision(outputs, targets) == {1: 100, 2: 0}
    assert voc_map(outputs, targets) == 50
    assert math.isnan(voc_map([found(A)], [true()]))


def test_f1_counts_what_is_above_its_threshold():
    outputs = [found(A, B, C, scores=[0.9, 0.5, 0.3]), found(A, labels=[2], scores=[0.8])]
    targets = [true(A, B), true(A, C)]
    # two right, one of another class wrong, two missed
    assert detection_f1(outputs, targets) == pytest.approx(100 * 4 / (4 + 1 + 2))
    assert detection_f1(outputs, targets, threshold=0.6) == pytest.approx(100 * 2 / (2 + 1 + 3))
    assert detection_f1(outputs, targets, threshold=0.95) == 0
    hard = {"difficult": np.array([True, False])}
    assert detection_f1(outputs[:1], [true(A, B, **hard)]) == 100
    assert math.isnan(detection_f1([found()], [true()])) and detection_f1([found(A)], [true()]) == 0
    assert detection_f1([found(A, A)], [true(A)], iou=0.9) == pytest.approx(100 * 2 / 3)


def test_what_is_not_finite_is_no_number():
    for key in ("scores", "boxes"):
        outputs = [found(A, B)]
        outputs[0][key][0] = np.nan
        for metric in (coco_map, voc_map, detection_f1):
            assert math.isnan(metric(outputs, [true(A)]))
        assert math.isnan(CocoEvaluation(outputs, [true(A)]).by_class[1])


def test_what_are_no_detections_and_settings_that_cannot_be_are_refused():
    one, target = found(A), true(A)
    no_dict = "expected a list with a dict of boxes"
    for outputs, targets, message in (
        ([one], [], "outputs of 1 pictures, targets of 0: expected as many, and one at least"),
        *(([], [], "and one at least"), (one, [target], f"outputs: {no_dict}, .* got dict")),
        ([one], [3], f"targets: {no_dict}"),
        ([target], [target], r"outputs\[0\] has boxes, labels, expected boxes, labels, scores"),
        ([{**one, "boxes": np.ones(4)}], [target], r"\(4,\).*expected \(n, 4\)"),
        ([one], [{**target, "labels": np.ones(1)}], r"targets\[0\]: .*labels are integers"),
        ([found(A, scores=[1, 2])], [target], r"shapes \(1, 4\), \(1,\), \(2,\)"),
    ):
        for metric in (coco_map, voc_map, detection_f1):
            refuses(ArgumentError, message, metric, outputs, targets)
    for metric, setting, message in (
        (voc_map, {"points": 10}, "points=10: expected 11, or None"),
        *((voc_map, {"iou": 1.5}, "iou=1.5"), (detection_f1, {"threshold": -1}, "threshold=-1")),
    ):
        refuses(ArgumentError, message, metric, [one], [target], **setting)
