"""Average precision as COCO defines it: over ten overlaps, and by the size of what is found.

By falling score each detection takes, of the true boxes of its picture and class that no other has
taken, the one with which it has most in common (intersection over union), if that is at least the
threshold: .50, .55, ... .95. The precision is taken at 101 recalls, of the 100 detections of a
picture and class with the largest scores, and by the areas of what is found: small below 32 x 32
pixels, large above 96 x 96. A crowd's box, and one outside of the areas, counts neither as found
nor as missed, and is taken only where no other is left; a crowd's by many. Source: Lin and others,
"Microsoft COCO", arXiv 1405.0312, https://cocodataset.org/#detection-eval, and pycocotools, whose
numbers these are.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from minifp.lab.detection.gathering import (
    NONE,
    Detections,
    Truth,
    area_of,
    gathered,
    groups,
    overlaps,
    ranks,
)
from minifp.lab.detection.voc import from_there_on

THRESHOLDS = np.linspace(0.5, 0.95, 10)
RECALLS = np.linspace(0, 1, 101)
AREAS = {"all": (0, 1e10), "small": (0, 32**2), "medium": (32**2, 96**2), "large": (96**2, 1e10)}
MOST = (1, 10, 100)  # detections of a picture and class
STATS = {  # of which areas, of how many detections, of which threshold
    "AP": ("all", 100, None),
    "AP50": ("all", 100, 0),
    "AP75": ("all", 100, 5),
    "AP_small": ("small", 100, None),
    "AP_medium": ("medium", 100, None),
    "AP_large": ("large", 100, None),
    "AR_1": ("all", 1, None),
    "AR_10": ("all", 10, None),
    "AR_100": ("all", 100, None),
    "AR_small": ("small", 100, None),
    "AR_medium": ("medium", 100, None),
    "AR_large": ("large", 100, None),
}


def coco_map(outputs: Sequence[Mapping], targets: Sequence[Mapping]) -> float:
    """Return COCO's mean average precision, over overlaps of .50 to .95 and classes, in percent."""
    return CocoEvaluation(outputs, targets).stats["AP"]


class CocoEvaluation:
    """COCO's evaluation of the detections in all pictures.

    outputs, targets, for each picture a dict: see minifp/lab/detection. "area" in targets is that
    of what is in the box; where it is not there, that of the box.

    stats: the twelve numbers of COCO's table, by name, in percent: AP, AP50, AP75, AP_small,
    AP_medium, AP_large, and AR (the recall, over thresholds and classes) of 1, 10 and 100
    detections, and by areas. NaN where an output is not finite, or there is nothing of a size.
    by_class: AP of each class that is to be found, by its label.

    Raises ArgumentError for what are no lists of such dicts.
    """

    def __init__(self, outputs: Sequence[Mapping], targets: Sequence[Mapping]) -> None:
        detections, true = gathered(outputs, targets)
        labels = np.unique(true.label).tolist()
        self.stats = dict.fromkeys(STATS, math.nan)
        self.by_class = dict.fromkeys(np.unique(true.label[~true.crowd]).tolist(), math.nan)
        if not detections.is_finite:
            return
        rank = ranks(detections)
        matches = Matches(detections, true, rank)
        curves: dict[tuple, list] = {}
        for area, most, _ in STATS.values():
            if (area, most) not in curves:
                rows = [matches.curve(label, area, most) for label in labels]
                curves[area, most] = [row for row in rows if row is not None]
        for name, (area, most, threshold) in STATS.items():
            at = slice(None) if threshold is None else threshold
            values = [(p if name[1] == "P" else r)[at] for _, p, r in curves[area, most]]
            self.stats[name] = 100.0 * float(np.mean(values)) if values else math.nan
        self.by_class |= {label: 100.0 * float(p.mean()) for label, p, _ in curves["all", 100]}

    def __repr__(self):
        return ", ".join(f"{name} {value:.1f}" for name, value in self.stats.items())


