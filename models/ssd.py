"""SSD300, the single shot multibox detector (Liu et al. 2016, arXiv:1512.02325), on VGG-16.

Its maps of 38, 19, 10, 5, 3 and 1 cells are conv4_3, whose columns are divided by their lengths and
multiplied by learned scales of 20 at first (section 3.1), fc7, which is a convolution here and has
before it a dilated fc6, and four more. 8,732 default boxes. Names and weights as in torchvision.
"""

import math
from typing import Any

import numpy as np
from minifp.models.parts import check_stem, drawn_normal, fill_bias, scaled
from minifp.models.vgg16 import STAGES, stages_of

from minifp import nn
from minifp.autograd.tape import Tensor
from minifp.checks import check_count, check_flag, check_range
from minifp.errors import ArgumentError
from minifp.nn import functional as F
from minifp.nn.detection.coordinates import are_only_shapes
from minifp.nn.detection.default_boxes import DefaultBoxes
from minifp.nn.detection.multibox_loss import WEIGHTS, MultiBoxLoss
from minifp.nn.detection.predictions import (
    best_of_labels,
    clipped,
    decoded,
    detections,
    probabilities,
    rows_of,
    without_repeats,
)
from minifp.nn.detection.targets import as_objects
from minifp.nn.detection.transform import DetectionTransform, rescaled_objects, size_of

SCALE, COLUMN = 20.0, 512  # of conv4_3's normalised columns at first, and how long these are
FC = 1024  # channels of fc6 and fc7
# What comes then, channels of a 1x1 and of a 3x3 convolution, with its stride and padding.
EXTRA = ((256, 512, 2, 1), (128, 256, 2, 1), (128, 256, 1, 0), (128, 256, 1, 0))
RATIOS = ((2,), (2, 3), (2, 3), (2, 3), (2,), (2,))  # of width and height, beside 1
SCALES = (0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05)  # those of torchvision
STEPS = (8, 16, 32, 64, 100, 300)  # pixels of a cell, in pictures of 300
SMALL_RATIOS = ((2,), (2,), (2,))
MEAN = (0.48235, 0.45882, 0.40784)


class SSDBackbone(nn.Module):
    """The maps of pictures (N, C, H, W), a list. channels: of each. Names as in torchvision."""

    def __init__(self, channels: int, stem: str, width: float, norm: bool) -> None:
        is_large = stem == "large"
        stages = stages_of(channels, stem, width, norm, count=5 if is_large else 4)
        first, behind = (4, stages[4][:-1]) if is_large else (3, stages[3][:-1])
        pooling = stages[first - 1].pop()
        if is_large:
            stages[2][-1] = nn.MaxPool2d(2, ceil_mode=True)  # 75 pixels become 38
        column = scaled(STAGES[first - 1][0], width)
        scale = SCALE * math.sqrt(column / COLUMN)  # each number as large as in a long column
        self.scale_weight = nn.Parameter(np.full(column, scale, np.float32))
        self.features = nn.Sequential(*(layer for stage in stages[:first] for layer in stage))
        drawn_normal(self.features)
        outputs = scaled(STAGES[first][0], width)
        second = [pooling, *behind]
        drawn_normal(nn.Sequential(*behind))
        if is_large:
            fc = dilated(outputs, scaled(FC, width))
            second.append(fc)
            outputs = scaled(FC, width)
        self.extra = nn.ModuleList([nn.Sequential(*second)])
        self.channels = [len(self.scale_weight), outputs]
        for inner, outer, stride, padding in EXTRA if is_large else EXTRA[:1]:
            inner, outer = scaled(inner, width), scaled(outer, width)
            narrow = nn.Conv2d(outputs, inner, 1)
            wide = nn.Conv2d(inner, outer, 3, stride=stride, padding=padding)
            block = nn.Sequential(narrow, nn.ReLU(), wide, nn.ReLU())
            self.extra.append(drawn_xavier(block))
            self.channels.append(outputs := outer)

    def forward(self, x: Tensor) -> list[Tensor]:
        x = self.features(x)
        maps = [self.scale_weight.reshape(1, -1, 1, 1) * F.normalize(x)]
        for block in self.extra:
            x = block(x)
            maps.append(x)
        return maps


