"""A factory for the compiled kernels, for a GPU, of losses element by element: see loss.py."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cuda.pointwise import Formula, run, summed, summed_to


def kernels_of(value, x_slope, t_slope):
    """(each, total, dx, dt) of the loss value(x, t, w, p).

    The slopes are functions of (x, t, w, p, dl, share), and times both of these. A weight that is
    None is 1.
    """
    losses, x_slopes, t_slopes = Formula(value), Formula(x_slope), Formula(t_slope)

    def given(*args):
        return tuple([1.0 if a is None else a for a in args])

    def gradient(slopes, dl, args, divisor, shape, to):
        whole = np.broadcast_shapes(args[0].shape, args[1].shape)
        return summed_to(slopes, given(*args, dl), whole, shape, to[0], (1 / divisor,))

    @compiled_kernel
    def each(x, t, w, p, *, to):
        return run(losses, given(x, t, w, p), to[0], ())

    @compiled_kernel
    def total(x, t, w, p, *, divisor, to):
        axes = tuple(range(max(x.ndim, t.ndim)))
        if not x.size or not t.size:
            return None
        return summed(losses, given(x, t, w, p), axes, to[0], (), 1 / divisor)

    @compiled_kernel
    def dx(dl, x, t, w, p, *, divisor, to):
        return gradient(x_slopes, dl, (x, t, w, p), divisor, x.shape, to)

    @compiled_kernel
    def dt(dl, x, t, w, p, *, divisor, to):
        return gradient(t_slopes, dl, (x, t, w, p), divisor, t.shape, to)

    return each, total, dx, dt
