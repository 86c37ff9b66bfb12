"""Boxes as what a network learns: how far from a box of reference, and how much larger.

    encode: t = w (c - c') / s',  u = v log(s / s')
    decode: c = c' + s' t / w,    s = s' e^(u / v)

along each axis, with c the center and s the size of a box, c' and s' those of its reference, w and
v weights (Ren et al. 2015, arXiv:1506.01497, equation 2). In decode u / v is at most
log(1000 / 16): a box is at most 62.5 times as large as its reference, so that early in training
nothing overflows; beyond, u has no gradient. References broadcast. Boxes are float32 in every
precision, and so is what is learned of them (see boxes.py); the network's own output may be stored
in less.

    dt = G s' / w,  du = D s / v,  with G = dlow + dhigh,  D = (dhigh - dlow) / 2  of a decoded box
    dlow' = G / 2 - E,  dhigh' = G / 2 + E,  E = G t / w + D e^(u / v)
"""

import math
from collections.abc import Sequence

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.arguments import check_positive, check_tensors
from minifp.ops.detection.boxes import check_boxes, columns
from minifp.ops.elementwise import sum_to
from minifp.ops.public import public
from minifp.ops.reduce import array_of
from minifp.runtime.cuda.arrays import is_on_device

LARGEST = math.log(1000 / 16)  # of u / v

# ---- along an axis ------------------------------------------------------------------------------


def growth(u, v):
    """How many times as large as its reference a box is."""
    return np.exp(np.minimum(u / v, LARGEST))


def shift(low, high, low_r, high_r):
    """How far the center of a box is from that of its reference."""
    return 0.5 * ((low - low_r) + (high - high_r))


@kernel("map", COMPUTE)
def encode_shift(low, high, low_r, high_r, *, w):
    return w * shift(low, high, low_r, high_r) / (high_r - low_r)


@kernel("map", COMPUTE)
def encode_growth(low, high, low_r, high_r, *, v):
    return v * np.log((high - low) / (high_r - low_r))


@kernel("map", GIVEN)
def encode_dx(dt, du, low, high, low_r, high_r, *, w, v, sign, shape, sum):
    """Of an edge of a box: `sign` is 1 of the high one."""
    return sum_to(0.5 * w * dt / (high_r - low_r) + sign * v * du / (high - low), shape, sum)


@kernel("map", GIVEN)
def encode_dreference(dt, du, low, high, low_r, high_r, *, w, v, sign, shape, sum):
    size = high_r - low_r
    slope = -w * (0.5 + sign * shift(low, high, low_r, high_r) / size) / size
    return sum_to(dt * slope - sign * v * du / size, shape, sum)


@kernel("map", COMPUTE)
def decode_edge(t, u, low_r, high_r, *, w, v, sign):
    size = high_r - low_r
    return low_r + 0.5 * size + t / w * size + sign * (0.5 * (growth(u, v) * size))


@kernel("map", GIVEN)
def decode_dt(dlow, dhigh, low_r, high_r, *, w, shape, sum):
    return sum_to((dlow + dhigh) * (high_r - low_r) / w, shape, sum)


@kernel("map", GIVEN)
def decode_du(dlow, dhigh, u, low_r, high_r, *, v, shape, sum):
    slope = 0.5 * (growth(u, v) * (high_r - low_r)) / v
    return sum_to(np.where(u / v <= LARGEST, (dhigh - dlow) * slope, 0), shape, sum)


@kernel("map", GIVEN)
def decode_dreference(dlow, dhigh, t, u, *, w, v, sign, shape, sum):
    both, apart = dlow + dhigh, 0.5 * (dhigh - dlow)
    return sum_to(0.5 * both + sign * (both * t / w + apart * growth(u, v)), shape, sum)


# ---- the operations -----------------------------------------------------------------------------


def axes_of(*numbers):
    """Of arrays (..., 4) what belongs to x and what to y: two numbers of each, in pairs."""
    apart = [columns(array) for array in numbers]
    for i in (0, 1):
        yield [n for four in apart for n in (four[i], four[i + 2])]


def joined(pairs):
    """An array (..., 4) of the two numbers of x and the two of y."""
    (first, second), (third, fourth) = pairs
    return np.stack([first, third, second, fourth], axis=-1)


def each_edge(kernel, *args, **settings):
    """What a kernel gives of the low edge, and of the high one."""
    return tuple(kernel(*args, sign=sign, **settings) for sign in (-1.0, 1.0))


def encode_backward(d, boxes, references, to, weights):
    gradients = []
    for format, array, slope in zip(to, (boxes, references), (encode_dx, encode_dreference)):
        axes = zip(axes_of(d, boxes, references), weights)
        settings = {"shape": array.shape[:-1], "to": format}
        pairs = (each_edge(slope, *pair, w=w, v=v, **settings) for pair, (w, v) in axes)
        gradients.append(None if format is None else joined(pairs))
    return tuple(gradients)


