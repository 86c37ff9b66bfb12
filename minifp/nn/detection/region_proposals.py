"""The region proposal network (RPN; Ren et al. 2015, arXiv:1506.01497, section 3.1): where in a
picture there is something, whatever it is.

    L = mean cross entropy of the sampled anchors, something or nothing
        + sum smooth l1 of the rows of those with something / number of the sampled

As in torchvision, one logit says how likely there is something, where the paper has two, and
anchors that cross the border of the picture are trained too.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_count, check_range
from minifp.nn import functional as F
from minifp.nn.detection.anchors import AnchorGenerator
from minifp.nn.detection.coordinates import beside, coordinate_format
from minifp.nn.detection.matching import BETWEEN, NOTHING, Matcher, batch_overlaps
from minifp.nn.detection.predictions import clipped, decoded, encoded, warn_of_nan, without_repeats
from minifp.nn.detection.sampling import BalancedSampler
from minifp.nn.detection.targets import Taught
from minifp.nn.detection.transform import ImageBatch, size_of
from minifp.nn.module import Module

WEIGHTS = (1.0, 1.0, 1.0, 1.0)  # of a row's x, y, w and h
BETA = 1 / 9  # below it smooth l1 is a square
SMALLEST = 1e-3  # pixels of a proposal's sides


class Counts(NamedTuple):
    """How many proposals there are at most, in training and in evaluation."""

    training: int
    testing: int


class RegionProposalNetwork(Module):
    """Proposals of where objects are, and in training the losses of what it says of anchors.

    anchors: an AnchorGenerator. head: of (features) -> logits (N, A), rows (N, A, 4).
    fg_iou_thresh, bg_iou_thresh: an anchor that overlaps with an object by at least the first (or
        more than all others do) is to find it; one that overlaps with all by less than the second
        is to find nothing; others do not count.
    batch_size_per_image, positive_fraction: how many anchors of a picture count in the loss, and
        how many of them at most find an object.
    pre_nms_top_n, post_nms_top_n: how many proposals of a feature map are looked at, and how many
        of a picture are left, in training and in evaluation.
    nms_thresh: by how much proposals that are left overlap at most.
    """

    def __init__(
        self,
        anchors: AnchorGenerator,
        head: Module,
        fg_iou_thresh: float = 0.7,
        bg_iou_thresh: float = 0.3,
        batch_size_per_image: int = 256,
        positive_fraction: float = 0.5,
        pre_nms_top_n: tuple[int, int] = (12000, 6000),
        post_nms_top_n: tuple[int, int] = (2000, 300),
        nms_thresh: float = 0.7,
    ) -> None:
        self.anchors, self.head = anchors, head
        self.matcher = Matcher(fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True)
        self.sampler = BalancedSampler(batch_size_per_image, positive_fraction, "rpn sampling")
        for n in (*pre_nms_top_n, *post_nms_top_n):
            check_count("RegionProposalNetwork: pre_nms_top_n and post_nms_top_n", n)
        check_range("RegionProposalNetwork: nms_thresh", nms_thresh, high=1.0)
        self.pre_nms_top_n, self.post_nms_top_n = Counts(*pre_nms_top_n), Counts(*post_nms_top_n)
        self.nms_thresh = nms_thresh

    def forward(
        self, batch: ImageBatch, features: Sequence[Tensor], objects: Taught = None
    ) -> tuple[list[np.ndarray], dict[str, Tensor]]:
        """Of each picture of the batch its proposals (P, 4), best first, and the losses.

        features: maps (N, C, H, W). objects: of each picture; in evaluation there are no losses.
        The losses are float32 scalars, "loss_objectness" and "loss_rpn_box_reg". Proposals have no
        gradient.
        """
        logits, deltas = self.head(features)
        grids = [size_of(x) for x in features]
        anchors = self.anchors(size_of(batch.images), grids)
        per_map = [h * w * n for (h, w), n in zip(grids, self.anchors.num_anchors_per_location())]
        proposals = self._proposals(logits, deltas, anchors, per_map, batch)
        if not self.training or objects is None:
            return proposals, {}
        return proposals, self._losses(logits, deltas, anchors, objects)

    def _proposals(self, logits, deltas, anchors, per_map, batch):
        mode = "training" if self.training else "testing"
        looked_at, left = (getattr(n, mode) for n in (self.pre_nms_top_n, self.post_nms_top_n))
        maps = np.repeat(np.arange(len(per_map)), per_map)
        scores = logits.detach().numpy().astype(coordinate_format())
        if not self.training:  # in training the loss says what is not finite
            warn_of_nan(scores)
        boxes = decoded(deltas.detach(), anchors, WEIGHTS)
        proposals = []
        for of_picture, its_scores, size in zip(boxes, scores, batch.sizes):
            best = best_of_each(its_scores, per_map, looked_at)
            found = clipped(of_picture[best], size)
            large = (found[:, 2:] - found[:, :2] >= SMALLEST).all(1)
            large &= np.isfinite(its_scores[best])
            found, best = found[large], best[large]
            kept = without_repeats(found, its_scores[best], maps[best], self.nms_thresh, left)
            proposals.append(found[kept])
        return proposals

    def _losses(self, logits, deltas, anchors, objects):
        matches = self.matcher(batch_overlaps([o.boxes for o in objects], anchors))
        labels = np.where(matches == NOTHING, 0, np.where(matches == BETWEEN, -1, 1))
        found, boxes, nothing = [], [], []
        for i, (of_picture, its_matches, its_objects) in enumerate(zip(labels, matches, objects)):
            positives, negatives = self.sampler(of_picture)
            found.append(positives + i * len(anchors))
            nothing.append(negatives + i * len(anchors))
            boxes.append(its_objects.boxes[its_matches[positives]])
        positives, places = np.concatenate(found), np.concatenate([*found, *nothing])
        wanted = encoded(np.concatenate(boxes), anchors[positives % len(anchors)], WEIGHTS)
        is_object = np.arange(len(places)) < len(positives)
        n = max(1, len(places))
        are_objects = beside(is_object.astype(coordinate_format()), logits)
        logits = logits.reshape(-1)[beside(places, logits)]
        entropy = F.binary_cross_entropy_with_logits(logits, are_objects, reduction="sum")
        wanted, deltas = beside(wanted, deltas), deltas.reshape(-1, 4)[beside(positives, deltas)]
        regression = F.smooth_l1_loss(deltas, wanted, reduction="sum", beta=BETA)
        return {"loss_objectness": entropy / n, "loss_rpn_box_reg": regression / n}


def best_of_each(scores: np.ndarray, per_map: Sequence[int], count: int) -> np.ndarray:
    """The places of the `count` best boxes of each feature map, best first; of equal ones the
    first."""
    best, start = [], 0
    for n in per_map:
        order = np.argsort(-scores[start : start + n], kind="stable")
        best.append(start + order[:count])
        start += n
    return np.concatenate(best)
