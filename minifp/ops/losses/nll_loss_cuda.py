"""Kernels of nll_loss.py for a GPU. A target that is no class gives NaN, as in cross_entropy."""

import math

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.ops.losses.class_targets_cuda import as_labels, classes_of, in_all, weight_of_all
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import THREADS, Text, blocks_for

TEXT = Text(__name__, "nll_loss.cu")


def losses(x, t, w, ignored, dtype=None):
    """The losses of rows, in `dtype`; without it in float32, with what the rows weigh behind."""
    shape, t, weighted, stored = t.shape, as_labels(t), int(w is not None), int(dtype is not None)
    x, w = contiguous(x), x if w is None else contiguous(w)
    if t is None or not FLOATS.issuperset((x.dtype, w.dtype)):
        return None
    out = empty(shape, dtype) if stored else empty((2, t.size), float32)
    if out.size:
        sizes = t.size, classes_of(x), math.prod(x.shape[2:]), weighted, int(ignored), stored
        module = TEXT(X=x.dtype, T=t.dtype, W=w.dtype, D=float32, L=out.dtype)
        module.launch("nll_losses", blocks_for(t.size), THREADS, x, t, w, out, out, *sizes)
    return out


@compiled_kernel
def nll_loss_each(x, t, w, *, ignore_index, to):
    return losses(x, t, w, ignore_index, to[0])


@compiled_kernel
def nll_loss_total(x, t, w, *, ignore_index, reduction, to):
    sums = losses(x, t, w, ignore_index)
    return None if sums is None else in_all(sums, sums.shape[1], reduction == "mean")


@compiled_kernel
def nll_loss_dx(dl, x, t, w, *, ignore_index, reduction, to):
    t, dl, n, weights = as_labels(t), contiguous(dl), classes_of(x), dl if w is None else w
    if t is None or not FLOATS.issuperset((dl.dtype, weights.dtype, to[0])):
        return None
    dx = empty(x.shape, to[0])
    if dx.size:
        divided = int(reduction == "mean")
        all = weight_of_all(t, w, n, ignore_index) if divided else dl
        sizes = dx.size, n, math.prod(x.shape[2:])
        settings = int(w is not None), int(ignore_index), int(dl.ndim > 0), divided
        module = TEXT(X=x.dtype, T=t.dtype, W=weights.dtype, D=dl.dtype, L=to[0])
        arrays = dl, t, contiguous(weights), all, dx
        module.launch("nll_gradients", blocks_for(dx.size), THREADS, *arrays, *sizes, *settings)
    return dx
