"""Which object each box is to find, by how much the two overlap.

Overlaps are intersections over unions (IoU), (..., objects, boxes); the result has for each box the
number of an object, or NOTHING, or BETWEEN.
"""

from collections.abc import Sequence

import numpy as np

from minifp.checks import check_flag, check_range
from minifp.nn.detection.coordinates import overlaps

NOTHING = -1  # the box is to find none
BETWEEN = -2  # it overlaps with one too much for that, and too little for the other


class Matcher:
    """Each box finds the object that it overlaps with most, where that is enough.

    high_threshold: an overlap of at least that much is enough. low_threshold: below it a box finds
        nothing; those between the two are BETWEEN.
    allow_low_quality_matches: whether each object is also found by the boxes that overlap with it
        most, be it little (Ren et al. 2015, arXiv:1506.01497, section 3.1.2). Such a box still
        finds the object that it overlaps with most itself.

    As torchvision's Matcher; of equal overlaps the first object counts. Raises ArgumentError for
    thresholds that are not 0 <= low <= high <= 1.
    """

    def __init__(
        self, high_threshold: float, low_threshold: float, allow_low_quality_matches: bool = False
    ) -> None:
        check_range("Matcher: high_threshold", high_threshold, high=1.0)
        check_range("Matcher: low_threshold", low_threshold, high=high_threshold)
        check_flag("Matcher: allow_low_quality_matches", allow_low_quality_matches)
        self.high_threshold, self.low_threshold = high_threshold, low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, quality: np.ndarray) -> np.ndarray:
        """quality: overlaps (..., objects, boxes). The objects (..., boxes), int64."""
        matches, best = best_objects(quality)
        found = np.where(best < self.low_threshold, NOTHING, BETWEEN)
        found = np.where(best >= self.high_threshold, matches, found)
        if self.allow_low_quality_matches:
            highest = quality.max(-1, keepdims=True, initial=0.0)
            is_highest = (quality == highest) & (highest > 0)
            found = np.where(is_highest.any(-2), matches, found)
        return found


def match_default_boxes(quality: np.ndarray, threshold: float = 0.5) -> np.ndarray:
    """The objects (..., boxes) that SSD's default boxes are to find (Liu et al. 2016, section 2.2).

    quality: overlaps (..., objects, boxes). A box finds the object that it overlaps with most, if
    by at least `threshold`; and each object is found by the box that overlaps with it most, of
    several such objects the last.
    """
    matches, best = best_objects(quality)
    found = np.where(best >= threshold, matches, NOTHING)
    if quality.shape[-2] and quality.shape[-1]:
        boxes = quality.argmax(-1)
        for k in range(quality.shape[-2]):
            object_is_there = quality[..., k, 0] >= 0
            before = np.take_along_axis(found, boxes[..., k, None], -1)[..., 0]
            chosen = np.where(object_is_there, k, before)
            np.put_along_axis(found, boxes[..., k, None], chosen[..., None], -1)
    return found


def best_objects(quality: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The object that each box overlaps with most, the first of several, and by how much.

    Where there are no objects, the object is 0 and the overlap -1.
    """
    best = quality.max(-2, initial=-1.0)
    matches = np.zeros(best.shape, np.int64)
    for k in reversed(range(quality.shape[-2])):  # few objects, many boxes
        matches[quality[..., k, :] == best] = k
    return matches, best


def batch_overlaps(objects: Sequence[np.ndarray], boxes: np.ndarray) -> np.ndarray:
    """Overlaps (pictures, most objects, boxes) of each picture's objects with the same boxes.

    objects: of each picture (K, 4), of which K may differ; boxes: (A, 4). It is -1 for objects
    that a picture does not have.
    """
    most = max(map(len, objects), default=0)
    quality = np.full((len(objects), most, len(boxes)), -1.0, boxes.dtype)
    together = np.concatenate([np.zeros((0, 4), boxes.dtype), *objects])
    found, start = overlaps(together, boxes), 0
    for of_picture, mine in zip(quality, objects):
        of_picture[: len(mine)] = found[start : start + len(mine)]
        start += len(mine)
    return quality
