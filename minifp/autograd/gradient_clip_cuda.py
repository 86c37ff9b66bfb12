"""Kernels of gradient_clip.py for a GPU: one number is read, whatever there is to sum."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cuda.arrays import empty, to_host, zeros
from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.source import THREADS, Text, blocks_for

TEXT = Text(__name__, "gradient_clip.cu")
SINGLE, DOUBLE = np.dtype("float32"), np.dtype("float64")
MOST = 256  # blocks of one array


@compiled_kernel
def squared_norm(*arrays):
    """The sum of squares of all elements, in double; None for other formats."""
    if any(a.dtype not in FLOATS for a in arrays):
        return None
    blocks = [min(MOST, blocks_for(a.size, each=8)) for a in arrays]
    parts, sum, done = empty((max(1, np.sum(blocks)),), DOUBLE), empty((1,), DOUBLE), 0
    for a, n in zip(arrays, blocks):
        a = a if a.flags.c_contiguous else a.copy()
        TEXT(X=a.dtype, THREADS=THREADS).launch(
            "gradient_squares", n, THREADS, a, a.size, parts[done:]
        )
        done += n
    TEXT(X=SINGLE, THREADS=THREADS).launch("sum_of_parts", 1, THREADS, parts, done, sum)
    return float(to_host(sum)[0])


@compiled_kernel
def largest_magnitude(*arrays):
    """The largest |element|, NaN where one is; None for formats that float32 does not hold."""
    if any(a.dtype not in FLOATS or a.dtype == DOUBLE for a in arrays):
        return None
    bits = zeros((1,), np.int32)
    for a in arrays:
        a = a if a.flags.c_contiguous else a.copy()
        n = min(MOST, blocks_for(a.size, each=8))
        TEXT(X=a.dtype, THREADS=THREADS).launch("largest_magnitude", n, THREADS, a, a.size, bits)
    return float(to_host(bits).view(SINGLE)[0])
