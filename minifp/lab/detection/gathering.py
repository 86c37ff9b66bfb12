"""Detections and true boxes of all pictures, one after the other, and in groups of like sizes.

Only boxes of one picture and one class, a group, have to do with each other. Groups of about as
many boxes are put into one array, so that all of them are matched at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from minifp.errors import ArgumentError
from minifp.lab.attachments import as_array

NONE = -1  # in the place of an index, where a group has fewer boxes than its array has room for


@dataclass
class Detections:
    """Detections: picture (n,), label (n,), box (n, 4) float64, score (n,) float64."""

    picture: np.ndarray
    label: np.ndarray
    box: np.ndarray
    score: np.ndarray

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are."""
        return bool(np.isfinite(self.box).all() and np.isfinite(self.score).all())


@dataclass
class Truth:
    """True boxes: picture (n,), label (n,), box (n, 4) float64, area (n,) of what is in them, and
    those that neither count as found nor as missed: difficult (n,) in VOC's sense, crowd (n,) in
    COCO's."""

    picture: np.ndarray
    label: np.ndarray
    box: np.ndarray
    area: np.ndarray
    difficult: np.ndarray
    crowd: np.ndarray


def gathered(outputs: Sequence[Mapping], targets: Sequence[Mapping]) -> tuple[Detections, Truth]:
    """All detections and true boxes. Raises ArgumentError for what are no lists of such dicts."""
    for name, items in (("outputs", outputs), ("targets", targets)):
        if not isinstance(items, (list, tuple)) or not all(isinstance(i, Mapping) for i in items):
            raise ArgumentError(
                f"{name}: expected a list with a dict of boxes, scores and labels for each "
                f"picture, as detectors return, got {type(items).__name__}"
            )
    if len(outputs) != len(targets) or not targets:
        raise ArgumentError(
            f"outputs of {len(outputs)} pictures, targets of {len(targets)}: expected as many, and "
            "one at least"
        )
    seen = [fields("outputs", i, o, ("boxes", "labels", "scores")) for i, o in enumerate(outputs)]
    true = [fields("targets", i, t, ("boxes", "labels")) for i, t in enumerate(targets)]
    more = [others(target, boxes) for target, (boxes, _) in zip(targets, true)]
    flags = (joined(more, k) for k in range(3))
    return (
        Detections(numbers_of(seen), joined(seen, 1), joined(seen, 0), joined(seen, 2)),
        Truth(numbers_of(true), joined(true, 1), joined(true, 0), *flags),
    )


def fields(name: str, i: int, item: Mapping, keys: tuple) -> list[np.ndarray]:
    """Boxes as float64, labels, and perhaps scores as float64, of one picture."""
    missing = [key for key in keys if key not in item]
    if missing:
        raise ArgumentError(f"{name}[{i}] has {', '.join(item)}, expected {', '.join(keys)}")
    boxes, labels, *scores = (as_array(item[key]) for key in keys)
    if boxes.size == 0 and labels.size == 0:  # as lists without anything are
        boxes, labels = boxes.reshape(0, 4), labels.reshape(0)
    shapes = [a.shape for a in (boxes, labels, *scores)]
    n = len(boxes) if boxes.ndim else 0
    if shapes != [(n, 4), *[(n,)] * (len(keys) - 1)] or (n and labels.dtype.kind not in "iu"):
        raise ArgumentError(
            f"{name}[{i}]: {', '.join(keys)} have shapes {', '.join(map(str, shapes))}, expected "
            "(n, 4) and (n,); labels are integers"
        )
    wide = [a.astype(np.float64) for a in (boxes, *scores)]
    return [wide[0], labels.astype(np.int64), *wide[1:]]


def others(target: Mapping, boxes: np.ndarray) -> list[np.ndarray]:
    """Areas, and which boxes are difficult, and which crowds."""
    areas = as_array(target["area"]).astype(np.float64) if "area" in target else area_of(boxes)
    flags = [
        as_array(target.get(key, np.zeros(len(boxes), bool))).astype(bool)
        for key in ("difficult", "iscrowd")
    ]
    return [areas, *flags]


def numbers_of(items: list) -> np.ndarray:
    """For each box the number of its picture."""
    return np.repeat(np.arange(len(items)), [len(item[0]) for item in items])


def joined(items: list, k: int) -> np.ndarray:
    """One field of all pictures."""
    return np.concatenate([item[k] for item in items])


def area_of(boxes: np.ndarray) -> np.ndarray:
    """(..., 4) to (...)."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


# ---- groups --------------------------------------------------------------------------------------


def ranks(detections: Detections) -> np.ndarray:
    """For each detection, how many of its picture and class have a larger score, or the same and
    come before it."""
    order = np.lexsort((-detections.score, detections.label, detections.picture))
    starts = first_of_runs(detections.picture[order], detections.label[order])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    return rank


def first_of_runs(*arrays: np.ndarray) -> np.ndarray:
    """Where in sorted arrays something else begins."""
    n = len(arrays[0])
    is_first = np.ones(n, bool)
    is_first[1:] = np.any([a[1:] != a[:-1] for a in arrays], axis=0) if n > 1 else False
    return np.flatnonzero(is_first)


def groups(detections: Detections, true: Truth, rank: np.ndarray, most: float) -> Iterator[tuple]:
    """Yield (d, t): indices of the detections (g, D) and of the true boxes (g, G) of g groups.

    Detections are in the order of their rank, those of a rank below `most`. Only groups that have
    both are there. NONE is where there is no box.
    """
    which = np.flatnonzero(rank < most)
    classes = 1 + max([0, *detections.label[which].tolist(), *true.label.tolist()])
    keys = detections.picture[which] * classes + detections.label[which]
    order = which[np.lexsort((rank[which], keys))]
    true_keys = true.picture * classes + true.label
    true_order = np.argsort(true_keys, kind="stable")
    both, counts = np.unique(keys, return_counts=True)
    true_both, true_counts = np.unique(true_keys, return_counts=True)
    _, a, b = np.intersect1d(both, true_both, return_indices=True)
    starts = (np.cumsum(counts) - counts)[a], (np.cumsum(true_counts) - true_counts)[b]
    sizes = np.stack([counts[a], true_counts[b]], 1)
    kinds = np.ceil(np.log2(np.maximum(sizes, 1))).astype(int)
    for kind in np.unique(kinds, axis=0):
        here = (kinds == kind).all(1)
        yield tuple(
            padded(indices, start[here], sizes[here, k])
            for k, (indices, start) in enumerate(zip((order, true_order), starts))
        )


def padded(indices: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """For each start so many of the indices, in rows of one length."""
    along = np.arange(counts.max())
    at = np.minimum(starts[:, None] + along, len(indices) - 1)
    return np.where(along < counts[:, None], indices[at], NONE)


def overlaps(detections: Detections, true: Truth, d: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Intersection over union of groups, (g, D, G); -1 where there is no box. Of a crowd's box, the
    intersection over the detection."""
    a, b = detections.box[d][:, :, None], true.box[t][:, None]
    sides = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    common = np.maximum(sides, 0).prod(-1)
    whole = area_of(a) + np.where(true.crowd[t][:, None], 0, area_of(b) - common)
    iou = np.divide(common, whole, out=np.zeros_like(common), where=common > 0)
    return np.where((d[:, :, None] == NONE) | (t[:, None] == NONE), -1.0, iou)
