"""The twin of stretching.py for a GPU: what was repeated lies along axes of its own."""

from minifp.runtime.cpu import twin
from minifp.runtime.cuda.pointwise import F32, sum_over


@twin
def repeat_dx(dy, *, shape, wide, to):
    dtype = to[0] or (dy.dtype if shape else F32)
    dx = sum_over(dy.reshape(wide), tuple(range(0, len(wide), 2)), dtype)
    return None if dx is None else dx.reshape(shape)
