"""Kernels of layer_norm.py for a GPU, and of rms_norm.py, which is the same without means.

Each row by a warp or a block; gradients of parameters are sums over columns: batch_norm_cuda.py.
"""

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.normalization.batch_norm_cuda import (
    Planes,
    gradient_sums,
    known,
    pointer,
    single,
    stored,
)
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import F32
from minifp.runtime.cuda.rows import contiguous, rows_along
from minifp.runtime.cuda.source import Text

TEXT = Text(__name__, "layer_norm.cu")


def normalised(x, w, b, eps, centred, to):
    """(y, m, r) of rows of x, m being None if they are not centred; None for other formats."""
    shape = (*x.shape[:-1], 1)
    if not known(to, x) or not x.shape[-1]:
        return None
    y, r, m = empty(x.shape, to[0]), empty(shape, F32), empty(shape, F32) if centred else None
    if x.size:
        x, w, b, rows = contiguous(x), single(w), single(b), rows_along(x.shape, -1)
        packed = rows.packed(*(a for a in (x, y, w, b) if a is not None))
        TEXT(X=x.dtype, D=x.dtype, Y=to[0], PACKED=packed).launch(
            *("layer_norm_rows", rows.blocks, rows.threads, x, pointer(w), pointer(b)),
            *(y, pointer(m), r, *rows.sizes, eps, int(centred)),
        )
    return y, m, r


def gradients(dy, x, w, m, r, to):
    """(dx, (dw, db)), the latter in float32; None for other formats. m: None for 0."""
    if not known(to, dy, x):
        return None
    dy, x, w, m, r = contiguous(dy), contiguous(x), single(w), single(m), single(r)
    dx = empty(x.shape, to[0])
    if x.size:
        rows = rows_along(x.shape, -1)
        packed = rows.packed(*(a for a in (dy, x, dx, w) if a is not None))
        TEXT(X=x.dtype, D=dy.dtype, Y=to[0], PACKED=packed).launch(
            *("layer_norm_dx", rows.blocks, rows.threads, dy, x, pointer(w), pointer(m), r, dx),
            *rows.sizes,
        )
    return dx, gradient_sums(dy, x, m, r, Planes(r.size, x.shape[-1], 1), by_row=True)


@compiled_kernel
def layer_norm_forward(x, w, b, *, eps, to):
    found = normalised(x, w, b, eps, True, to)
    return found and tuple(map(stored, found, to))


@compiled_kernel
def layer_norm_dx(dy, x, w, m, r, *, to):
    found = gradients(dy, x, w, m, r, to)
    return found and (found[0], stored(found[1][0], to[1]), stored(found[1][1], to[2]))