def dilated(inputs: int, outputs: int) -> nn.Module:
    """fc6 and fc7 as convolutions, fc6 with its 3x3 numbers 6 pixels apart (section 3)."""
    fc6 = nn.Conv2d(inputs, outputs, 3, padding=6, dilation=6)
    fc7 = nn.Conv2d(outputs, outputs, 1)
    pooling = nn.MaxPool2d(3, 1, padding=1)
    return drawn_xavier(nn.Sequential(pooling, fc6, nn.ReLU(), fc7, nn.ReLU()))


def drawn_xavier(module: nn.Module) -> nn.Module:
    """The module, with weights of convolutions drawn anew (Glorot and Bengio 2010) and biases 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            fill_bias(layer, 0.0)
    return module


class Predictor(nn.Module):
    """A 3x3 convolution of each map, for `columns` numbers of each box: (N, boxes, columns)."""

    def __init__(self, channels: list[int], boxes: list[int], columns: int) -> None:
        layers = [nn.Conv2d(c, n * columns, 3, padding=1) for c, n in zip(channels, boxes)]
        self.module_list, self.columns = nn.ModuleList(layers), columns
        drawn_xavier(self)

    def forward(self, maps: list[Tensor]) -> Tensor:
        return rows_of([layer(x) for layer, x in zip(self.module_list, maps)], self.columns)


class SSDHead(nn.Module):
    """Logits (N, boxes, classes) and rows (N, boxes, 4). Names as in torchvision."""

    def __init__(self, channels: list[int], boxes: list[int], classes: int) -> None:
        self.classification_head = Predictor(channels, boxes, classes)
        self.regression_head = Predictor(channels, boxes, 4)

    def forward(self, maps: list[Tensor]) -> tuple[Tensor, Tensor]:
        return self.classification_head(maps), self.regression_head(maps)


class SSD300(nn.Module):
    """Finds objects in pictures.

    In training `model(images, targets)` is the dict of losses "bbox_regression" and
    "classification", float32 scalars to be added; in evaluation `model(images)` is, of each
    picture, a dict of "boxes" (D, 4) as x1, y1, x2, y2 in its pixels, "labels" (D) and "scores"
    (D), best first.

    images: a list of pictures (C, H, W) of any sizes with numbers from 0 to 1, or a batch. targets:
    of each a dict of "boxes" (K, 4), float32, and "labels" (K), integers from 1 on.

    classes: with the background, which is 0. channels: of pictures. size: to which they are brought
    first, a number or (height, width).
    stem: "large" is the network as published, which wants pictures of some 260 pixels at least.
        "small" is for small ones: the first three stages of VGG-16, the fourth, and one block more,
        with maps of cells of 4, 8 and 16 pixels. "smaller" is the same with a first convolution
        that halves the picture in place of the first pooling, for a quarter of its work.
    width: by what the number of channels of every layer is multiplied. norm: whether VGG-16's
        convolutions have batch normalisation.
    scales, aspect_ratios: of the default boxes of each map (see DefaultBoxes); None: the published
        ones; of a small stem, from 0.15 to 0.9 of the picture, and ratios of 1 and 2.
    image_mean, image_std: of each channel, of pictures as they are given; None: as torchvision, and
        of a small stem, which nobody has trained before, 1/4 as std.
    iou_thresh, negative_ratio: see MultiBoxLoss. score_thresh, nms_thresh, topk_candidates,
        detections_per_img: how likely a detected box is at least, by how much two of one class
        overlap at most, how many of a class are looked at, and how many of a picture are left.

    Raises ArgumentError for arguments that make no sense, and for targets that are missing, empty
    boxes, boxes outside of their picture, and labels that are no class.
    """

    def __init__(
        self,
        classes: int = 21,
        channels: int = 3,
        size: int | tuple[int, int] = 300,
        stem: str = "large",
        width: float = 1.0,
        norm: bool = False,
        *,
        scales: tuple[float, ...] | None = None,
        aspect_ratios: tuple[tuple[float, ...], ...] | None = None,
        image_mean: tuple[float, ...] | None = None,
        image_std: tuple[float, ...] | None = None,
        iou_thresh: float = 0.5,
        negative_ratio: float = 3.0,
        score_thresh: float = 0.01,
        nms_thresh: float = 0.45,
        topk_candidates: int = 400,
        detections_per_img: int = 200,
    ) -> None:
        check_stem(stem)
        check_flag("SSD300: norm", norm)
        self.classes = check_count("SSD300: classes", classes, least=2)
        self.size = as_size(size)
        is_large = stem == "large"
        if is_large and scales is None:
            scales = SCALES
        ratios = aspect_ratios
        if ratios is None:
            ratios = RATIOS if is_large else SMALL_RATIOS
        steps = STEPS if is_large and self.size == (300, 300) else None
        self.default_boxes = DefaultBoxes(ratios, scales=scales, steps=steps)
        self.backbone = SSDBackbone(channels, stem, width, norm)
        boxes, maps = self.default_boxes.num_anchors_per_location(), len(self.backbone.channels)
        if len(boxes) != maps:
            raise ArgumentError(
                f"SSD300: aspect_ratios of {len(boxes)} maps, but stem={stem!r} has {maps}"
            )
        self.head = SSDHead(self.backbone.channels, boxes, classes)
        mean = image_mean or (MEAN if channels == 3 else (0.5,) * channels)
        std = image_std or (1 / 255 if is_large else 0.25,) * channels
        self.transform = DetectionTransform(mean, std, self.size)
        self.loss = MultiBoxLoss(iou_thresh, negative_ratio)
        check_range("SSD300: score_thresh", score_thresh, high=1.0)
        check_range("SSD300: nms_thresh", nms_thresh, high=1.0)
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.topk_candidates = check_count("SSD300: topk_candidates", topk_candidates)
        self.detections_per_img = check_count("SSD300: detections_per_img", detections_per_img)

    def forward(self, images: Any, targets: Any = None) -> Any:
        batch = self.transform(images)
        maps = self.backbone(batch.images)
        logits, deltas = self.head(maps)
        if are_only_shapes():
            return logits, deltas
        boxes = self.default_boxes(self.size, [size_of(x) for x in maps])
        if self.training:
            objects = as_objects(targets, batch.original, self.classes)
            return self.loss(logits, deltas, boxes, rescaled_objects(objects, batch))
        scores = probabilities(logits)
        found = clipped(decoded(deltas.detach(), boxes, WEIGHTS), self.size)
        return detections([self._of_picture(*pair) for pair in zip(found, scores)], batch)

    def _of_picture(self, boxes, scores):
        """(boxes, labels, scores) of one picture, of boxes (A, 4) and scores (A, classes)."""
        rows, labels = np.nonzero(scores[:, 1:] > self.score_thresh)
        labels = labels + 1
        scores = scores[rows, labels]
        best = best_of_labels(labels, scores, self.topk_candidates)
        boxes, labels, scores = boxes[rows[best]], labels[best], scores[best]
        kept = without_repeats(boxes, scores, labels, self.nms_thresh, self.detections_per_img)
        return boxes[kept], labels[kept], scores[kept]


def as_size(size: int | tuple[int, int]) -> tuple[int, int]:
    """(height, width). Raises ArgumentError for what is neither a number nor two."""
    pair: Any = (size, size) if np.ndim(size) == 0 else size
    if len(pair) != 2:
        raise ArgumentError(f"SSD300: size={size!r}: expected a number, or (height, width)")
    return check_count("SSD300: size", pair[0]), check_count("SSD300: size", pair[1])