class Matches:
    """Which detections have taken a true box, for each of AREAS and THRESHOLDS.

    taken, skipped: (areas, thresholds, n); what is skipped counts neither as right nor as wrong.
    """

    def __init__(self, detections: Detections, true: Truth, rank: np.ndarray) -> None:
        self.detections, self.true, self.rank = detections, true, rank
        limits = np.array([*AREAS.values()])[:, :, None]
        self.ignored = true.crowd | (true.area < limits[:, 0]) | (true.area > limits[:, 1])
        areas = area_of(detections.box)
        outside = (areas < limits[:, 0]) | (areas > limits[:, 1])
        shape = len(AREAS), len(THRESHOLDS), len(rank)
        self.taken = np.zeros(shape, bool)
        self.skipped = np.repeat(outside[:, None], len(THRESHOLDS), axis=1)
        for d, t in groups(detections, true, rank, MOST[-1]):
            self._match(d, t)

    def _match(self, d, t):
        """Those of some groups."""
        common = overlaps(self.detections, self.true, d, t)
        d, common = promising(d, common)
        crowd, ignored = self.true.crowd[t], self.ignored[:, t]
        result = greedy(common, crowd, ignored.transpose(1, 0, 2))
        is_there = d != NONE
        taken, skipped = (flags.transpose(1, 2, 0, 3)[:, :, is_there] for flags in result)
        at = d[is_there]
        self.taken[:, :, at] = taken
        self.skipped[:, :, at] = np.where(taken, skipped, self.skipped[:, :, at])

    def curve(self, label: int, area: str, most: int) -> tuple | None:
        """(label, precision (T, R) at RECALLS, recall (T,) at the end), of a class.

        None where nothing of these areas is to be found.
        """
        a = [*AREAS].index(area)
        positives = np.count_nonzero((self.true.label == label) & ~self.ignored[a])
        if not positives:
            return None
        which = np.flatnonzero((self.detections.label == label) & (self.rank < most))
        # of equal scores the first are those of the first pictures, and there of the lowest rank
        which = which[np.lexsort((self.rank[which], self.detections.picture[which]))]
        which = which[np.argsort(-self.detections.score[which], kind="stable")]
        taken, counted = self.taken[a][:, which], ~self.skipped[a][:, which]
        hits = np.cumsum(taken & counted, axis=1, dtype=float)
        misses = np.cumsum(~taken & counted, axis=1, dtype=float)
        recall = hits / positives
        precision = from_there_on(hits / (hits + misses + np.spacing(1)))
        precision = np.concatenate([precision, np.zeros((len(THRESHOLDS), 1))], 1)
        at = [p[np.searchsorted(r, RECALLS)] for p, r in zip(precision, recall)]
        return label, np.array(at), recall[:, -1] if len(which) else np.zeros(len(THRESHOLDS))


def promising(d: np.ndarray, common: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The detections of groups that may take a box at all, in their order, in fewer columns."""
    may = common.max(-1) >= THRESHOLDS[0]
    width = max(1, int(may.sum(1).max()))
    order = np.argsort(~may, axis=1, kind="stable")[:, :width]
    may = np.take_along_axis(may, order, 1)
    d = np.where(may, np.take_along_axis(d, order, 1), NONE)
    common = np.take_along_axis(common, order[:, :, None], 1)
    return d, np.where(may[:, :, None], common, -1.0)


def greedy(common, crowd, ignored) -> tuple[np.ndarray, np.ndarray]:
    """Which detections take a box, and which an ignored one: both (g, A, T, D).

    common: (g, D, G); crowd: (g, G); ignored: (g, A, G). One detection of all groups at a time.
    """
    g, width, _ = common.shape
    least = np.minimum(THRESHOLDS, 1 - 1e-10)[:, None]
    shape = g, ignored.shape[1], len(THRESHOLDS)
    gone = np.zeros((*shape, common.shape[2]), bool)
    takes, skips = (np.zeros((*shape, width), bool) for _ in range(2))
    crowd, ignored = crowd[:, None, None], ignored[:, :, None]
    places = np.arange(common.shape[2])
    for k in range(width):
        overlap = common[:, k, None, None]
        able = (overlap >= least) & (~gone | crowd)
        better = able & ~ignored
        able = np.where(better.any(-1, keepdims=True), better, able)
        # of equals the last, as in pycocotools
        chosen = len(places) - 1 - np.where(able, overlap, -1.0)[..., ::-1].argmax(-1)
        takes[..., k] = able.any(-1)
        is_chosen = (places == chosen[..., None]) & takes[..., k, None]
        skips[..., k] = (is_chosen & ignored).any(-1)
        gone |= is_chosen
    return takes, skips
