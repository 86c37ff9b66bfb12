"""How much boxes overlap.   A, B: boxes;  C: the smallest box around both;  | |: areas.

    I = |A and B|,  U = |A| + |B| - I
    IoU = I / (U + e)
    GIoU = IoU - (|C| - U) / (|C| + e),  loss = 1 - GIoU

    dIoU = (dI (1 + IoU) - d|A| IoU) / (U + e)
    dGIoU = dIoU - (d|C| F - d|A| + dI) / (|C| + e),  F = (U + e) / (|C| + e)

(Rezatofighi et al. 2019, arXiv:1902.09630). Coordinates and results are float32: see boxes.py. e is
0 but in the loss; boxes that have no area together overlap by 0, not by 0 / 0. Edges that are equal
share the gradient. Backward computes slopes in an edge again, of all pairs, and keeps the boxes
alone; its sums are in `reduce`.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.detection.boxes import box_size, check_boxes, columns
from minifp.ops.elementwise import sum_to
from minifp.ops.losses.loss import check_reduction
from minifp.ops.pointwise.arithmetic import sub
from minifp.ops.public import public
from minifp.ops.reduce import mean, sum

# ---- the formula, of the edges of A and B -------------------------------------------------------


def quotient(a, b, eps):
    """a / (b + e), 0 of nothing."""
    return np.where(b == 0, 0, a / (b + eps))


def common(low_a, high_a, low_b, high_b):
    """The length of what both have along an axis."""
    return box_size(np.maximum(low_a, low_b), np.minimum(high_a, high_b))


def around(low_a, high_a, low_b, high_b):
    """The length of what is around both along an axis."""
    return box_size(np.minimum(low_a, low_b), np.maximum(high_a, high_b))


def areas(x, y):
    """(I, U, |C|), by four edges along each axis."""
    both = common(*x) * common(*y)
    union = box_size(*x[:2]) * box_size(*y[:2]) + box_size(*x[2:]) * box_size(*y[2:]) - both
    return both, union, around(*x) * around(*y)


@kernel("map", COMPUTE)
def box_iou_forward(
    left_a, top_a, right_a, bottom_a, left_b, top_b, right_b, bottom_b, *, generalized, eps
):
    x, y = (left_a, right_a, left_b, right_b), (top_a, bottom_a, top_b, bottom_b)
    both, union, hull = areas(x, y)
    iou = quotient(both, union, eps)
    return iou - quotient(hull - union, hull, eps) if generalized else iou


def share(mine, other):
    """1 where mine is larger, a half where they are equal."""
    return np.where(mine > other, 1.0, np.where(mine == other, 0.5, 0.0))


def changes(own, other, is_low):
    """(dI, d|A|, d|C|) in an edge of A, by four edges along its axis, and four along the other."""
    low_a, high_a, low_b, high_b = own
    sign, inner, outer = 1.0, share(high_b, high_a), share(high_a, high_b)
    if is_low:
        sign, inner, outer = -1.0, share(low_a, low_b), share(low_b, low_a)
    meet = np.minimum(high_a, high_b) >= np.maximum(low_a, low_b)
    dboth = np.where(meet, sign * inner * common(*other), 0)
    darea = np.where(high_a >= low_a, sign * box_size(*other[:2]), 0)
    spans = np.maximum(high_a, high_b) >= np.minimum(low_a, low_b)
    return dboth, darea, np.where(spans, sign * outer * around(*other), 0)


@kernel("map", COMPUTE)
def box_iou_slope(
    low_a, high_a, low_b, high_b, from_a, to_a, from_b, to_b, *, is_low, generalized, eps
):
    """In an edge of A along the axis of the first four: its low one, or its high one."""
    own = low_a, high_a, low_b, high_b
    other = from_a, to_a, from_b, to_b
    dboth, darea, dhull = changes(own, other, is_low)
    both, union, hull = areas(own, other)
    union, hull = union + eps, hull + eps
    iou = quotient(both, union, 0)
    slope = quotient(dboth * (1 + iou) - darea * iou, union, 0)
    if not generalized:
        return slope
    return slope - quotient(dhull * quotient(union, hull, 0) - (darea - dboth), hull, 0)


@kernel("map", GIVEN)
def box_iou_dx(dy, slope, *, shape, sum):
    return sum_to(dy * slope, shape, sum)


# ---- the operation ------------------------------------------------------------------------------


def dboxes(dy, a, b, to, settings):
    """The gradient of boxes `a` that were compared with boxes `b`."""
    if to is None:
        return None
    (left, top, right, bottom), (left_b, top_b, right_b, bottom_b) = columns(a), columns(b)
    x, y = (left, right, left_b, right_b), (top, bottom, top_b, bottom_b)
    parts = []
    for is_low in (True, False):
        for axes in ((*x, *y), (*y, *x)):
            slope = box_iou_slope(*axes, is_low=is_low, **settings)
            parts.append(box_iou_dx(dy, slope, shape=left.shape, to=to))
    return np.stack(parts, axis=-1)


def box_iou_backward(dy, a, b, to, pairwise, **settings):
    if not pairwise:
        return dboxes(dy, a, b, to[0], settings), dboxes(dy, b, a, to[1], settings)
    da = dboxes(dy, a[:, None], b[None], to[0], settings)
    db = dboxes(dy, b[None], a[:, None], to[1], settings)
    return None if da is None else da[:, 0], None if db is None else db[0]


def overlap(a, b, *, pairwise, generalized, eps):
    """Of boxes (N, 4) and (M, 4) all pairs (N, M), or else those that stand in the same place."""
    pair = (a[:, None], b[None]) if pairwise else (a, b)
    edges = (*columns(pair[0]), *columns(pair[1]))
    y = box_iou_forward(*edges, generalized=generalized, eps=eps)
    return y, (a, b), box_iou_backward


box_iou_op = op(overlap, name="box_iou")
generalized_box_iou_op = op(overlap, name="generalized_box_iou")
generalized_box_iou_loss_op = op(overlap, name="generalized_box_iou_loss")


@public("F", autocast="coordinates")
def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Intersection over union of all pairs of boxes (N, 4) and (M, 4): (N, M), from 0 to 1.

    In float32 (float64 of float64); 0 where both boxes are empty. Raises DTypeError for anything
    but floating tensors, ShapeError for anything but boxes.
    """
    check_boxes("box_iou", 2, boxes1=boxes1, boxes2=boxes2)
    return box_iou_op(boxes1, boxes2, pairwise=True, generalized=False, eps=0.0)


