"""torchvision.ops: its operations on boxes, which are those of minifp.nn.functional."""

from minifp.autograd.tape import Tensor
from minifp.nn.functional import (
    batched_nms,
    box_area,
    box_convert,
    box_iou,
    generalized_box_iou,
    generalized_box_iou_loss,
    nms,
    roi_align,
    roi_pool,
    sigmoid_focal_loss,
)
from minifp.ops import stack

__all__ = [
    "batched_nms", "box_area", "box_convert", "box_iou", "clip_boxes_to_image",
    "generalized_box_iou", "generalized_box_iou_loss", "nms", "remove_small_boxes", "roi_align",
    "roi_pool", "sigmoid_focal_loss",
]  # fmt: skip


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes (..., 4), their edges moved into a picture of size (height, width)."""
    most = size[1], size[0], size[1], size[0]
    return stack([edge.clamp(0, n) for edge, n in zip(boxes.unbind(-1), most)], -1)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The places, int64, of those of boxes (N, 4) that are at least min_size wide and high."""
    left, top, right, bottom = boxes.unbind(-1)
    is_large = (right - left >= min_size) & (bottom - top >= min_size)
    return is_large.nonzero().squeeze(-1)
