"""Kernels of roi_pool.py for a GPU: a thread a bin, and for dx a thread a place."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.detection import roi_pool
from minifp.ops.pooling.pool_windows_cuda import PoolText, whole
from minifp.runtime.cuda.arrays import empty, to_device, to_host
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import THREADS, blocks_for

TEXT = PoolText(__name__, "roi_pool.cu")
SINGLE = np.dtype("float32")


@compiled_kernel
def roi_bins(low, high, n, count, scale):
    """Of coordinates in float64, which no kernel takes, on the CPU."""
    if low.dtype != SINGLE:
        return to_device(roi_pool.roi_bins(to_host(low), to_host(high), n, count, scale))
    bins = empty((len(low), count, 2), np.int64)
    if bins.size:
        arrays = contiguous(low), contiguous(high), bins
        settings = len(low), n, count, scale
        TEXT(X=SINGLE, Y=SINGLE).launch(
            "roi_bins", blocks_for(len(low) * count), THREADS, *arrays, *settings
        )
    return bins


@compiled_kernel
def roi_pool_forward(x, rows, columns, pictures, *, to):
    x = whole(x, to[0])
    if x is None:
        return None
    shape = len(rows), x.shape[1], rows.shape[1], columns.shape[1]
    y, chosen = empty(shape, to[0] or x.dtype), empty(shape, np.int32)
    if y.size:
        regions = contiguous(rows), contiguous(columns), contiguous(pictures)
        sizes = len(rows), *x.shape, *shape[2:]
        TEXT(X=x.dtype, Y=y.dtype).launch(
            "largest_in_regions", blocks_for(y.size), THREADS, x, y, chosen, *regions, *sizes
        )
    return y, chosen


@compiled_kernel
def roi_pool_dx(dy, chosen, pictures, *, shape, to):
    dy = whole(dy, to[0])
    if dy is None:
        return None
    (N, C, H, W), (K, _, P, Q) = shape, dy.shape
    dx = empty(shape, to[0] or dy.dtype)
    if dx.size:
        arrays = dy, contiguous(chosen), dx, contiguous(pictures)
        sizes = K, N, C, H * W, P * Q
        TEXT(X=dy.dtype, Y=dx.dtype).launch(
            "largest_in_regions_dx", blocks_for(dx.size), THREADS, *arrays, *sizes
        )
    return dx
