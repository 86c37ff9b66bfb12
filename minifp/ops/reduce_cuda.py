"""Kernels of reduce.py for a GPU that are not those of every device."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.reduce_numba import divided
from minifp.runtime.shapes import reduced_shape


@compiled_kernel
def spread(dy, *, shape, axes, divisor, to):
    dy = np.broadcast_to(dy.reshape(reduced_shape(shape, axes, True)), shape)
    return divided(dy, divisor=divisor, to=to)
