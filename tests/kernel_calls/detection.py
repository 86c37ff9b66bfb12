"""Calls of what is done with boxes and inside of them.

Each function draws one call of the kernel of its name: (arguments, keywords, format of the result,
or None to be told by its rule).
"""

import numpy as np

from kernel_calls.named import NAMED
from minifp.numerics.formats import float32
from minifp.ops.detection import roi_align, roi_pool


def shapes(d):
    """Two shapes that broadcast."""
    n, m = (1200, 90) if d.large else (d.size(0, 9), d.size(1, 40))
    return d.choice(((n, 1), (1, m)), ((n, m), (n, m)), ((n, m), (m,)))


def whole(first, second):
    """The shape of both together."""
    return first[0], second[-1]


def edges(d, first, second):
    """Four numbers of arrays of one shape, and as many of another."""
    return [d.array(*first) for _ in range(4)] + [d.array(*second) for _ in range(4)]


def box_area_forward(d):
    n, _ = shapes(d)
    return [d.array(*n) for _ in range(4)], {}, float32


def box_area_dx(d):
    n, _ = shapes(d)
    return [d.array(*n) for _ in range(5)], {"sign": d.choice(-1, 1)}, d.dtype


def weighted(d):
    n, _ = shapes(d)
    return [d.array(*n) for _ in range(2)], {"a": d.choice(0.0, 1.0), "b": d.choice(1.0, -0.5)}


def box_convert_forward(d):
    return *weighted(d), float32


def box_convert_dx(d):
    return *weighted(d), d.dtype


def clip_edge(d):
    n, _ = shapes(d)
    return (d.array(*n),), {"most": 0.75}, float32


def clip_edge_dx(d):
    n, _ = shapes(d)
    return (d.array(*n), d.array(*n)), {"most": 0.75}, d.dtype


def overlapping(d):
    pair = shapes(d)
    return edges(d, *pair), {"generalized": d.choice(True, False), "eps": d.choice(0.0, 0.01)}


def box_iou_forward(d):
    return *overlapping(d), float32


def box_iou_slope(d):
    args, settings = overlapping(d)
    a, b, c, e = args[:2], args[4:6], args[2:4], args[6:]
    return [*a, *b, *c, *e], settings | {"is_low": d.choice(True, False)}, float32


def box_iou_dx(d):
    pair = shapes(d)
    return (d.array(*whole(*pair)), d.array(*whole(*pair))), {"shape": pair[0]}, d.dtype


def coded(d):
    """Edges, or what is learned of them, of boxes and of references; their weights."""
    first, second = shapes(d)
    args = [d.array(*first) for _ in range(2)], [d.array(*second) for _ in range(2)]
    return args, (first, second), {"w": d.choice(10.0, 0.3), "v": d.choice(5.0, 0.7)}


def encode_shift(d):
    (boxes, references), _, settings = coded(d)
    settings.pop("v")
    return (*boxes, *references), settings, float32


def encode_growth(d):
    (boxes, references), _, settings = coded(d)
    settings.pop("w")
    return (*boxes, *references), settings, float32


def encode_dx(d):
    (boxes, references), pair, settings = coded(d)
    dy = [d.array(*whole(*pair)) for _ in range(2)]
    settings |= {"sign": d.choice(-1.0, 1.0), "shape": pair[0]}
    return (*dy, *boxes, *references), settings, d.dtype


def encode_dreference(d):
    args, settings, to = encode_dx(d)
    return args, settings | {"shape": args[4].shape}, to


def decode_edge(d):
    (deltas, references), _, settings = coded(d)
    return (*deltas, *references), settings | {"sign": d.choice(-1.0, 1.0)}, float32


def decode_dt(d):
    (_, references), pair, settings = coded(d)
    settings.pop("v")
    dy = [d.array(*whole(*pair)) for _ in range(2)]
    return (*dy, *references), settings | {"shape": pair[0]}, d.dtype


def decode_du(d):
    ((u, _), references), pair, settings = coded(d)
    settings.pop("w")
    dy = [d.array(*whole(*pair)) for _ in range(2)]
    return (*dy, u, *references), settings | {"shape": pair[0]}, d.dtype


def decode_dreference(d):
    (deltas, _), pair, settings = coded(d)
    dy = [d.array(*whole(*pair)) for _ in range(2)]
    settings |= {"shape": pair[1], "sign": d.choice(-1.0, 1.0)}
    return (*dy, *deltas), settings, d.dtype


# ---- inside of boxes -----------------------------------------------------------------------------


def regions(d):
    """The shape of pictures, boxes in them or beyond, of which picture each is, and a size."""
    N, C = d.choice((1, 1), (3, d.size(1, 70)), (2, 0), (2, 33))
    H, W = (40, 50) if d.large else (d.size(1, 12), d.size(1, 12))
    K = 30 if d.large else d.choice(0, d.size(1, 9))
    corner = d.random.uniform(-4, [W, H], (K, 2))
    boxes = np.concatenate([corner, corner + d.random.uniform(0, [W, H], (K, 2))], axis=1)
    size = d.choice((2, 3), (7, 7), (1, 1), (1, 5))
    return (N, C, H, W), boxes.astype(float32), d.random.integers(0, N, K), size


def aligning(d):
    """The shape of pictures, and the weights of boxes, some of them not finite."""
    shape, boxes, pictures, size = regions(d)
    if d.special and len(boxes):
        boxes[0, d.size(0, 3)] = np.nan
    given = d.choice(1.0, 0.6), d.choice(0, 1, 2), d.choice(True, False)
    down, across = roi_align.weights_of_boxes(boxes, shape, size, *given)
    return shape, (d.laid(down), d.laid(across), pictures)


def roi_align_forward(d):
    shape, weights = aligning(d)
    return (d.array(*shape), *weights), {}, None


def roi_align_dx(d):
    shape, (down, across, pictures) = aligning(d)
    dy = d.array(len(down), shape[1], down.shape[1], across.shape[1])
    return (dy, down, across, pictures), {"shape": shape}, d.dtype


def pooling(d):
    """The same, with bins."""
    shape, boxes, pictures, size = regions(d)
    if d.special and len(boxes):
        boxes[0, d.size(0, 3)] = np.inf
    bins = roi_pool.bins_of_boxes(boxes, shape, size, d.choice(1.0, 0.6))
    return shape, (*bins, pictures)


def roi_pool_forward(d):
    shape, bins = pooling(d)
    return (d.array(*shape), *bins), {}, None


def roi_pool_dx(d):
    shape, (rows, columns, pictures) = pooling(d)
    x = np.zeros(shape) + d.random.normal(size=shape)
    _, chosen = NAMED["roi_pool_forward"].reference(x, rows, columns, pictures)
    return (d.array(*chosen.shape), d.laid(chosen), pictures), {"shape": shape}, d.dtype


OF_EDGES = [  # element by element
    box_area_forward, box_area_dx, box_convert_forward, box_convert_dx, clip_edge, clip_edge_dx,
    box_iou_forward, box_iou_slope, box_iou_dx, encode_shift, encode_growth, encode_dx,
    encode_dreference, decode_edge, decode_dt, decode_du, decode_dreference,
]  # fmt: skip
OF_PICTURES = [roi_align_forward, roi_align_dx, roi_pool_forward, roi_pool_dx]
CALLS = {f"{kernel.__name__} of edges": kernel for kernel in OF_EDGES}
CALLS |= {kernel.__name__: kernel for kernel in OF_PICTURES}
