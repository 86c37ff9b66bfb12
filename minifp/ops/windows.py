"""Windows of pictures and sequences, along any number of axes: how many fit, and what they see.

Along one axis of n places, window p sees the places p stride - padding + i dilation, for i from 0
to size - 1. Those before 0 and from n on are padding.
"""

from itertools import product
from typing import Any

import numpy as np

from minifp.errors import ShapeError
from minifp.runtime.cuda.arrays import is_on_device, restrided

LARGEST = 2**31 - 1  # size, stride, padding or dilation: compiled kernels count places in int32


def as_sizes(value, name, least, ndim):
    """An integer, or `ndim` of them, as a tuple. Raises ShapeError below `least`."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    sizes = sizes * ndim if len(sizes) == 1 else sizes
    integers = all(isinstance(v, (int, np.integer)) and not isinstance(v, bool) for v in sizes)
    if len(sizes) != ndim or not integers or min(sizes) < least or max(sizes) > LARGEST:
        several = ("", ", or a pair of them", ", or three of them")[ndim - 1]
        most = f", at most {LARGEST}" if integers and max(sizes, default=0) > LARGEST else ""
        raise ShapeError(
            f"{name}={value!r}: expected an integer of at least {least}{most}{several}"
        )
    return tuple(int(v) for v in sizes)


def window_count(n, size, stride, padding, dilation=1):
    """How many windows fit along an axis of n places with `padding` at both ends."""
    return (n + 2 * padding - dilation * (size - 1) - 1) // stride + 1


def reach(size, stride, dilation, counts):
    """For each axis, how many places there are from the first of all windows to their last."""
    return tuple(
        (c - 1) * s + d * (k - 1) + 1 for k, s, d, c in zip(size, stride, dilation, counts)
    )


def padded(x, before, length, value=0.0):
    """The places -before to length - before - 1 of x's last axes; `value` where x has none.

    x itself where that is all of it, a view where x has them all.
    """
    shape = x.shape[x.ndim - len(length) :]
    first = tuple(max(-b, 0) for b in before)
    last = tuple(min(m - b, n) for m, b, n in zip(length, before, shape))
    where: tuple[Any, ...] = (..., *(slice(f, max(e, f)) for f, e in zip(first, last)))
    inside = x[where]
    if inside.shape[x.ndim - len(length) :] == tuple(length):
        return inside
    sizes = *x.shape[: x.ndim - len(length)], *length
    y = np.full_like(x, value, order="C", shape=sizes)
    starts = [max(b, 0) for b in before]
    sizes = inside.shape[x.ndim - len(length) :]
    where = (..., *(slice(s, s + n) for s, n in zip(starts, sizes)))
    y[where] = inside
    return y


def windows(x, size, stride, dilation, counts):
    """View (N, C, *counts, *size) of the windows of x (N, C, ...), which has no padding left."""
    strides = x.strides[2:]
    shape = *x.shape[:2], *counts, *size
    steps = (
        *x.strides[:2],
        *(n * s for n, s in zip(strides, stride)),
        *(n * d for n, d in zip(strides, dilation)),
    )
    if is_on_device(x):  # NumPy does not hand it on
        return restrided(x, shape, steps)
    return np.lib.stride_tricks.as_strided(x, shape, steps, writeable=False)


def places(size, stride, dilation, counts):
    """For each place in a window, in C order, the index of what all windows see there."""
    for place in product(*map(range, size)):
        starts = [i * d for i, d in zip(place, dilation)]
        ends = [i + s * (c - 1) + 1 for i, s, c in zip(starts, stride, counts)]
        yield (..., *map(slice, starts, ends, stride))
