"""What the losses of classes share on a GPU: targets, and the sums of losses and of weights."""

from minifp.numerics.formats import float32
from minifp.ops.losses.class_targets import class_axis
from minifp.ops.shaping.indexing_cuda import as_places
from minifp.runtime.cuda.arrays import empty, is_on_device
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import Text

TEXT = Text(__name__, "class_targets.cu")
PER = 2**15  # rows that a block adds up
WIDE = 1024  # threads of such a block


def as_labels(t):
    """Class numbers as kernels take them: of 32 or 64 bits, in C order; None if not on the GPU."""
    if not is_on_device(t):
        return None
    return as_places(t)


def classes_of(z):
    """How many classes scores have."""
    return z.shape[class_axis(z.ndim)]


def in_all(sums, count, divided):
    """The sum of `count` losses, or that over the sum of weights; see class_targets.cu."""
    module = TEXT(T="int64", W=float32, PER=PER, WIDE=WIDE)
    while True:
        blocks = max(1, -(-count // PER))
        out = empty((2, blocks) if blocks > 1 else (), float32)
        module.launch("loss_totals", blocks, WIDE, sums, out, count, int(divided))
        if blocks == 1:
            return out
        sums, count = out, blocks


def weight_of_all(t, w, n, ignored):
    """The weights of all rows, added up: t as by `as_labels`."""
    blocks = max(1, -(-t.size // PER))
    sums = empty((2, blocks), float32)
    module = TEXT(T=t.dtype, W=float32 if w is None else w.dtype, PER=PER, WIDE=WIDE)
    weights = (sums if w is None else contiguous(w)), sums
    module.launch(
        "row_weights", blocks, WIDE, t, *weights, t.size, n, int(w is not None), int(ignored)
    )
    return sums if blocks == 1 else in_all(sums, blocks, False)
