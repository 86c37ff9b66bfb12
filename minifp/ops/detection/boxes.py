"""Boxes (..., 4): their left, top, right and bottom edges, in pixels or in fractions of a picture.

    area:     a = w h,  w = max(right - left, 0),  h = max(bottom - top, 0)
    convert:  along an axis, of its two numbers: low, high | low, size | center, size

Coordinates are float32 in every precision, float64 where they are given so: a box of 300 by 300
pixels has an area of 90,000, more than float16 holds, and from 2048 on float16 has no odd pixel. So
boxes stored in less are widened, and results are never rounded to a storage format. A box whose
right edge lies left of its left one is empty: its area is 0. Gradients are those of the formulas; a
width of 0 grows by its right edge.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice, check_range
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.formats import as_native, format_of
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.arguments import check_tensors
from minifp.ops.public import public
from minifp.ops.reduce import array_of
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda.arrays import is_on_device, to_host
from minifp.runtime.device import placed

# ---- what is given ------------------------------------------------------------------------------


def check_boxes(function: str, ndim: int | None = None, **tensors: Any) -> None:
    """Raise DTypeError for anything but floating tensors, ShapeError for anything but boxes.

    ndim: how many axes they must have. Warns once of boxes that have lost whole pixels already.
    """
    check_tensors(function, **tensors)
    for name, boxes in tensors.items():
        if boxes.shape[-1:] != (4,) or ndim not in (None, boxes.ndim):
            expected = "(N, 4)" if ndim == 2 else "(..., 4)"
            raise ShapeError(
                f"{function}: {name} of shape {boxes.shape}: expected boxes {expected}: their "
                "left, top, right and bottom"
            )
        warn_of_lost_pixels(function, name, getattr(boxes, "array", boxes))


def warn_of_lost_pixels(function: str, name: str, boxes: Any) -> None:
    """Warn once of coordinates stored so narrowly that neighbouring pixels are the same number.

    On a GPU the numbers are not looked at, as one would have to wait for them.
    """
    narrow = format_of(boxes.dtype)
    exact_to = 2 / narrow.eps
    if narrow.bytes > 2 or is_on_device(boxes) or not (np.abs(as_native(boxes)) >= exact_to).any():
        return
    warn_once(
        f"pixels lost in {function}",
        f"{function}: {name} in {narrow.name}, with coordinates from {exact_to:g} on, where this "
        "format has no odd numbers: create boxes in float32, with fp.tensor(boxes, "
        "dtype='float32')",
    )


def columns(boxes: Any) -> tuple[Any, ...]:
    """Left, top, right, bottom, or whatever the four numbers are: each by itself in memory."""
    apart = np.moveaxis(boxes, -1, 0)
    apart = apart if is_on_device(apart) else np.ascontiguousarray(apart)
    return tuple(apart[i, ...] for i in range(4))  # with dots: also of one box it is an array


def box_size(low, high):
    """The length between two edges, 0 of an empty box."""
    return np.maximum(high - low, 0)


# ---- area ---------------------------------------------------------------------------------------


@kernel("map", COMPUTE)
def box_area_forward(left, top, right, bottom):
    return box_size(left, right) * box_size(top, bottom)


@kernel("map", GIVEN)
def box_area_dx(da, low, high, other_low, other_high, *, sign):
    """Of one edge: `sign` is 1 of the high one, along the axis of low and high."""
    return np.where(high >= low, sign * da * box_size(other_low, other_high), 0)


def box_area_backward(da, boxes, to):
    left, top, right, bottom = columns(boxes)
    x, y = (left, right), (top, bottom)
    sides = ((x, y, -1), (y, x, -1), (x, y, 1), (y, x, 1))
    parts = [box_area_dx(da, *own, *other, sign=sign, to=to[0]) for own, other, sign in sides]
    return (np.stack(parts, axis=-1),)


@op
def box_area_op(boxes):
    return box_area_forward(*columns(boxes)), (boxes,), box_area_backward


@public("F", autocast="coordinates")
def box_area(boxes: Tensor) -> Tensor:
    """The areas (...) of boxes (..., 4), in float32 (float64 of float64); of an empty one 0.

    Raises DTypeError for anything but a floating tensor, ShapeError for anything but boxes.
    """
    check_boxes("box_area", boxes=boxes)
    return box_area_op(boxes)


# ---- other ways to write them -------------------------------------------------------------------

# What each way writes of an axis, low and high, as sums a p + b q of its two numbers; and back.
LOW_AND_HIGH = {"xyxy": ((1, 0), (0, 1)), "xywh": ((1, 0), (1, 1)), "cxcywh": ((1, -0.5), (1, 0.5))}


@kernel("map", COMPUTE)
def box_convert_forward(p, q, *, a, b):
    return weighted_pair(p, q, a, b)


@kernel("map", GIVEN)
def box_convert_dx(p, q, *, a, b):
    return weighted_pair(p, q, a, b)


def weighted_pair(p, q, a, b):
    """a p + b q; what has no weight is left out, as it may be Inf."""
    if not a or not b:
        return q * b if b else p * a
    return p * a + q * b


def pairs_to_pairs(numbers, matrix, apply):
    """A sum of each pair of numbers by the rows of a matrix, for both axes."""
    p, q, r, s = columns(numbers)
    x, y = (p, r), (q, s)
    parts = [apply(*pair, a=a, b=b) for a, b in matrix.tolist() for pair in (x, y)]
    return np.stack(parts, axis=-1)


def box_convert_backward(dy, to, matrix):
    def apply(p, q, **weights):
        return box_convert_dx(p, q, to=to[0], **weights)

    return (pairs_to_pairs(dy, np.array(matrix).T, apply),)


@op
def box_convert_op(boxes, *, matrix):
    y = pairs_to_pairs(boxes, np.array(matrix), box_convert_forward)
    return y, (), box_convert_backward


@public("F", autocast="coordinates")
def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Boxes (..., 4) written in another way, in float32 (float64 of float64).

    in_fmt, out_fmt: "xyxy", the edges; "xywh", left, top, width and height; "cxcywh", the center,
    width and height. Raises ArgumentError for another, DTypeError for anything but a floating
    tensor, ShapeError for anything but boxes.
    """
    check_boxes("box_convert", boxes=boxes)
    for name, way in (("in_fmt", in_fmt), ("out_fmt", out_fmt)):
        check_choice(f"box_convert: {name}", way, LOW_AND_HIGH)
    edges, back = np.array(LOW_AND_HIGH[in_fmt]), np.linalg.inv(LOW_AND_HIGH[out_fmt])
    matrix = tuple(map(tuple, (back @ edges).tolist()))
    return box_convert_op(boxes, matrix=matrix)


