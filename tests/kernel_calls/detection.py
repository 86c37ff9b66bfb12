"""Calls of what is done with boxes and inside of them.

Each row or function draws one call of the kernel of its name: (arguments, keywords, format of the
result, or None to be told by its rule).
"""

import numpy as np

from kernel_calls.named import NAMED
from minifp.numerics.formats import float32
from minifp.ops.detection import roi_align, roi_pool


def shapes(d):
    n, m = (1200, 90) if d.large else (d.size(0, 9), d.size(1, 40))
    return d.choice(((n, 1), (1, m)), ((n, m), (n, m)), ((n, m), (m,)))


VALUES = {  # by setting
    **{
        **{"a": (0.0, 1.0), "b": (1.0, -0.5), "most": (0.75,), "sign": (-1.0, 1.0)},
        "is_low": (True, False),
    },
    **{"generalized": (True, False), "eps": (0.0, 0.01), "w": (10.0, 0.3), "v": (5.0, 0.7)},
}
EDGES = {  # by kernel: its arguments, its settings, whose shape its result has, and its format
    **{"box_area_forward": ("ffff", "", None, float32), "box_area_dx": ("fffff", "sign")},
    **{"box_convert_forward": ("ff", "a b", None, float32), "box_convert_dx": ("ff", "a b")},
    **{"clip_edge": ("f", "most", None, float32), "clip_edge_dx": ("ff", "most")},
    "box_iou_forward": ("ffffssss", "generalized eps", None, float32),
    "box_iou_slope": ("ffssffss", "generalized eps is_low", None, float32),
    **{"box_iou_dx": ("gg", "", 0), "encode_shift": ("ffss", "w", None, float32)},
    **{"encode_growth": ("ffss", "v", None, float32), "encode_dx": ("ggffss", "w v sign", 0)},
    "encode_dreference": ("ggffss", "w v sign", 1),
    **{"decode_edge": ("ffss", "w v sign", None, float32), "decode_dt": ("ggss", "w", 0)},
    **{"decode_du": ("ggfss", "v", 0), "decode_dreference": ("ggff", "w v sign", 1)},
}


def of_edges(letters, names, whose=None, to=None):
    """Draws a call of arrays of the first (f) or second shape (s), or of both together (g)."""

    def call(d):
        first, second = pair = shapes(d)
        places = {"f": first, "s": second, "g": (first[0], second[-1])}
        settings = {name: d.choice(*VALUES[name]) for name in names.split()}
        settings |= {} if whose is None else {"shape": pair[whose]}
        return [d.array(*places[letter]) for letter in letters], settings, to or d.dtype

    return call


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
    return shape, (*roi_pool.bins_of_boxes(boxes, shape, size, d.choice(1.0, 0.6)), pictures)


def roi_pool_forward(d):
    shape, bins = pooling(d)
    return (d.array(*shape), *bins), {}, None


def roi_pool_dx(d):
    shape, (rows, columns, pictures) = pooling(d)
    x = np.zeros(shape) + d.random.normal(size=shape)
    _, chosen = NAMED["roi_pool_forward"].reference(x, rows, columns, pictures)
    return (d.array(*chosen.shape), d.laid(chosen), pictures), {"shape": shape}, d.dtype


OF_PICTURES = [roi_align_forward, roi_align_dx, roi_pool_forward, roi_pool_dx]
CALLS = {f"{name} of edges": of_edges(*row) for name, row in EDGES.items()}
CALLS |= {kernel.__name__: kernel for kernel in OF_PICTURES}
