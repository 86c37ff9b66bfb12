"""Kernels of gather_scatter.py for a GPU: each number is a row of its own, see indexing_cuda.py."""

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.shaping.indexing_cuda import add_places, flat_places, read_places
from minifp.runtime.cuda.arrays import zeros
from minifp.runtime.cuda.pointwise import FLOATS, cast


def within(x, index, axis):
    """The part of x that an index reaches: it may be shorter along the other axes."""
    sizes = [slice(None) if k == axis else slice(n) for k, n in enumerate(index.shape)]
    return x[tuple(sizes)]


def gathered(x, index, axis):
    """x at the places that index names along an axis: NaN where there is none. None if not ours."""
    x = within(x, index, axis)
    if x.dtype not in FLOATS:
        return None
    y = read_places(x.reshape(1, -1, 1), flat_places(x, index, axis))
    return y.reshape(index.shape)


def added(src, index, axis, shape, dtype, base=None):
    """base + the numbers of src at the places that index names along an axis of a shape."""
    if not FLOATS.issuperset((dtype, src.dtype)):
        return None
    y = zeros(shape, dtype) if base is None else cast(base, dtype)
    part = within(y, index, axis)
    places = flat_places(part, index, axis)
    base = None if base is None else within(base, index, axis).reshape(1, -1, 1)
    part[...] = add_places(src.reshape(1, -1, 1), places, part.size, dtype, base).reshape(
        part.shape
    )
    return y


@compiled_kernel
def gather_dx(dy, index, *, axis, shape, to):
    return added(dy, index, axis, tuple(shape), to[0] or dy.dtype)


@compiled_kernel
def scatter_add_forward(x, src, index, *, axis, to):
    src = src[tuple(slice(n) for n in index.shape)]
    return added(src, index, axis, x.shape, to[0] or x.dtype, x)
