"""torchvision.ops: its operations on boxes, which are those of minifp.nn.functional."""

from minifp.nn import functional

__all__ = (
    "batched_nms box_area box_convert box_iou clip_boxes_to_image generalized_box_iou "
    "generalized_box_iou_loss nms remove_small_boxes roi_align roi_pool sigmoid_focal_loss"
).split()
globals().update({name: vars(functional)[name] for name in __all__})
