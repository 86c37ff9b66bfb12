"""Average precision as Pascal VOC defines it, and F1 by the same matches.

A detection belongs to the true box of its picture and class with which it has most in common
(intersection over union). By falling score, the first that has at least so much in common is right;
further ones of the same box are wrong, as are those of no box. A box that is `difficult` counts
neither as found nor as missed. Source: Everingham and others, "The PASCAL visual object classes
(VOC) challenge", IJCV 88, 2010, sections 4.2 and 4.4; its development kit, VOCevaldet.m (whose
boxes, of whole pixels, are those of `VOCDetection`).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from minifp.checks import check_range
from minifp.errors import ArgumentError
from minifp.lab.detection.gathering import Detections, Truth, gathered, groups, overlaps, ranks

OUTPUTS = Sequence[Mapping]


def voc_map(
    outputs: OUTPUTS, targets: OUTPUTS, iou: float = 0.5, points: int | None = None
) -> float:
    """Return VOC's mean average precision over classes, in percent.

    iou: how much a detection must have in common with a true box. points: 11 for the mean of the
    precision at recalls 0, 0.1, ... 1, as until 2009; None for the area under the curve, as since.
    See `voc_average_precision`.
    """
    by_class = voc_average_precision(outputs, targets, iou, points).values()
    return float(np.mean([*by_class])) if by_class else math.nan


def voc_average_precision(
    outputs: OUTPUTS, targets: OUTPUTS, iou: float = 0.5, points: int | None = None
) -> dict[int, float]:
    """Return VOC's average precision of each class that is to be found, by its label, in percent.

    outputs, targets, for each picture a dict: see minifp/lab/detection. Precision at a recall is
    the largest at that recall or a larger one. All are NaN where an output is not finite. Raises
    ArgumentError for other numbers, or lists of other things.
    """
    check_range("iou", iou, high=1.0)
    if points is not None and points != 11:
        raise ArgumentError(f"points={points!r}: expected 11, or None for the area")
    detections, true = gathered(outputs, targets)
    counted = np.unique(true.label[~true.difficult]).tolist()
    if not detections.is_finite:
        return dict.fromkeys(counted, math.nan)
    right, wrong = judged(detections, true, iou)
    result = {}
    for label in counted:
        of_class = np.flatnonzero(detections.label == label)
        order = of_class[np.argsort(-detections.score[of_class], kind="stable")]
        hits, misses = np.cumsum(right[order]), np.cumsum(wrong[order])
        recall = hits / np.count_nonzero((true.label == label) & ~true.difficult)
        precision = hits / np.maximum(hits + misses, 1)
        result[label] = 100.0 * (area if points is None else at_points)(recall, precision)
    return result


def detection_f1(
    outputs: OUTPUTS, targets: OUTPUTS, threshold: float = 0.5, iou: float = 0.5
) -> float:
    """Return F1 of the detections with a score of at least `threshold`, of all classes, in percent.

    F1 = 2 TP / (2 TP + FP + FN), with matches as VOC makes them. NaN where an output is not finite,
    or nothing is to be found and nothing found.
    """
    check_range("threshold", threshold)
    check_range("iou", iou, high=1.0)
    detections, true = gathered(outputs, targets)
    if not detections.is_finite:
        return math.nan
    at_least = detections.score >= threshold
    few = Detections(*(a[at_least] for a in vars(detections).values()))
    right, wrong = (np.count_nonzero(flags) for flags in judged(few, true, iou))
    missed = np.count_nonzero(~true.difficult) - right
    counted = 2 * right + wrong + missed
    return 100.0 * 2 * right / counted if counted else math.nan


def judged(detections: Detections, true: Truth, iou: float) -> tuple[np.ndarray, np.ndarray]:
    """Which detections are right, and which wrong; others belong to difficult boxes."""
    rank = ranks(detections)
    best = np.full(len(rank), -1)
    plain = Truth(**{**vars(true), "crowd": np.zeros(len(true.crowd), bool)})
    for d, t in groups(detections, plain, rank, math.inf):
        common = overlaps(detections, plain, d, t)
        at, is_there = common.argmax(-1), d >= 0
        enough = common.max(-1) >= iou
        best[d[is_there]] = np.where(enough, np.take_along_axis(t, at, 1), -1)[is_there]
    hits = np.flatnonzero(best >= 0)
    hits = hits[np.argsort(rank[hits], kind="stable")]
    _, first = np.unique(best[hits], return_index=True)
    right = np.zeros(len(rank), bool)
    right[hits[first]] = True
    skipped = np.zeros(len(rank), bool)
    skipped[hits] = true.difficult[best[hits]]
    return right & ~skipped, ~right & ~skipped


def area(recall: np.ndarray, precision: np.ndarray) -> float:
    """The area under the curve, with the precision at a recall as the largest from there on."""
    steps = np.diff(np.concatenate([[0.0], recall]))
    return float((steps * from_there_on(precision)).sum())


def at_points(recall: np.ndarray, precision: np.ndarray) -> float:
    """The mean over recalls 0, 0.1, ..., 1."""
    largest = np.append(from_there_on(precision), 0.0)
    return float(largest[np.searchsorted(recall, np.arange(11) / 10)].mean())


def from_there_on(precision: np.ndarray) -> np.ndarray:
    """At each place the largest from there to the end of the last axis."""
    return np.maximum.accumulate(precision[..., ::-1], axis=-1)[..., ::-1]
