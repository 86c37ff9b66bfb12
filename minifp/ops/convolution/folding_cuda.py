"""Kernels of folding.py for a GPU: the unfolding and folding of convolutions."""

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.convolution.conv_cuda import TEXT, unfolded, whole, windows_of
from minifp.ops.convolution.folding import counts_of
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import F32, FLOATS, cast
from minifp.runtime.cuda.rows import contiguous
from minifp.runtime.cuda.source import THREADS, blocks_for


def windows(size, kernel_size, dilation, padding, stride):
    """The windows of pictures of this size."""
    counts = counts_of(size, kernel_size, dilation, padding, stride)
    return windows_of(tuple(size), kernel_size, counts, stride, padding, dilation)


@compiled_kernel
def fold_forward(y, *, size, kernel_size, dilation, padding, stride, to):
    found = windows(size, kernel_size, dilation, padding, stride)
    dtype = to[0] or y.dtype
    if not FLOATS.issuperset((y.dtype, dtype)):
        return None
    N, C = y.shape[0], y.shape[1] // found.places
    x = empty((N, C, *size), dtype)
    if x.size:
        TEXT(X=F32, V=F32, Y=dtype).launch(
            "fold", blocks_for(x.size), THREADS, whole(y, F32), 0, x, N * C, C, *found.numbers
        )
    return x


@compiled_kernel
def unfold_columns(x, *, to, **window):
    if not FLOATS.issuperset((x.dtype, to[0])):
        return None
    found = windows(x.shape[2:], **window)
    shape = (len(x), x.shape[1] * found.places, found.count)
    if not x.size or not found.count:
        return empty(shape, to[0])
    if found.is_identity:
        return cast(x, to[0]).reshape(shape)
    return contiguous(unfolded(whole(x), False, found, 1, to[0])).reshape(shape)
