"""What a detector predicts: a row for each box, and from rows the boxes that are detected."""

from collections.abc import Sequence

import numpy as np

from minifp.autograd.grad_mode import no_grad
from minifp.autograd.tape import Tensor
from minifp.nn import functional as F
from minifp.nn.detection.coordinates import beside, unrounded
from minifp.nn.detection.transform import ImageBatch, Size, rescaled
from minifp.ops import cat
from minifp.runtime.callers import warn_once


def rows_of(maps: Sequence[Tensor], columns: int) -> Tensor:
    """Predictions of feature maps, (N, boxes of a cell times columns, H, W) each, as
    (N, all boxes, columns), in the order of the boxes: map by map, row by row, cell by cell."""
    rows = []
    for x in maps:
        n, _, height, width = x.shape
        cells = x.reshape(n, -1, columns, height, width).permute(0, 3, 4, 1, 2)
        rows.append(cells.reshape(n, -1, columns))
    return rows[0] if len(rows) == 1 else cat(rows, 1)


@no_grad
def decoded(deltas: Tensor, boxes: np.ndarray, weights: tuple[float, ...]) -> np.ndarray:
    """The boxes (..., 4) that rows (..., 4) make of `boxes`, not rounded to less than float32."""
    return F.decode_boxes(deltas, beside(boxes, deltas), weights).numpy()


@no_grad
def probabilities(logits: Tensor) -> np.ndarray:
    """Of each class (..., classes), not rounded to less than float32. Warns once of NaN."""
    shares = F.softmax(unrounded(logits), -1).numpy()
    warn_of_nan(shares)
    return shares


def warn_of_nan(scores: np.ndarray) -> None:
    """Warn once where a detector's scores are not finite."""
    if not np.isfinite(scores).all():
        warn_once(
            "classes of NaN",
            "a detector's logits are NaN or Inf: nothing is detected there. Find out where the "
            "first one arose, for example with fp.microscope",
        )


def encoded(objects: np.ndarray, boxes: np.ndarray, weights: tuple[float, ...]) -> np.ndarray:
    """What rows (K, 4) are to be so that `boxes` (K, 4) become `objects`."""
    with no_grad():
        return F.encode_boxes(Tensor(objects), Tensor(boxes), weights).numpy()


@no_grad
def without_repeats(
    boxes: np.ndarray, scores: np.ndarray, labels: np.ndarray, threshold: float, most: int
) -> np.ndarray:
    """The places of the boxes that stay, best first, when of two boxes of one label that overlap by
    more than a threshold only the better one does; at most so many."""
    kept = F.batched_nms(Tensor(boxes), Tensor(scores), Tensor(labels), threshold)
    return kept.numpy()[:most]


def best_of_labels(labels: np.ndarray, scores: np.ndarray, count: int) -> np.ndarray:
    """The places of the `count` best boxes of each label, label by label, best first; of equal ones
    the first."""
    order = np.lexsort((-scores, labels))
    in_order = labels[order]
    rank = np.arange(len(order)) - np.searchsorted(in_order, in_order)
    return order[rank < count]


def clipped(boxes: np.ndarray, size: Size) -> np.ndarray:
    """Boxes (..., 4) without what lies outside of a picture of this size."""
    height, width = size
    return np.clip(boxes, 0, np.array([width, height, width, height], boxes.dtype))


def detections(found: Sequence[tuple], batch: ImageBatch) -> list[dict[str, Tensor]]:
    """Of each picture its (boxes, labels, scores) as tensors beside the batch's, the boxes as they
    stand in the picture that was given."""
    results = []
    for (boxes, labels, scores), *sizes in zip(found, batch.sizes, batch.original):
        arrays = {"boxes": rescaled(boxes, *sizes), "labels": labels, "scores": scores}
        results.append({name: beside(a, batch.images) for name, a in arrays.items()})
    return results
