"""Boxes, and pictures inside of them. Parity with torchvision is in ops/test_detection.py."""

import numpy as np
from bounds import magnitude

import minifp as fp
import minifp.nn.functional as F
from cases.case import Case
from minifp.ops.detection import box_coding, box_iou
from minifp.ops.elementwise import sum_to


def as_boxes(x):
    """Boxes with a width and a height, of any numbers (..., 4)."""
    corner = x[..., :2]
    return fp.cat([corner, corner + x[..., 2:].abs() + 0.05], -1)


def of_boxes(name, *shapes, low=0.0, high=0.2, **settings):
    """A case of boxes alone, whose coordinates stay below 2048 where tests make them 4096 times as
    large: beyond, a warning says that pixels are lost."""
    function = getattr(F, name)
    return Case(
        *(name, lambda *boxes: function(*map(as_boxes, boxes), **settings), shapes, low, high),
        stays_wide=True,
    )


def decoding(deltas, references, **settings):
    fn = lambda t, r: F.decode_boxes(t, as_boxes(r), **settings)  # noqa: E731
    return Case("decode_boxes", fn, (deltas, references), 0.0, 0.2, stays_wide=True)


# Inside, across the lower right corner, outside of the picture, without any area, and a whole one.
REGIONS = np.array(
    [[1, 1, 4.5, 5], [3.3, 2.2, 9, 9], [20, -9, 40, -3], [2, 2, 2, 2], [0, 0, 7, 6]], "float32"
)
NUMBERED = np.insert(REGIONS, 0, [0, 1, 1, 0, 1], axis=1)


def of_regions(name, boxes, *settings, shape=(2, 3, 6, 7), **named):
    function = getattr(F, name)
    return Case(name, lambda x: function(x, boxes, *settings, **named), (shape,))


STEEP = (0.1, 0.2, 0.05, 0.06)  # so that small deltas are large ones

CASES = [
    *(of_boxes("box_area", shape) for shape in ((5, 4), (2, 3, 4), (4,), (0, 4))),
    *(
        of_boxes("box_convert", (3, 4), in_fmt=a, out_fmt=b)
        for a, b in (("xyxy", "cxcywh"), ("xywh", "xyxy"), ("cxcywh", "xywh"), ("xyxy", "xyxy"))
    ),
    of_boxes("clip_boxes_to_image", (6, 4), size=(0.15, 0.2)),
    *(
        of_boxes(name, *pair)
        for name in ("box_iou", "generalized_box_iou")
        for pair in (((5, 4), (3, 4)), ((1, 4), (4, 4)), ((0, 4), (2, 4)))
    ),
    *(
        of_boxes("generalized_box_iou_loss", (5, 4), (5, 4), reduction=reduction)
        for reduction in ("none", "mean", "sum")
    ),
    of_boxes("generalized_box_iou_loss", (2, 3, 4), (2, 3, 4), eps=0.001),
    of_boxes("encode_boxes", (5, 4), (5, 4)),
    of_boxes("encode_boxes", (2, 5, 4), (5, 4), weights=STEEP),
    of_boxes("encode_boxes", (0, 4), (0, 4)),
    of_boxes("generalized_box_iou_loss", (0, 4), (0, 4), reduction="sum"),
    *(decoding((5, 4), (5, 4)), decoding((2, 5, 4), (5, 4), weights=STEEP)),
    *(decoding((0, 4), (0, 4)), of_regions("roi_align", [REGIONS, REGIONS[:2]], (3, 2))),
    of_regions("roi_align", NUMBERED, 2, 0.75, sampling_ratio=2, aligned=True),
    of_regions("roi_align", NUMBERED, (1, 4), 1.0, 1),
    of_regions("roi_align", [REGIONS, np.zeros((0, 4))], 7, 0.5, aligned=True, shape=(2, 35, 5, 4)),
    of_regions("roi_align", [np.zeros((0, 4))], 2, shape=(1, 2, 3, 3)),
    of_regions("roi_pool", [REGIONS, REGIONS[:2]], (3, 2)),
    of_regions("roi_pool", NUMBERED, 2, 0.75),
    of_regions("roi_pool", [REGIONS, np.zeros((0, 4))], 4, 0.5, shape=(2, 35, 5, 4)),
    of_regions("roi_pool", [np.zeros((0, 4))], 2, shape=(1, 2, 3, 3)),
    *(of_regions(name, [], 2, shape=(0, 3, 4, 4)) for name in ("roi_align", "roi_pool")),
]


