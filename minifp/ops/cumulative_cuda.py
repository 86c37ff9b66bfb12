"""The twins of cumulative.py for a GPU: running sums; products are left to the CPU."""

from minifp.cpu import twin
from minifp.cuda.arrays import empty
from minifp.cuda.pointwise import FLOATS
from minifp.cuda.rows import contiguous, rows_along
from minifp.cuda.source import THREADS, Text, blocks_for
from minifp.formats import float32

TEXT = Text(__name__, "cumulative.cu")


def summed(x, axis, dtype, backward):
    """The running sums along an axis; None for what there is no kernel for."""
    dtype = dtype or (x.dtype if x.ndim else float32)
    if not x.ndim or not FLOATS.issuperset((x.dtype, dtype)):
        return None
    x, y = contiguous(x), empty(x.shape, dtype)
    if y.size:
        rows = rows_along(x.shape, axis)
        group = 32 if rows.step == 1 and rows.n > 1 else 1
        sizes = rows.rows, rows.n, rows.step, group, backward
        blocks = blocks_for(rows.rows * group)
        TEXT(X=x.dtype, Y=dtype).launch("cumsum", blocks, THREADS, x, y, *sizes)
    return y


@twin
def cumsum_forward(x, *, axis, to):
    return summed(x, axis, to[0], 0)


@twin
def cumsum_dx(dy, *, axis, to):
    return summed(dy, axis, to[0], 1)
