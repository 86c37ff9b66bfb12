"""The objects in pictures as a detector is given them, checked: of each picture a dict with

"boxes", (K, 4) as x1, y1, x2, y2 in pixels, and "labels", (K) integers from 1 on: 0 is background.
Boxes around crowds ("iscrowd" of COCO) teach nothing and are left out; "difficult" ones are taught.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.nn.detection.coordinates import coordinate_format
from minifp.numerics.formats import is_narrow
from minifp.runtime.device import as_array, moved

OUTSIDE = 1.0  # pixels by which a box may leave its picture, where corners are counted from 1


class Objects(NamedTuple):
    """Those of one picture: boxes (K, 4), float32 or wider, labels (K), int64, on the host."""

    boxes: np.ndarray
    labels: np.ndarray


Regions: TypeAlias = Sequence[np.ndarray]  # of each picture its boxes (P, 4)
Taught: TypeAlias = Sequence[Objects] | None  # of each picture; None where nothing is trained


def as_objects(targets: Any, image_sizes: Sequence[tuple[int, int]], classes: int) -> list[Objects]:
    """The objects of pictures of sizes (height, width), with labels below `classes`.

    Raises ArgumentError for other targets than a dict for each picture, a label that is no class,
    and a box that is empty, not finite or outside of its picture; ShapeError for other shapes;
    DTypeError for boxes that were rounded to fewer bits than float32 and labels that are no
    integers.
    """
    if targets is None:
        raise ArgumentError(
            "training needs targets, a dict of boxes and labels for each picture: call "
            "model(images, targets), or model.eval() to detect"
        )
    if isinstance(targets, Mapping) or len(targets) != len(image_sizes):
        number = "one dict" if isinstance(targets, Mapping) else f"{len(targets)} targets"
        raise ArgumentError(
            f"{number} for {len(image_sizes)} images: expected a list with a dict for each image"
        )
    objects = [objects_of(target, i) for i, target in enumerate(targets)]
    check_numbers(objects, image_sizes, classes)
    return objects


def objects_of(target: Any, i: int) -> Objects:
    """Those of picture i."""
    missing = [n for n in ("boxes", "labels") if not isinstance(target, Mapping) or n not in target]
    if missing:
        raise ArgumentError(f"targets[{i}] has no {missing[0]!r}: expected 'boxes' and 'labels'")
    boxes, labels = numbers(target["boxes"]), numbers(target["labels"])
    if boxes.size == 0:
        boxes = boxes.reshape(0, 4)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or labels.shape != boxes.shape[:1]:
        raise ShapeError(
            f"targets[{i}]: boxes of shape {boxes.shape} and labels of shape {labels.shape}: "
            "expected (K, 4) and (K,)"
        )
    if is_narrow(boxes.dtype):
        raise DTypeError(
            f"targets[{i}]: boxes of {boxes.dtype}, which rounds coordinates: expected float32; "
            "create them with fp.tensor(boxes, dtype='float32')"
        )
    if labels.size and labels.dtype.kind not in "iu":
        raise DTypeError(f"targets[{i}]: labels of {labels.dtype}: expected integers")
    taught = np.logical_not(numbers(target.get("iscrowd", np.zeros(len(boxes), bool))))
    if taught.shape != labels.shape:
        raise ShapeError(f"targets[{i}]: iscrowd of shape {taught.shape}: expected {labels.shape}")
    return Objects(boxes.astype(coordinate_format())[taught], labels.astype(np.int64)[taught])


def numbers(values: Any) -> np.ndarray:
    """A tensor, array or list as an array on the host."""
    return moved(values.array if isinstance(values, Tensor) else as_array(values), "cpu")


def check_numbers(
    objects: Sequence[Objects], image_sizes: Sequence[tuple[int, int]], classes: int
) -> None:
    """Raise ArgumentError for a box that is empty, not finite or outside of its picture, and for a
    label that is no class: of all pictures at once."""
    pictures = np.repeat(np.arange(len(objects)), [len(o.labels) for o in objects])
    boxes, labels = (np.concatenate(arrays) for arrays in zip(*objects))
    limits = np.array(image_sizes)[pictures][:, [1, 0, 1, 0]] + OUTSIDE
    is_edge_inside = (boxes >= -OUTSIDE) & (boxes <= limits)  # and a number
    outside = np.logical_not(np.all(is_edge_inside, axis=1))
    empty: np.ndarray = np.any(boxes[:, 2:] <= boxes[:, :2], axis=1)
    for k in np.flatnonzero(outside | empty | (labels < 1) | (labels >= classes)):
        height, width = image_sizes[pictures[k]]
        problem = f"label {labels[k]}: expected 1 to {classes - 1}, as 0 is the background"
        if outside[k]:
            problem = (
                f"box {boxes[k].tolist()} is not inside its picture, {width} wide and {height} "
                "high: expected x1, y1, x2, y2 in pixels; F.clip_boxes_to_image clips boxes"
            )
        elif empty[k]:
            problem = (
                f"box {boxes[k].tolist()} has no area: expected x1 < x2 and y1 < y2; "
                "F.remove_small_boxes finds boxes with an area"
            )
        raise ArgumentError(f"targets[{pictures[k]}]: {problem}")
