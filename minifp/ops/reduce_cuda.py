"""Kernels of reduce.py for a GPU that are not those of every device."""

import numpy as np

from minifp.ops.reduce_numba import divided, kept
from minifp.runtime.cpu import compiled_kernel
from minifp.runtime.cuda.pointwise import run


@compiled_kernel
def spread(dy, *, shape, axes, divisor, to):
    dy = np.broadcast_to(dy.reshape(kept(shape, axes)), shape)
    return run(divided.kernels.formula, (dy,), to[0], (divisor,))
