"""Kernels of glu_prelu.py for a GPU for which the CPU's serve the CPU alone: the gate, and its
gradient."""

import math

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.pointwise.glu_prelu_numba import gate
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import THREADS, Text, blocks_for

TEXT = Text(__name__, "glu_prelu.cu")


@compiled_kernel
def glu_forward(x, *, axis, to):
    half = x.shape[axis] // 2
    before = (slice(None),) * (axis % x.ndim)
    return gate(x[(*before, slice(half))], x[(*before, slice(half, None))], to=to)


@compiled_kernel
def glu_dx(dy, x, *, axis, to):
    if not FLOATS.issuperset((dy.dtype, x.dtype, to[0])):
        return None
    dx, axis = empty(x.shape, to[0]), axis % x.ndim
    if dx.size:
        width = x.shape[axis] // 2 * math.prod(x.shape[axis + 1 :])
        TEXT(D=dy.dtype, X=x.dtype, Y=to[0]).launch(
            *("glu_dx", blocks_for(dy.size), THREADS, contiguous(dy), contiguous(x), dx),
            *(dy.size, width),
        )
    return dx
