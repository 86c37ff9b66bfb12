"""Kernels of softmax.py for a GPU: one kernel forward and one backward, along rows.

See the end of minifp/runtime/cuda/common.cuh for how threads share rows.
"""

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.rows import contiguous, rows_along
from minifp.runtime.cuda.source import Text

TEXT = Text(__name__, "softmax.cu")
LOG, MASKED = 1, 2  # modes of its kernels


def softmax_along(axis, kernel, arrays, dtype, sign=1.0, mode=0):
    """What a kernel computes of arrays of one shape along an axis; None if it is not ours."""
    x = arrays[0]
    dtype = dtype or (x.dtype if x.ndim else float32)
    if not FLOATS.issuperset((dtype, *(a.dtype for a in arrays))):
        return None
    y = empty(x.shape, dtype)
    if y.size:
        rows, given = rows_along(x.shape or (1,), axis if x.ndim else 0), map(contiguous, arrays)
        given = (*given, y)
        types = {"X": x.dtype, "W": arrays[-1].dtype, "Y": dtype, "PACKED": rows.packed(*given)}
        TEXT(**types).launch(kernel, rows.blocks, rows.threads, *given, *rows.sizes, sign, mode)
    return y


@compiled_kernel
def softmax_forward(x, *, axis, to):
    return softmax_along(axis, "softmax_rows", (x,), to[0])


@compiled_kernel
def softmax_dx(dy, y, *, axis, to):
    return softmax_along(axis, "softmax_rows_dx", (dy, y), to[0])


@compiled_kernel
def log_softmax_forward(x, *, axis, to):
    return softmax_along(axis, "softmax_rows", (x,), to[0], mode=LOG)


@compiled_kernel
def log_softmax_dx(dy, y, *, axis, to):
    return softmax_along(axis, "softmax_rows_dx", (dy, y), to[0], mode=LOG)


@compiled_kernel
def softmin_forward(x, *, axis, to):
    return softmax_along(axis, "softmax_rows", (x,), to[0], -1.0)


@compiled_kernel
def softmin_dx(dy, y, *, axis, to):
    return softmax_along(axis, "softmax_rows_dx", (dy, y), to[0], -1.0)
