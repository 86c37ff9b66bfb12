"""Faster R-CNN (Ren et al. 2015, arXiv:1506.01497) on VGG-16: conv5_3's map, a cell of which has 16
pixels, is looked at by a network that proposes regions, and at each region, pooled to 7 x 7 cells,
by two layers of 4,096. Names as in torchvision's FasterRCNN with vgg16().features[:-1] as backbone.
"""

from typing import Any

import numpy as np
from minifp.models.parts import check_stem, drawn_normal, scaled
from minifp.models.vgg16 import HIDDEN, STAGES, stages_of

from minifp import nn
from minifp.checks import check_choice, check_count, check_flag
from minifp.nn.detection.anchors import AnchorGenerator
from minifp.nn.detection.coordinates import are_only_shapes
from minifp.nn.detection.heads import FastRCNNPredictor, RPNHead, TwoMLPHead
from minifp.nn.detection.region_proposals import RegionProposalNetwork
from minifp.nn.detection.roi_heads import RoIHeads
from minifp.nn.detection.targets import as_objects
from minifp.nn.detection.transform import DetectionTransform, rescaled_objects

POOLED = 7  # cells of a region, in both directions
SIDES = 600, 1000  # pixels of a picture's shorter and longer side, section 3.3
ANCHORS = {"large": (128, 256, 512), "small": (16, 32, 64), "smaller": (16, 32, 64)}
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SAMPLES = 2  # of RoIAlign, along each axis of a cell


class FasterRCNN(nn.Module):
    """Finds objects in pictures, in two stages.

    In training `model(images, targets)` is the dict of losses "loss_objectness" and
    "loss_rpn_box_reg" of the proposals, "loss_classifier" and "loss_box_reg" of the regions,
    float32 scalars to be added; in evaluation `model(images)` is, of each picture, a dict of
    "boxes" (D, 4) as x1, y1, x2, y2 in its pixels, "labels" (D) and "scores" (D), best first.

    images: a list of pictures (C, H, W) of any sizes with numbers from 0 to 1, or a batch. targets:
    of each a dict of "boxes" (K, 4), float32, and "labels" (K), integers from 1 on.

    classes: with the background, which is 0. channels: of pictures.
    stem: "large" is the network as published. "small" is for small pictures: without VGG-16's last
        stage, so that a cell has 8 pixels. "smaller" is the same with a first convolution that
        halves the picture in place of the first pooling, for a quarter of its work.
    width: by what the number of channels of every layer is multiplied. norm: whether VGG-16's
        convolutions have batch normalisation.
    min_size, max_size: to which the shorter and the longer side of a picture are brought, in
        pixels; None: 600 and 1000, and of a small stem as they are.
    anchor_sizes, aspect_ratios: of the anchors of a cell, in pixels, and as height over width;
        None: 128, 256 and 512, and of a small stem 16, 32 and 64.
    pool: "pool" is RoI pooling, as in the paper, "align" RoIAlign (He et al. 2017), which does not
        round regions to cells. dropout: between the layers behind it.
    image_mean, image_std: of each channel, of pictures as they are given.
    rpn_batch_size_per_image, box_batch_size_per_image: how many anchors, and how many regions, of a
        picture count in the losses. score_thresh, nms_thresh, detections_per_img: see RoIHeads.

    Raises ArgumentError for arguments that make no sense, and for targets that are missing, empty
    boxes, boxes outside of their picture, and labels that are no class.
    """

    def __init__(
        self,
        classes: int = 21,
        channels: int = 3,
        stem: str = "large",
        width: float = 1.0,
        norm: bool = False,
        *,
        min_size: int | None = None,
        max_size: int | None = None,
        anchor_sizes: tuple[float, ...] | None = None,
        aspect_ratios: tuple[float, ...] = (0.5, 1.0, 2.0),
        pool: str = "pool",
        dropout: float = 0.5,
        image_mean: tuple[float, ...] | None = None,
        image_std: tuple[float, ...] | None = None,
        rpn_batch_size_per_image: int = 256,
        box_batch_size_per_image: int = 128,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.5,
        detections_per_img: int = 100,
    ) -> None:
        check_stem(stem)
        check_flag("FasterRCNN: norm", norm)
        check_choice("FasterRCNN: pool", pool, ("pool", "align"))
        self.classes = check_count("FasterRCNN: classes", classes, least=2)
        is_large = stem == "large"
        stages = stages_of(channels, stem, width, norm, count=5 if is_large else 4)
        self.backbone = nn.Sequential(*[layer for stage in stages for layer in stage][:-1])
        drawn_normal(self.backbone)
        features, stride = scaled(STAGES[len(stages) - 1][0], width), 2 ** (len(stages) - 1)
        anchors = AnchorGenerator((anchor_sizes or ANCHORS[stem],), (aspect_ratios,))
        (count,) = anchors.num_anchors_per_location()
        self.rpn = RegionProposalNetwork(
            anchors, RPNHead(features, count), batch_size_per_image=rpn_batch_size_per_image
        )
        hidden, scale = scaled(HIDDEN, width), 1 / stride
        align = nn.RoIAlign(POOLED, scale, SAMPLES)
        pooling: nn.Module = align if pool == "align" else nn.RoIPool(POOLED, scale)
        head = TwoMLPHead(features * POOLED**2, hidden, dropout)
        predictor = FastRCNNPredictor(hidden, classes)
        limits: dict[str, Any] = {"score_thresh": score_thresh, "nms_thresh": nms_thresh}
        limits |= {"detections_per_img": detections_per_img}
        limits |= {"batch_size_per_image": box_batch_size_per_image}
        self.roi_heads = RoIHeads(pooling, head, predictor, **limits)
        mean = image_mean or (MEAN if channels == 3 else (0.5,) * channels)
        std = image_std or (STD if channels == 3 else (0.25,) * channels)
        shorter, longer = SIDES if is_large else (None, None)
        self.transform = DetectionTransform(
            mean, std, None, min_size or shorter, max_size or longer, multiple=stride
        )

    def forward(self, images: Any, targets: Any = None) -> Any:
        batch = self.transform(images)
        features = self.backbone(batch.images)
        if are_only_shapes():
            return self._shapes(features)
        objects = None
        if self.training:
            objects = as_objects(targets, batch.original, self.classes)
            objects = rescaled_objects(objects, batch)
        proposals, of_proposals = self.rpn(batch, [features], objects)
        results = self.roi_heads(batch, features, proposals, objects)
        return {**of_proposals, **results} if self.training else results

    def _shapes(self, features):
        """What both stages compute, of as many regions as count in a loss, wherever they are."""
        somewhere = np.zeros((self.roi_heads.sampler.count, 4), np.float32)
        logits, deltas = self.roi_heads.predicted(features, [somewhere] * len(features))
        return (*self.rpn.head([features]), logits, deltas)
