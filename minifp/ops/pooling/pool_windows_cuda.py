"""What the compiled kernels of pooling for a GPU share: their texts, and windows as kernels take
them."""

from math import prod

from minifp.ops.pooling.pool_windows import Axis
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import FLOATS, cast
from minifp.runtime.cuda.source import THREADS, Text, blocks_for

WARP = 32
MANY = 256  # places of a window that are worth a warp
ONE = Axis(1, 1, 1, 1)


class PoolText(Text):
    """A text that begins with that of windows."""

    def read(self):
        """What is in both files."""
        return Text(__name__, "pool_windows.cu").read() + super().read()


def both(axes):
    """The windows down and across a picture: sequences are pictures of one row."""
    return tuple(axes) if len(axes) == 2 else (ONE, *axes)


def numbers(axes):
    """Windows as kernels take them."""
    return [0 if v is None else int(v) for axis in both(axes) for v in axis]


def lanes(axes):
    """How many threads take a window."""
    return WARP if prod(a.size for a in axes) >= MANY else 1


def pictures(shape, axes):
    """How many pictures there are."""
    return prod(shape[: len(shape) - len(axes)])


def whole(x, dtype):
    """x in C order; None where kernels have not its format, or that of the result."""
    if not FLOATS.issuperset((x.dtype, dtype or x.dtype)):
        return None
    return x if x.flags.c_contiguous else cast(x, x.dtype)


def pooled(x, axes, dtype):
    """An array for what windows of x give."""
    return empty((*x.shape[: x.ndim - len(axes)], *(a.count for a in axes)), dtype)


def spread(dy, axes, dtype):
    """An array for the gradient of what windows saw."""
    return empty((*dy.shape[: dy.ndim - len(axes)], *(a.n for a in axes)), dtype)


def launch(module, name, axes, count, each, *args):
    """Launch a kernel that takes `count` windows or places, with `each` threads for one."""
    if count:
        module.launch(name, blocks_for(count * each), THREADS, *args, *numbers(axes))
