"""What is to be found in a picture: a dict with the entries that torchvision's detectors take.

    boxes      (n, 4) float32: left, top, right, bottom, in pixels from the picture's corner, so
               that a box over the whole picture is (0, 0, W, H)
    labels     (n,) int64: classes, from 1, as 0 is the background

and, where a data set says so,

    difficult  (n,) bool: not counted, neither as found nor as missed (Pascal VOC)
    iscrowd    (n,) bool: a box around many, which many may find (COCO)
    area       (n,) float32: of what is in the box, in square pixels
    image_id   () int64: the picture's number

Coordinates stay float32 in every precision: between 512 and 1,024 float16 knows every half of a
pixel only, and an area of 256 x 256 pixels overflows it.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from minifp.errors import DataError

Target: TypeAlias = dict[str, np.ndarray]

PER_BOX = ("boxes", "labels", "difficult", "iscrowd", "area")
FIXED = ("masks", "keypoints")  # what no transform here can move with its box
BACKGROUND = "__background__"  # the name of class 0, as torchvision writes it


def is_target(field: Any) -> bool:
    """Whether a field is a target."""
    return isinstance(field, Mapping) and "boxes" in field


def check_target(asked: str, target: Any, size: tuple[int, int] | None = None) -> None:
    """Raise DataError, which `asked` begins, for what is no target, or none of a picture of this
    size, (height, width)."""
    if not is_target(target):
        got = list(target) if isinstance(target, Mapping) else type(target).__name__
        raise DataError(f"{asked}: expected a dict with boxes and labels, got {got}")
    boxes = np.asarray(target["boxes"])
    if boxes.ndim != 2 or boxes.shape[1] != 4 or boxes.dtype.kind not in "fiu":
        raise DataError(
            f"{asked}: expected boxes (n, 4), left, top, right, bottom, got {boxes.dtype} of shape "
            f"{boxes.shape}"
        )
    for name in PER_BOX[1:]:
        if name in target and np.shape(target[name]) != (len(boxes),):
            raise DataError(
                f"{asked}: expected {name} of shape ({len(boxes)},), one for each box, got "
                f"{np.shape(target[name])}"
            )
    labels = np.asarray(target.get("labels", 0.5))
    if labels.dtype.kind not in "iu" and (labels.size or "labels" not in target):
        raise DataError(f"{asked}: expected labels, integers (n,), one for each box")
    check_boxes(asked, boxes, size)


def check_labels(asked: str, labels: np.ndarray, classes: int | None) -> None:
    """Raise DataError, which `asked` begins, for labels that are none of so many classes, of which
    0 is the background; None: of however many."""
    wrong = (labels < 1) | (labels >= (np.inf if classes is None else classes))
    if wrong.any():
        most = "" if classes is None else f" to {classes - 1}"
        expected = f"classes from 1{most}: 0 is the background"
        raise DataError(f"{asked}: label {labels[wrong][0]}, expected {expected}")


def check_boxes(
    asked: str, boxes: np.ndarray, size: tuple[int, int] | None = None, numbers=None
) -> None:
    """Raise DataError, which `asked` begins, for a box without area, or outside of a picture of
    this size, (height, width). numbers: how the boxes are numbered, if not from 0."""
    numbers = np.arange(len(boxes)) if numbers is None else numbers
    left, top, right, bottom = boxes.T
    has_area = (left < right) & (top < bottom) & np.isfinite(boxes).all(1)  # not so of NaN
    if not has_area.all():
        wrong = int((~has_area).argmax())
        raise DataError(
            f"{asked}: box {numbers[wrong]} is {box_text(boxes[wrong])}, expected left < right and "
            "top < bottom"
        )
    if size is None:
        return
    inside = (left >= 0) & (top >= 0) & (right <= size[1]) & (bottom <= size[0])
    if not inside.all():
        wrong = int((~inside).argmax())
        raise DataError(
            f"{asked}: box {numbers[wrong]} is {box_text(boxes[wrong])}, outside of a picture of "
            f"{size[1]} x {size[0]} pixels (width x height)"
        )


def box_text(box) -> str:
    """A box in a message."""
    return f"({', '.join(f'{float(edge):g}' for edge in box)})"


def with_boxes(target: Target, boxes: np.ndarray, areas: float = 1.0) -> Target:
    """The target with its boxes elsewhere, and areas so many times as large."""
    moved = {**target, "boxes": boxes.astype(np.float32)}
    if "area" in moved and areas != 1:
        moved["area"] = (moved["area"] * areas).astype(np.float32)
    return moved


def of_boxes(target: Target, which: np.ndarray) -> Target:
    """The target of some of its boxes, those at the indices, or in the mask, `which`."""
    return {name: a[which] if name in PER_BOX else a for name, a in target.items()}


def scaled(target: Target, factors: tuple[float, float]) -> Target:
    """The target of the picture stretched by these factors, of its height and its width."""
    up, across = factors
    boxes = target["boxes"].astype(np.float64) * [across, up, across, up]
    return with_boxes(target, boxes, up * across)


def shifted(target: Target, right: float, down: float) -> Target:
    """The target of the picture moved by so many pixels."""
    return with_boxes(target, target["boxes"] + np.array([right, down, right, down], np.float32))


def mirrored(target: Target, width: int) -> Target:
    """The target of the picture seen in a mirror, left to right."""
    left, top, right, bottom = target["boxes"].T
    return with_boxes(target, np.stack([width - right, top, width - left, bottom], 1))


def windowed(target: Target, window: tuple[int, int, int, int]) -> Target:
    """The target of a window (left, top, right, bottom) of the picture.

    Boxes whose middle is in it stay, and lose what is outside of it (Liu and others, "SSD", arXiv
    1512.02325, section 2.2); their areas shrink as they do.
    """
    which = middles_inside(target["boxes"], window)
    inner = of_boxes(target, which)
    whole, (left, top, right, bottom) = inner["boxes"], window
    low, high = (np.array(corner, np.float32) for corner in ([left, top], [right, bottom]))
    cut = np.concatenate([np.maximum(whole[:, :2], low), np.minimum(whole[:, 2:], high)], 1)
    if "area" in inner:
        shares = (cut[:, 2:] - cut[:, :2]).prod(1) / (whole[:, 2:] - whole[:, :2]).prod(1)
        inner["area"] = (inner["area"] * shares).astype(np.float32)
    return shifted({**inner, "boxes": cut}, -left, -top)


def middles_inside(boxes: np.ndarray, window) -> np.ndarray:
    """Which boxes, (..., n, 4), have their middle inside of a window, or windows (..., 1, 4)."""
    window = np.asarray(window)
    middles = (boxes[..., :2].astype(np.float64) + boxes[..., 2:]) / 2
    return ((middles > window[..., :2]) & (middles < window[..., 2:])).all(-1)
