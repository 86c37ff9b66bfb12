"""Kernels of roi_align.py for a GPU: a thread a number of the result, which adds up all of it."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.detection import roi_align
from minifp.ops.pooling.pool_windows_cuda import PoolText, whole
from minifp.runtime.cuda.arrays import empty, to_device, to_host
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import THREADS, blocks_for

TEXT = PoolText(__name__, "roi_align.cu")
SINGLE = np.dtype("float32")


@compiled_kernel
def roi_weights(low, high, n, count, scale, ratio, aligned):
    """Of coordinates in float64, which no kernel takes, on the CPU."""
    settings = n, count, scale, ratio, aligned
    if low.dtype != SINGLE:
        return to_device(roi_align.roi_weights(to_host(low), to_host(high), *settings))
    weights = empty((len(low), count, n), SINGLE)
    if weights.size:
        arrays = contiguous(low), contiguous(high), weights
        numbers = len(low), n, count, scale, ratio, int(aligned)
        TEXT(X=SINGLE, Y=SINGLE).launch(
            "roi_weights", blocks_for(len(low) * count), THREADS, *arrays, *numbers
        )
    return weights


def spans_of(module, weights):
    """(K, count, 2): of each bin the first place that has a weight, and the one behind the last."""
    spans = empty((*weights.shape[:2], 2), np.int64)
    if spans.size:
        bins = len(weights) * weights.shape[1]
        module.launch(
            "roi_spans", blocks_for(bins), THREADS, weights, spans, bins, weights.shape[2]
        )
    return spans


def aligned(name, v, down, across, pictures, shape, out):
    """Launch a kernel that reads v and writes out; shape: of the pictures."""
    if out.size:
        module = TEXT(X=v.dtype, Y=out.dtype)
        down, across = contiguous(down), contiguous(across)
        spans = spans_of(module, down), spans_of(module, across)
        sizes = *shape, down.shape[1], across.shape[1]
        arrays = v, out, down, across, *spans
        module.launch(
            name, blocks_for(out.size), THREADS, *arrays, contiguous(pictures), len(down), *sizes
        )
    return out


@compiled_kernel
def roi_align_forward(x, down, across, pictures, *, to):
    x = whole(x, to[0])
    if x is None or down.dtype != SINGLE:
        return None
    shape = len(down), x.shape[1], down.shape[1], across.shape[1]
    out = empty(shape, to[0] or x.dtype)
    return aligned("align_regions", x, down, across, pictures, x.shape, out)


@compiled_kernel
def roi_align_dx(dy, down, across, pictures, *, shape, to):
    dy = whole(dy, to[0])
    if dy is None or down.dtype != SINGLE:
        return None
    out = empty(shape, to[0] or dy.dtype)
    return aligned("align_regions_dx", dy, down, across, pictures, shape, out)