# ---- pictures -----------------------------------------------------------------------------------


def check_picture(function: str, size: Sequence[int]) -> tuple[float, float]:
    """(height, width) as numbers. Raises ArgumentError for what is no pair of them."""
    if not isinstance(size, (tuple, list)) or len(size) != 2:
        raise ArgumentError(f"{function}: size={size!r}: expected (height, width)")
    for n in size:
        check_range(f"{function}: size", n)
    return float(size[0]), float(size[1])


@kernel("map", COMPUTE)
def clip_edge(x, *, most):
    return np.clip(x, 0, most)


@kernel("map", GIVEN)
def clip_edge_dx(dy, x, *, most):
    return np.where((x >= 0) & (x <= most), dy, 0)


def clip_boxes_backward(dy, boxes, to, most):
    edges = zip(columns(dy), columns(boxes), most)
    return (np.stack([clip_edge_dx(d, x, most=m, to=to[0]) for d, x, m in edges], axis=-1),)


@op(name="clip_boxes_to_image")
def clip_boxes_op(boxes, *, most):
    edges = [clip_edge(x, most=m) for x, m in zip(columns(boxes), most)]
    return np.stack(edges, axis=-1), (boxes,), clip_boxes_backward


@public("F", autocast="coordinates")
def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes (..., 4) without what lies outside of a picture of size (height, width), in float32.

    Its gradient is 0 for edges outside. Raises ArgumentError for anything but a size, DTypeError
    for anything but a floating tensor, ShapeError for anything but boxes.
    """
    check_boxes("clip_boxes_to_image", boxes=boxes)
    height, width = check_picture("clip_boxes_to_image", size)
    return clip_boxes_op(boxes, most=(width, height, width, height))


@public("F")
def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The places (int64) of those of boxes (N, 4) that have at least `min_size` on both sides.

    On a GPU it is waited for how many there are. Raises ArgumentError for a size below 0,
    DTypeError for anything but a floating tensor, ShapeError for anything but boxes.
    """
    check_boxes("remove_small_boxes", 2, boxes=boxes)
    check_range("remove_small_boxes: min_size", min_size)
    sizes = box_convert_op(array_of(boxes), matrix=((1, 0), (-1, 1))).array[:, 2:]
    large = np.all(sizes >= min_size, axis=1)
    places = np.flatnonzero(to_host(large) if is_on_device(large) else large)
    return Tensor(placed(np.array(places, np.int64), like=large))
