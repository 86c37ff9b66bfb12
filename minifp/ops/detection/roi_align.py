"""RoIAlign: a grid of means of a picture inside of each box (He et al. 2017, arXiv:1703.06870).

    y_kcpq = sum over h, w of d_kph a_kqw x_nchw           n: the picture of box k
    dx_nchw = sum over k, p, q of d_kph a_kqw dy_kcpq

x: (N, C, H, W)  y: (K, C, P, Q), stored; d: (K, P, H), a: (K, Q, W) in float32, the weights of rows
and columns. A box is divided into P x Q bins, and a bin has a grid of samples between which x is
linear: along both axes at once, so that the weight of a place is that of its row times that of its
column. A weight of 0 is none: an Inf beside a bin is not seen in it.

Along an axis of n places: a sample at u < -1 or u > n counts as 0; else u is moved to between 0 and
n - 1, and is 1 - f of place i and f of the next, i + f = u. Places are computed in float32, the
format of boxes, in every precision. A box that is not finite makes its y NaN. Backward keeps boxes
and no weights; boxes have no gradient. Sums are in `reduce`, and are rounded once.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.errors import ArgumentError
from minifp.numerics.compiled import compilable
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import is_integer
from minifp.ops.detection.rois import Regions, as_regions, check_regions_settings
from minifp.ops.public import public
from minifp.typing import Ints

# ---- weights -------------------------------------------------------------------------------------


def bins_of(low, high, count, scale, ratio, aligned):
    """(where each of `count` bins begins (K, count), how long it is (K, 1), how many samples it has
    (K, 1)), in places of the picture. Of a box that is not finite they are NaN, NaN and 0."""
    kind = low.dtype.type
    start = low * kind(scale) - kind(0.5 if aligned else 0)
    size = np.maximum(high * kind(scale) - kind(0.5 if aligned else 0) - start, kind(not aligned))
    is_finite = np.isfinite(start) & np.isfinite(size)
    bins = np.where(is_finite, size / kind(count), kind(np.nan))[:, None]
    samples = np.where(is_finite[:, None], kind(ratio) if ratio > 0 else np.ceil(bins), kind(0))
    return start[:, None] + np.arange(count, dtype=low.dtype, like=low) * bins, bins, samples


def samples_inside(begin, bins, samples, n):
    """Of each bin the number of the first of its samples that may lie inside of n places, and that
    of the first behind them: so that those far outside are not gone through one by one."""
    step = bins / samples
    first = np.where(step > 0, np.floor((-1 - begin) / step) - 2, 0)
    stop = np.where(step > 0, np.ceil((n - begin) / step) + 2, samples)
    return np.clip(first, 0, samples), np.clip(stop, 0, samples)


@compilable
def roi_weights(low, high, n, count, scale, ratio, aligned):
    """The weights (K, count, n) of n places in `count` bins of boxes from low to high (K).

    ratio: how many samples a bin has along the axis; 0 for as many as it has places, rounded up.
    """
    kind = low.dtype.type
    with np.errstate(all="ignore"):
        begin, bins, samples = bins_of(low, high, count, scale, ratio, aligned)
        first, stop = samples_inside(begin, bins, samples, n)
        weights = np.zeros((*begin.shape, n), low.dtype, like=low)
        box, bin = (np.arange(m, like=low) for m in begin.shape)
        box = box[:, None]
        for i in range(int(np.max(stop - first)) if stop.size else 0):
            u = begin + (first + kind(i) + kind(0.5)) * bins / samples
            counts = (first + kind(i) < stop) & (u >= -1) & (u <= n)
            u = np.clip(np.where(counts, u, kind(0)), 0, n - 1)
            place, share = np.asarray(u, np.intp, like=u), np.where(counts, 1 / samples, kind(0))
            f = u - np.floor(u)
            weights[box, bin, place] += (1 - f) * share
            weights[box, bin, np.minimum(place + 1, n - 1)] += f * share
        weights[..., 0][np.isnan(begin)] = np.nan
    return weights


def weights_of_boxes(boxes, shape, size, scale, ratio, aligned):
    """The weights of the rows and of the columns of pictures (N, C, H, W)."""
    (H, W), (P, Q) = shape[2:], size
    is_finite = np.all(np.isfinite(boxes), axis=1)[:, None]
    boxes = np.where(is_finite, boxes, boxes.dtype.type(np.nan))
    down = roi_weights(boxes[:, 1], boxes[:, 3], H, P, scale, ratio, aligned)
    return down, roi_weights(boxes[:, 0], boxes[:, 2], W, Q, scale, ratio, aligned)


# ---- kernels -------------------------------------------------------------------------------------


def taps(weights):
    """The places (count, m) of the m largest numbers of weights of `count` bins (count, n), where
    the others are 0; and their weights."""
    m = max(1, int(np.max(np.count_nonzero(weights, axis=-1))))
    places = np.argsort(weights == 0, axis=-1, kind="stable")[..., :m]
    return places, np.take_along_axis(weights, places, -1)


def weighted(x, weights):
    """x times weights, and 0 where a weight is 0, whatever x is."""
    return np.where(weights != 0, x * weights, 0)


@kernel("reduce", "x")
def roi_align_forward(x, down, across, pictures, *, sum):
    K, P, _ = down.shape
    y = np.empty((K, x.shape[1], P, across.shape[1]), x.dtype, like=x)
    for k, n in enumerate(pictures.tolist()):
        (rows, by_row), (columns, by_column) = taps(down[k]), taps(across[k])
        first, last = int(rows.min()), int(rows.max()) + 1
        inside = sum(weighted(x[n, :, first:last][:, :, columns], by_column), axis=-1)
        y[k] = sum(weighted(inside[:, rows - first], by_row[..., None]), axis=2)
    return y


MOST_SAMPLES = 4096  # of a bin along an axis: more are a mistake, and take hours
BLOCK = 32  # channels whose gradients are worked on at once


@kernel("reduce", GIVEN)
def roi_align_dx(dy, down, across, pictures, *, shape, sum):
    dx = np.zeros(shape, dy.dtype, like=dy)
    for n in np.unique(pictures).tolist():
        mine = np.flatnonzero(pictures == n)
        seen = (across[mine] != 0).any(axis=1)
        for c in range(0, shape[1], BLOCK):
            channels = slice(c, c + BLOCK)
            parts = weighted(dy[mine, channels, ..., None], across[mine, None, None])
            along = sum(parts, axis=3)
            for h in range(shape[2]):
                box, bin = np.nonzero(down[mine, :, h])
                if box.size:
                    weights = np.where(seen[box], down[mine[box], bin, h, None], 0)
                    dx[n, channels, h] = sum(weighted(along[box, :, bin], weights[:, None]), axis=0)
    return dx


# ---- the operation -------------------------------------------------------------------------------


def roi_align_backward(dy, boxes, pictures, shape, to, **settings):
    weights = weights_of_boxes(boxes, shape, **settings)
    return roi_align_dx(dy, *weights, pictures, shape=shape, to=to[0]), None, None


@op
def roi_align_op(x, boxes, pictures, *, size, scale, ratio, aligned):
    weights = weights_of_boxes(boxes, x.shape, size, scale, ratio, aligned)
    y = roi_align_forward(x, *weights, pictures)
    return y, (boxes, pictures, x.shape), roi_align_backward


@public("F", autocast="wide_sum")
def roi_align(
    input: Tensor,
    boxes: Regions,
    output_size: Ints,
    spatial_scale: float = 1.0,
    sampling_ratio: int = -1,
    aligned: bool = False,
) -> Tensor:
    """What input (N, C, H, W) is inside of boxes: (K, C, P, Q), in its format, bin after bin.

    boxes: a list of (L, 4) for each picture, left, top, right and bottom, or (K, 5) with the
    picture's number first. output_size: (P, Q), or one number for both. spatial_scale: how many
    places of input there are for one of the coordinates of boxes. sampling_ratio: how many samples
    a bin has along each axis; by default as many as it has places, rounded up. aligned: whether
    pixels are areas, whose centers lie at halves, as is exact; else a box is moved by half a place,
    and is at least one place long. Boxes may lie outside, where input is 0; they have no gradient.
    Raises DTypeError and ShapeError for other tensors, ArgumentError for boxes that require a
    gradient, for a picture that is not there (but on a GPU), and for settings that make no sense.
    """
    size = check_regions_settings("roi_align", output_size, spatial_scale)
    check_flag("roi_align: aligned", aligned)
    if not is_integer(sampling_ratio) or sampling_ratio > MOST_SAMPLES:
        raise ArgumentError(
            f"roi_align: sampling_ratio={sampling_ratio!r}: expected an integer, at most "
            f"{MOST_SAMPLES}"
        )
    settings = {"scale": float(spatial_scale), "ratio": max(int(sampling_ratio), 0)}
    edges, pictures = as_regions("roi_align", input, boxes)
    return roi_align_op(input, edges, pictures, size=size, aligned=bool(aligned), **settings)
