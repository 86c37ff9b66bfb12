"""The loss of SSD (Liu et al. 2016, arXiv:1512.02325, section 2.2), of N matched default boxes:

    L = (sum smooth l1 of the N boxes' rows and what they are to be
         + sum cross entropy of the N and of the hardest 3 N boxes without object) / N

Which boxes are matched and which are hard, is decided on the host and decides no format; the sums
are of the losses' kernels, in `reduce`, of logits and rows as they are stored.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import ShapeError
from minifp.nn import functional as F
from minifp.nn.detection.coordinates import beside, unrounded
from minifp.nn.detection.matching import NOTHING, batch_overlaps, match_default_boxes
from minifp.nn.detection.predictions import encoded
from minifp.nn.detection.sampling import hard_negatives
from minifp.nn.detection.targets import Objects
from minifp.nn.module import Module

Variances: TypeAlias = tuple[float, float, float, float]
WEIGHTS = (10.0, 10.0, 5.0, 5.0)  # 1 / the variances of x, y, w, h
IGNORED = -100  # the label of boxes that do not count


class MultiBoxLoss(Module):
    """iou_threshold: by how much a box overlaps with the object that it is to find. negative_ratio:
    how many boxes without object count for each with one. weights: of the rows' x, y, w and h."""

    def __init__(
        self, iou_threshold: float = 0.5, negative_ratio: float = 3.0, weights: Variances = WEIGHTS
    ) -> None:
        check_range("MultiBoxLoss: iou_threshold", iou_threshold, high=1.0)
        check_range("MultiBoxLoss: negative_ratio", negative_ratio)
        self.iou_threshold, self.negative_ratio = iou_threshold, negative_ratio
        self.weights = weights

    def forward(
        self, logits: Tensor, deltas: Tensor, boxes: np.ndarray, objects: Sequence[Objects]
    ) -> dict[str, Tensor]:
        """{"bbox_regression", "classification"}: float32 scalars, each a sum over N (at least 1).

        logits: (pictures, A, classes), class 0 the background. deltas: (pictures, A, 4). boxes: the
        A default boxes. objects: of each picture (boxes, labels), see targets.py; where there are
        none in a picture, none of its boxes count. Raises ShapeError where the shapes do not fit.
        """
        self._check(logits, deltas, boxes, objects)
        matches = match_default_boxes(
            batch_overlaps([o.boxes for o in objects], boxes), self.iou_threshold
        )
        is_matched = matches != NOTHING
        pictures, places = np.nonzero(is_matched)
        mine = matches[pictures, places] + first_of_each(objects)[pictures]
        labels = np.zeros(matches.shape, np.int64)
        labels[is_matched] = together(objects, "labels")[mine]
        wanted = encoded(together(objects, "boxes")[mine], boxes[places], self.weights)
        flat = beside(pictures * len(boxes) + places, deltas)
        regression = F.smooth_l1_loss(
            deltas.reshape(-1, 4)[flat], beside(wanted, deltas), reduction="sum"
        )
        counted = beside(self._counted(logits, labels).reshape(-1), logits)
        rows = logits.reshape(-1, logits.shape[2])
        classification = F.cross_entropy(rows, counted, ignore_index=IGNORED, reduction="sum")
        n = max(1, len(mine))
        return {"bbox_regression": regression / n, "classification": classification / n}

    def _counted(self, logits, labels):
        """The labels, IGNORED where a box without object is not among the hardest."""
        with no_grad():
            rows = unrounded(logits).reshape(-1, logits.shape[2])
            each = F.cross_entropy(rows, beside(labels.reshape(-1), logits), reduction="none")
        losses, positives = each.numpy().reshape(labels.shape), labels > 0
        negatives = hard_negatives(losses, positives, self.negative_ratio)
        return np.where(positives | negatives, labels, IGNORED)

    def _check(self, logits, deltas, boxes, objects):
        rows = (len(objects), len(boxes))
        if logits.shape[:2] != rows or deltas.shape != (*rows, 4) or logits.ndim != 3:
            raise ShapeError(
                f"MultiBoxLoss: logits of shape {logits.shape} and deltas of shape {deltas.shape} "
                f"for {rows[0]} pictures and {rows[1]} default boxes: expected "
                f"({rows[0]}, {rows[1]}, classes) and ({rows[0]}, {rows[1]}, 4)"
            )


def together(objects: Sequence[Objects], field: str) -> np.ndarray:
    """The boxes, or the labels, of all pictures' objects, one after the other."""
    return np.concatenate([getattr(o, field) for o in objects])


def first_of_each(objects: Sequence[Objects]) -> np.ndarray:
    """Where each picture's objects begin among all."""
    counts = [len(o.labels) for o in objects]
    return np.cumsum([0, *counts[:-1]])
