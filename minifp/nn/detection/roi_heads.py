"""The second half of Faster R-CNN, which is Fast R-CNN (Girshick 2015, arXiv:1504.08083): of each
region of interest (RoI) what it is, and where exactly.

    L = mean cross entropy of the sampled regions' classes, 0 the background
        + sum smooth l1 of the rows of those with an object, for its class / number of the sampled
"""

from collections.abc import Sequence

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_count, check_range
from minifp.nn import functional as F
from minifp.nn.detection import predictions
from minifp.nn.detection.coordinates import beside, overlaps
from minifp.nn.detection.matching import BETWEEN, NOTHING, Matcher
from minifp.nn.detection.sampling import BalancedSampler
from minifp.nn.detection.targets import Regions, Taught
from minifp.nn.detection.transform import ImageBatch
from minifp.nn.module import Module

WEIGHTS = (10.0, 10.0, 5.0, 5.0)  # of a row's x, y, w and h
BETA = 1 / 9  # below it smooth l1 is a square
SMALLEST = 1e-2  # pixels of a detected box's sides


class RoIHeads(Module):
    """What the proposed regions are: losses in training, detected boxes in evaluation.

    pool: of (features, list of boxes (P, 4)) -> (R, C, H, W): RoIPool or RoIAlign.
    box_head: of that -> (R, hidden). box_predictor: of that -> logits (R, classes) and rows
        (R, 4 classes).
    fg_iou_thresh, bg_iou_thresh: a region that overlaps with an object by at least the first is
        that; one that overlaps with all by less than the second is background; others do not count.
    batch_size_per_image, positive_fraction: how many regions of a picture count in the loss, and
        how many of them at most are of objects.
    score_thresh, nms_thresh, detections_per_img: how likely a detected box is at least, by how much
        boxes of one class overlap at most, and how many there are in a picture at most.
    """

    def __init__(
        self,
        pool: Module,
        box_head: Module,
        box_predictor: Module,
        fg_iou_thresh: float = 0.5,
        bg_iou_thresh: float = 0.5,
        batch_size_per_image: int = 128,
        positive_fraction: float = 0.25,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.5,
        detections_per_img: int = 100,
    ) -> None:
        self.pool, self.box_head, self.box_predictor = pool, box_head, box_predictor
        self.matcher = Matcher(fg_iou_thresh, bg_iou_thresh)
        self.sampler = BalancedSampler(batch_size_per_image, positive_fraction, "roi sampling")
        check_range("RoIHeads: score_thresh", score_thresh, high=1.0)
        check_range("RoIHeads: nms_thresh", nms_thresh, high=1.0)
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img = check_count("RoIHeads: detections_per_img", detections_per_img)

    def forward(
        self, batch: ImageBatch, features: Tensor, proposals: Regions, objects: Taught = None
    ) -> dict[str, Tensor] | list[dict[str, Tensor]]:
        """features: (N, C, H, W). proposals: of each picture (P, 4). objects: of each picture.

        In training {"loss_classifier", "loss_box_reg"}, float32 scalars; in evaluation of each
        picture a dict of "boxes" (D, 4), "labels" (D) and "scores" (D), best first.
        """
        if not self.training or objects is None:
            return self._detected(batch, proposals, *self.predicted(features, proposals))
        chosen = [self._chosen(*of_picture) for of_picture in zip(proposals, objects)]
        regions, labels, boxes = zip(*chosen)
        logits, deltas = self.predicted(features, regions)
        labels = np.concatenate(labels)
        wanted = predictions.encoded(
            np.concatenate(boxes), np.concatenate(regions)[labels > 0], WEIGHTS
        )
        return losses(logits, deltas, labels, wanted)

    def predicted(self, features: Tensor, regions: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
        """Logits (R, classes) and rows (R, classes, 4) of all pictures' regions."""
        pooled = self.pool(features, [beside(boxes, features) for boxes in regions])
        logits, deltas = self.box_predictor(self.box_head(pooled))
        return logits, deltas.reshape(len(deltas), deltas.shape[1] // 4, 4)

    def _chosen(self, proposals, objects):
        """(regions (R, 4) that count, their labels, the objects of those with labels above 0)."""
        regions = np.concatenate([proposals, objects.boxes])
        matches = self.matcher(overlaps(objects.boxes, regions))
        labels = np.where(matches == BETWEEN, -1, np.zeros(len(regions), np.int64))
        is_object = matches > NOTHING
        labels[is_object] = objects.labels[matches[is_object]]
        positives, negatives = self.sampler(labels)
        places = np.concatenate([positives, negatives])
        return regions[places], labels[places], objects.boxes[matches[positives]]

    def _detected(self, batch, proposals, logits, deltas):
        """Of each picture the boxes that are likely enough."""
        scores, there = predictions.probabilities(logits), np.concatenate(list(proposals))
        boxes = predictions.decoded(deltas.detach(), there[:, None], WEIGHTS)
        found, start = [], 0
        for its_proposals, size in zip(proposals, batch.sizes):
            mine = slice(start, start + len(its_proposals))
            found.append(self._of_picture(predictions.clipped(boxes[mine], size), scores[mine]))
            start = mine.stop
        return predictions.detections(found, batch)

    def _of_picture(self, boxes, scores):
        rows, labels = np.nonzero(scores[:, 1:] > self.score_thresh)
        labels = labels + 1
        boxes, scores = boxes[rows, labels], scores[rows, labels]
        large = (boxes[:, 2:] - boxes[:, :2] >= SMALLEST).all(1)
        boxes, scores, labels = boxes[large], scores[large], labels[large]
        kept = predictions.without_repeats(
            boxes, scores, labels, self.nms_thresh, self.detections_per_img
        )
        return boxes[kept], labels[kept], scores[kept]


def losses(
    logits: Tensor, deltas: Tensor, labels: np.ndarray, wanted: np.ndarray
) -> dict[str, Tensor]:
    """{"loss_classifier", "loss_box_reg"} of regions: logits (R, classes), rows (R, classes, 4).

    labels: (R). wanted: the rows that those with labels above 0 are to have, for their labels.
    """
    positives, n = np.flatnonzero(labels), max(1, len(labels))
    entropy = F.cross_entropy(logits, beside(labels, logits), reduction="sum")
    rows = deltas[beside(positives, deltas), beside(labels[positives], deltas)]
    regression = F.smooth_l1_loss(rows, beside(wanted, deltas), reduction="sum", beta=BETA)
    return {"loss_classifier": entropy / n, "loss_box_reg": regression / n}
