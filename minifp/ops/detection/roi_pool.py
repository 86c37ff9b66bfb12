"""RoI pooling: the largest numbers inside of each box (Girshick 2015, arXiv:1504.08083).

    y = the largest of a bin, 0 of an empty one;   dx = the sum of dy of bins that chose a place

x: (N, C, H, W)  y: (K, C, P, Q), stored. A box, rounded to whole places, both edges among them, is
divided into P x Q bins, rounded outwards: neighbours overlap. The first of equal ones is chosen;
NaN is the largest. The number of its place in its picture is kept, 4 bytes each: -1 of an empty
bin. A box that is not finite makes its y NaN. Places are computed in float32, the format of boxes,
in every precision; boxes have no gradient. Gradients that meet are summed in `reduce`, and rounded
once.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.numerics.compiled import compilable
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.detection.rois import Regions, as_regions, check_regions_settings
from minifp.ops.public import public
from minifp.ops.shaping.indexing import add_rows
from minifp.typing import Ints

NOWHERE = -1  # where a bin of a box that is not finite begins, and what an empty bin has chosen


def rounded_away(v):
    """v rounded to the nearest integer, halves away from 0, as C's `round` does."""
    whole = np.trunc(v)
    return np.where(np.abs(v - whole) == 0.5, whole + np.sign(v), np.rint(v))


@compilable
def roi_bins(low, high, n, count, scale):
    """Where in n places each of `count` bins of boxes from low to high (K) begins and ends:
    (K, count, 2), int64."""
    kind = low.dtype.type
    with np.errstate(all="ignore"):
        start, end = rounded_away(low * kind(scale)), rounded_away(high * kind(scale))
        length = np.maximum(end - start + kind(1), kind(1))[:, None] / kind(count)
        bin = np.arange(count + 1, dtype=low.dtype, like=low)
        first, stop = np.floor(bin[:-1] * length), np.ceil(bin[1:] * length)
        spans = np.clip(np.stack([first, stop], axis=-1) + start[:, None, None], 0, n)
        is_finite = (np.isfinite(start) & np.isfinite(end))[:, None, None]
        return np.asarray(np.where(is_finite, spans, NOWHERE), np.int64, like=low)


def bins_of_boxes(boxes, shape, size, scale):
    """The bins of the rows and of the columns of pictures (N, C, H, W)."""
    (H, W), (P, Q) = shape[2:], size
    rows = roi_bins(boxes[:, 1], boxes[:, 3], H, P, scale)
    return rows, roi_bins(boxes[:, 0], boxes[:, 2], W, Q, scale)


@kernel("map", "x", "x")
def roi_pool_forward(x, rows, columns, pictures):
    C, W = x.shape[1], x.shape[3]
    (K, P), Q = rows.shape[:2], columns.shape[1]
    y = np.zeros((K, C, P, Q), x.dtype, like=x)
    chosen = np.full_like(y, NOWHERE, np.int32)
    rows, columns, pictures = (a.tolist() for a in (rows, columns, pictures))
    for k, p, q in np.ndindex(K, P, Q):
        (top, bottom), (left, right) = rows[k][p], columns[k][q]
        if top < 0 or left < 0:
            y[k, :, p, q] = np.nan
        elif top < bottom and left < right:
            inside = x[pictures[k], :, top:bottom, left:right]
            inside = inside.reshape(C, (bottom - top) * (right - left))
            best = inside.argmax(axis=1)  # NaN wins
            down, across = np.divmod(best, right - left)
            y[k, :, p, q] = inside[np.arange(C, like=x), best]
            chosen[k, :, p, q] = (top + down) * W + left + across
    return y, chosen


@kernel("reduce", GIVEN)
def roi_pool_dx(dy, chosen, pictures, *, shape, sum):
    N, C, H, W = shape
    planes = (pictures[:, None] * C + np.arange(C, like=pictures)) * (H * W)
    counts = chosen >= 0
    places = (planes[..., None, None] + chosen)[counts]
    return add_rows(dy[counts], places, N * C * H * W, sum).reshape(shape)


def roi_pool_backward(dy, chosen, pictures, shape, to, **settings):
    return roi_pool_dx(dy, chosen, pictures, shape=shape, to=to[0]), None, None


@op
def roi_pool_op(x, boxes, pictures, *, size, scale):
    y, chosen = roi_pool_forward(x, *bins_of_boxes(boxes, x.shape, size, scale), pictures)
    return y, (chosen, pictures, x.shape), roi_pool_backward


@public("F", autocast="exact")
def roi_pool(
    input: Tensor, boxes: Regions, output_size: Ints, spatial_scale: float = 1.0
) -> Tensor:
    """The largest of input (N, C, H, W) in each of P x Q bins of boxes: (K, C, P, Q).

    boxes: a list of (L, 4) for each picture, left, top, right and bottom, or (K, 5) with the
    picture's number first. output_size: (P, Q), or one number for both. spatial_scale: how many
    places of input there are for one of the coordinates of boxes. What lies outside of input does
    not count; a bin with nothing inside is 0. Raises as roi_align does.
    """
    size = check_regions_settings("roi_pool", output_size, spatial_scale)
    edges, pictures = as_regions("roi_pool", input, boxes)
    return roi_pool_op(input, edges, pictures, size=size, scale=float(spatial_scale))