@op
def encode_boxes_op(boxes, references, *, weights):
    pairs = [
        (encode_shift(*edges, w=w), encode_growth(*edges, v=v))
        for edges, (w, v) in zip(axes_of(boxes, references), weights)
    ]
    return joined(pairs), (boxes, references), encode_backward


def decode_backward(d, deltas, references, to, weights):
    axes = [(*pair, w, v) for pair, (w, v) in zip(axes_of(d, deltas, references), weights)]
    ddeltas = dreferences = None
    if to[0] is not None:
        settings = {"shape": deltas.shape[:-1], "to": to[0]}
        ddeltas = joined(
            (
                decode_dt(dlow, dhigh, low, high, w=w, **settings),
                decode_du(dlow, dhigh, u, low, high, v=v, **settings),
            )
            for dlow, dhigh, _, u, low, high, w, v in axes
        )
    if to[1] is not None:
        settings = {"shape": references.shape[:-1], "to": to[1]}
        dreferences = joined(
            each_edge(decode_dreference, dlow, dhigh, t, u, w=w, v=v, **settings)
            for dlow, dhigh, t, u, _, _, w, v in axes
        )
    return ddeltas, dreferences


@op
def decode_boxes_op(deltas, references, *, weights):
    axes = zip(axes_of(deltas, references), weights)
    pairs = [each_edge(decode_edge, *pair, w=w, v=v) for pair, (w, v) in axes]
    return joined(pairs), (deltas, references), decode_backward


# ---- what is given ------------------------------------------------------------------------------


def pairs_of_weights(function, weights):
    """((wx, ww), (wy, wh)) of weights (wx, wy, ww, wh). Raises ArgumentError for others."""
    if not isinstance(weights, (tuple, list)) or len(weights) != 4:
        raise ArgumentError(f"{function}: weights={weights!r}: expected four numbers")
    for weight in weights:
        check_positive(f"{function}: weights", weight)
    x, y, width, height = map(float, weights)
    return (x, width), (y, height)


def check_broadcast(function, **tensors):
    """Raise ShapeError unless the shapes of two broadcast together."""
    shapes = [t.shape for t in tensors.values()]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        described = " and ".join(f"{name} of shape {t.shape}" for name, t in tensors.items())
        raise ShapeError(
            f"{function}: {described}: expected the same, or shapes that broadcast"
        ) from None


def check_sizes(function, **tensors):
    """Raise ArgumentError for a box without a width or a height: its logarithm is not finite.

    NaN is passed on; and on a GPU the numbers are not looked at, as one would have to wait.
    """
    for name, boxes in tensors.items():
        array = array_of(boxes)
        if is_on_device(array):
            continue
        left, top, right, bottom = columns(array)
        empty = (right <= left) | (bottom <= top)
        if empty.any():
            where = tuple(int(i) for i in np.argwhere(empty)[0])
            raise ArgumentError(
                f"{function}: {name} {array[where].tolist()} at {where}: expected a width and a "
                "height above 0: remove such boxes (F.remove_small_boxes finds the others)"
            )


@public("F", autocast="coordinates")
def encode_boxes(
    boxes: Tensor, references: Tensor, weights: Sequence[float] = (10.0, 10.0, 5.0, 5.0)
) -> Tensor:
    """What decode_boxes makes these boxes of, from their references: (..., 4), (tx, ty, tw, th).

    boxes, references: (..., 4), left, top, right and bottom, that broadcast; weights: of the four,
    (10, 10, 5, 5) in Fast R-CNN and, as variances 0.1 and 0.2, in SSD. In float32 (float64 of
    float64). Raises DTypeError for anything but floating tensors, ShapeError for anything but boxes
    that broadcast, ArgumentError for weights that are not four positive numbers, and (but on a GPU)
    for a box without width or height.
    """
    check_boxes("encode_boxes", boxes=boxes, references=references)
    check_broadcast("encode_boxes", boxes=boxes, references=references)
    check_sizes("encode_boxes", boxes=boxes, references=references)
    pairs = pairs_of_weights("encode_boxes", weights)
    return encode_boxes_op(boxes, references, weights=pairs)


@public("F", autocast="coordinates")
def decode_boxes(
    deltas: Tensor, references: Tensor, weights: Sequence[float] = (10.0, 10.0, 5.0, 5.0)
) -> Tensor:
    """The boxes (..., 4) that a network means by deltas (..., 4) from references (..., 4).

    As in encode_boxes; growth is limited to 1000 / 16. deltas may be stored in less than float32:
    they enter exactly. Raises as encode_boxes does, but not for empty references.
    """
    check_tensors("decode_boxes", deltas=deltas)
    if deltas.shape[-1:] != (4,):
        raise ShapeError(f"decode_boxes: deltas of shape {deltas.shape}: expected (..., 4)")
    check_boxes("decode_boxes", references=references)
    check_broadcast("decode_boxes", deltas=deltas, references=references)
    return decode_boxes_op(deltas, references, weights=pairs_of_weights("decode_boxes", weights))