@public("F", autocast="coordinates")
def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Generalized intersection over union of all pairs of boxes (N, 4) and (M, 4): (N, M).

    From -1, of boxes far apart, to 1, of equal ones (Rezatofighi et al. 2019). As in box_iou.
    """
    check_boxes("generalized_box_iou", 2, boxes1=boxes1, boxes2=boxes2)
    return generalized_box_iou_op(boxes1, boxes2, pairwise=True, generalized=True, eps=0.0)


@public("F", autocast="coordinates")
def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 - GIoU of boxes (..., 4) with those at the same places: (...), or a float32 scalar.

    eps: is added to areas that are divided by. Raises DTypeError for anything but floating tensors,
    ShapeError for anything but boxes of one shape, ArgumentError for another reduction than "none",
    "mean" and "sum", and for a negative eps.
    """
    function = "generalized_box_iou_loss"
    check_reduction(function, reduction)
    check_range(f"{function}: eps", eps)
    check_boxes(function, boxes1=boxes1, boxes2=boxes2)
    if boxes1.shape != boxes2.shape:
        raise ShapeError(
            f"{function}: boxes1 of shape {boxes1.shape}, boxes2 of shape {boxes2.shape}: "
            "expected the same"
        )
    settings = {"pairwise": False, "generalized": True, "eps": float(eps)}
    losses = sub(1.0, generalized_box_iou_loss_op(boxes1, boxes2, **settings))
    return {"none": lambda x: x, "mean": mean, "sum": sum}[reduction](losses)
