"""Non-maximum suppression: of boxes that overlap, the one with the highest score.

By falling score, a box is kept unless its intersection over union with one that was kept already is
above a threshold (Girshick et al. 2014, arXiv:1311.2524). Of equal scores the first comes first.
Overlaps are decided in float64, in which the products of float32 coordinates are exact: the same
boxes are kept on every machine. Two boxes without area do not overlap.

A box with a score of NaN, or with a coordinate that is NaN or Inf, has no rank or no place: it is
left out, with a warning. Nothing here has a gradient.
"""

from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import DTypeError, ShapeError
from minifp.numerics.compiled import compilable
from minifp.numerics.formats import float64, upcast
from minifp.ops.arguments import check_tensors
from minifp.ops.detection.boxes import box_size, check_boxes
from minifp.ops.on_host import on_host
from minifp.ops.public import public
from minifp.ops.reduce import array_of
from minifp.runtime.callers import warn_once

# ---- the algorithm -------------------------------------------------------------------------------


@compilable
def unsuppressed(boxes, ends, threshold):
    """Which of boxes (N, 4) are kept, as booleans.

    boxes: float64, group after group, each by falling score. ends: (groups), where each ends.
    """
    kept, start = np.zeros(len(boxes), bool), 0
    for end in ends:
        left, top, right, bottom = boxes[start:end].T
        area, open = box_size(left, right) * box_size(top, bottom), np.arange(end - start)
        while open.size:
            best, open = open[0], open[1:]
            kept[start + best] = True
            x = box_size(np.maximum(left[best], left[open]), np.minimum(right[best], right[open]))
            y = box_size(np.maximum(top[best], top[open]), np.minimum(bottom[best], bottom[open]))
            union = area[best] + area[open] - x * y
            open = open[x * y <= threshold * union]
        start = end
    return kept


def by_falling_score(scores, groups):
    """The places of scores in the order of their groups, in each by falling score, and where in
    that order each group ends. Equal ones stay in their order."""
    order = np.argsort(-scores, kind="stable")
    if groups is None:
        return order, np.array([len(order)], np.int64)
    order = order[np.argsort(groups[order], kind="stable")]
    sorted_groups = groups[order]
    ends = np.flatnonzero(sorted_groups[1:] != sorted_groups[:-1]) + 1
    return order, np.array([*ends, len(order)], np.int64)


def suppressed(function, boxes, scores, groups, threshold):
    """The places (int64) of the boxes that are kept, by falling score."""
    boxes, scores = upcast(array_of(boxes), float64), upcast(array_of(scores), float64)
    places = finite_places(function, boxes, scores)
    if places is not None:
        boxes, scores = boxes[places], scores[places]
        groups = None if groups is None else groups[places]
    order, ends = by_falling_score(scores, groups)
    kept = order[unsuppressed(boxes[order], ends, threshold)]
    if len(ends) > 1:
        kept = np.sort(kept)
        kept = kept[np.argsort(-scores[kept], kind="stable")]
    kept = kept if places is None else places[kept]
    return Tensor(np.array(kept, np.int64))


def finite_places(function, boxes, scores):
    """The places of boxes that have a rank and a place; None if all have. Warns once of others."""
    fine = np.isfinite(boxes).all(axis=1) & ~np.isnan(scores)
    if fine.all():
        return None
    warn_once(
        f"{function}: not finite",
        f"{function}: {len(fine) - fine.sum()} of {len(fine)} boxes have a score of NaN, or a "
        "coordinate that is NaN or Inf: they are left out. Find out where the first one arose, "
        "for example with fp.microscope",
    )
    return np.flatnonzero(fine)


# ---- what is given ------------------------------------------------------------------------------


def check_candidates(function: str, boxes: Any, scores: Any, iou_threshold: float) -> None:
    """Raise for anything but boxes (N, 4) with a score each, or for an invalid threshold."""
    check_boxes(function, 2, boxes=boxes)
    check_tensors(function, scores=scores)
    if scores.shape != boxes.shape[:1]:
        raise ShapeError(
            f"{function}: scores of shape {scores.shape} for boxes of shape {boxes.shape}: "
            f"expected {boxes.shape[:1]}"
        )
    check_range(f"{function}: iou_threshold", iou_threshold, 0, 1)


ONE_BY_ONE = "it looks at one box after the other"  # why no GPU does it


@public("F")
@on_host(ONE_BY_ONE)
def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The places (int64) of the boxes that are kept, by falling score.

    boxes: (N, 4), left, top, right and bottom; scores: (N). A box is left out if its intersection
    over union with a kept one of a higher score (or of the same, and before it) is above
    iou_threshold. Boxes that are not finite, and scores of NaN, are left out, with a warning. On a
    GPU's tensors it runs on the CPU, and says so once.
    Raises DTypeError for anything but floating tensors, ShapeError for other shapes, ArgumentError
    for a threshold that is not from 0 to 1.
    """
    check_candidates("nms", boxes, scores, iou_threshold)
    return suppressed("nms", boxes, scores, None, float(iou_threshold))


@public("F")
@on_host(ONE_BY_ONE)
def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """nms of each class, or picture, by itself: the places (int64) of all that is kept, by falling
    score.

    idxs: (N) integers: only boxes of the same one suppress each other. Otherwise as nms; raises
    DTypeError for anything but integers, too.
    """
    check_candidates("batched_nms", boxes, scores, iou_threshold)
    groups = array_of(idxs)
    if groups.dtype.kind not in "iu":
        raise DTypeError(f"batched_nms: idxs of {groups.dtype}: expected integers")
    if groups.shape != scores.shape:
        raise ShapeError(
            f"batched_nms: idxs of shape {groups.shape} for scores of shape {scores.shape}: "
            "expected the same"
        )
    return suppressed("batched_nms", boxes, scores, groups, float(iou_threshold))