def absolute_sum(v, shape):
    """Absolute values, summed to a shape as the kernel sums."""
    return sum_to(np.abs(v), shape, np.sum)


@magnitude
def box_convert_forward(p, q, *, a, b, exact):
    return (np.abs(p * a) if a else 0) + (np.abs(q * b) if b else 0)


magnitude(box_convert_forward, "box_convert_dx")


@magnitude
def box_iou_forward(*edges, generalized, eps, exact):
    """|C| is at least as large as a box, so that both terms err by a few units of 1."""
    return np.abs(exact[0]) + 4 * generalized


@magnitude
def box_iou_slope(*edges, is_low, generalized, eps, exact):
    dboth, darea, dhull = map(np.abs, box_iou.changes(edges[:4], edges[4:], is_low))
    both, union, hull = box_iou.areas(edges[:4], edges[4:])
    union, hull = union + eps, hull + eps
    iou = box_iou.quotient(both, union, 0)
    terms = box_iou.quotient(dboth * (1 + iou) + darea * iou, union, 0)
    if not generalized:
        return terms
    filled = box_iou.quotient(union, hull, 0)
    return terms + np.abs(box_iou.quotient(dhull * filled + darea + dboth, hull, 0))


def shift_terms(low, high, low_r, high_r):
    """What a shift, in sizes, is added up of."""
    return (np.abs(low - low_r) + np.abs(high - high_r)) / np.abs(high_r - low_r)


@magnitude
def encode_shift(*edges, w, exact):
    return w * shift_terms(*edges)


@magnitude
def encode_growth(*edges, v, exact):
    """A ratio that errs by some units moves its logarithm as much."""
    return v * (1 + np.abs(exact[0] / v))


@magnitude
def encode_dx(dt, du, low, high, low_r, high_r, *, w, v, sign, shape, exact):
    terms = np.abs(w * dt / (high_r - low_r)) + np.abs(v * du / (high - low))
    return absolute_sum(terms, shape)


@magnitude
def encode_dreference(dt, du, low, high, low_r, high_r, *, w, v, sign, shape, exact):
    terms = w * np.abs(dt) * (1 + shift_terms(low, high, low_r, high_r)) + v * np.abs(du)
    return absolute_sum(terms / (high_r - low_r), shape)


def growth_terms(u, v):
    """The growth, by what its exponent's rounding makes of it."""
    return box_coding.growth(u, v) * (1 + np.minimum(np.abs(u / v), 100))


@magnitude
def decode_edge(t, u, low_r, high_r, *, w, v, sign, exact):
    size = np.abs(high_r - low_r)
    return np.abs(low_r) + size * (1 + np.abs(t / w) + growth_terms(u, v))


@magnitude
def decode_dt(dlow, dhigh, low_r, high_r, *, w, shape, exact):
    return absolute_sum((np.abs(dlow) + np.abs(dhigh)) * (high_r - low_r) / w, shape)


@magnitude
def decode_du(dlow, dhigh, u, low_r, high_r, *, v, shape, exact):
    slope, counts = growth_terms(u, v) * (high_r - low_r) / v, u / v <= box_coding.LARGEST
    return absolute_sum(np.where(counts, (np.abs(dlow) + np.abs(dhigh)) * slope, 0), shape)


@magnitude
def decode_dreference(dlow, dhigh, t, u, *, w, v, sign, shape, exact):
    both = np.abs(dlow) + np.abs(dhigh)
    return absolute_sum(both * (1 + np.abs(t / w) + growth_terms(u, v)), shape)
