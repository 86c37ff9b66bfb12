"""The windows of pooling: where they lie, how to walk over them, and what pooling is given."""

from itertools import product
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from minifp.checks import check_flag
from minifp.errors import ShapeError
from minifp.ops.arguments import check_room, check_tensors, remembered
from minifp.ops.missing_axes import AXES, guess_axes
from minifp.ops.windows import as_sizes, padded, reach

BLOCK = 2**17  # numbers that are worked on at once: float32 in the L2 cache


class Axis(NamedTuple):
    """The windows along one axis of n places: as in windows.py; or, without a stride, `count` of
    them that cover all places evenly, window p from floor(p n / count) to ceil((p + 1) n / count).
    """

    n: int
    count: int  # type: ignore[assignment]  # hides a tuple's method, which nobody needs
    size: int  # of the largest
    stride: int | None = None
    padding: int = 0
    dilation: int = 1

    def first(self):
        """The first place of each window; before 0 it is padding."""
        p = np.arange(self.count)
        return p * self.n // self.count if self.stride is None else p * self.stride - self.padding

    def bounds(self):
        """Of each window, where the places begin and end that are no padding: two arrays."""
        first = self.first()
        if self.stride is None:
            return first, -(-(np.arange(self.count) + 1) * self.n // self.count)
        d, length = self.dilation, self.dilation * (self.size - 1) + 1
        return np.where(first >= 0, first, first % d), np.clip(first + length, 0, self.n)

    def slices(self):
        """For each window, the places in it that are no padding."""
        return [
            slice(a, b, self.dilation) for a, b in zip(*(ends.tolist() for ends in self.bounds()))
        ]

    def layers(self):
        """In how many layers no two windows overlap, if they are dealt out in turn."""
        if self.stride is not None:
            return min(-(-(self.dilation * (self.size - 1) + 1) // self.stride), self.count)
        starts, stops = self.bounds()
        return int((np.searchsorted(starts, stops) - np.arange(self.count)).max())


def walk_places(axes):
    """Whether to walk over the places in windows rather than over the windows: what is shorter."""
    regular = all(a.stride is not None for a in axes)
    return regular and prod(a.size for a in axes) <= prod(a.count for a in axes)


def geometry(axes):
    """(size, stride, dilation, counts) of regular windows."""
    return tuple(zip(*((a.size, a.stride, a.dilation, a.count) for a in axes)))


def surrounded(x, axes, value):
    """x with all the padding that regular windows see, and without what none sees."""
    return padded(x, [a.padding for a in axes], reach(*geometry(axes)), value)


def each_window(axes):
    """(place in y, places in x, layer) of every window."""
    layers, slices = tuple(a.layers() for a in axes), [a.slices() for a in axes]
    for p in product(*(range(a.count) for a in axes)):
        layer = np.ravel_multi_index([i % n for i, n in zip(p, layers)], layers)
        yield (..., *p), (..., *(s[i] for s, i in zip(slices, p))), layer


def flat(x, axes):
    """x (N, C, ...) or (C, ...) with one axis for all the pictures or sequences."""
    lead = x.shape[: x.ndim - len(axes)]
    return x.reshape(prod(lead), *x.shape[len(lead) :])


def blocks(x, copies):
    """Slices of x's first axis, of which `copies` are made at once."""
    step = max(1, BLOCK * len(x) // max(1, x.size * copies))
    return [slice(i, i + step) for i in range(0, len(x), step)]


# ---- what is given ------------------------------------------------------------------------------


def check_input(name, input, ndim):
    """Raise DTypeError or ShapeError for an input that cannot be pooled."""
    check_tensors(name, input=input)
    axes = ", ".join(AXES[ndim])
    if input.ndim not in (ndim + 1, ndim + 2):
        raise ShapeError(
            f"{name}: input of shape {input.shape}: expected (N, C, {axes}) or (C, {axes})"
            + guess_axes(input.shape, ndim)
        )
    if 0 in input.shape[-ndim:]:
        raise ShapeError(f"{name}: input of shape {input.shape} has nothing to pool")


def pool_axes(name, input, ndim, kernel_size, stride, padding, ceil_mode, dilation=1):
    """An Axis for each axis that is pooled. Raises ShapeError where no window fits."""
    check_input(name, input, ndim)
    check_flag(f"{name}: ceil_mode", ceil_mode)
    given = kernel_size, stride, padding, int(ceil_mode), dilation
    return axes_of(name, tuple(input.shape), ndim, *given)


@remembered
def axes_of(name, shape, ndim, kernel_size, stride, padding, ceil_mode, dilation):
    """The same for an input of this shape."""
    size = as_sizes(kernel_size, f"{name}: kernel_size", 1, ndim)
    padding = as_sizes(padding, f"{name}: padding", 0, ndim)
    dilation = as_sizes(dilation, f"{name}: dilation", 1, ndim)
    stride = size if stride is None else as_sizes(stride, f"{name}: stride", 1, ndim)
    if any(2 * p > k for p, k in zip(padding, size)):
        raise ShapeError(f"{name}: padding={padding} must be at most half of kernel_size={size}")
    given = tuple(zip(shape[-ndim:], size, stride, padding, dilation))
    counts = (_count(*sizes, ceil_mode) for sizes in given)
    axes = tuple(
        Axis(n, c, k, s if c > 1 else 1, p, d) for c, (n, k, s, p, d) in zip(counts, given)
    )
    if min(a.count for a in axes) < 1:
        raise ShapeError(f"{name}: a window of {size} does not fit input of shape {shape}")
    if any(np.greater_equal(*a.bounds()).any() for a in axes if a.padding):
        raise ShapeError(
            f"{name}: with dilation={dilation} and padding={padding}, a window of {size} would see "
            f"only padding around input of shape {shape}"
        )
    return axes


def _count(n, size, stride, padding, dilation, ceil_mode):
    """How many windows there are; those of ceil_mode may end behind the places, not begin there."""
    free = n + 2 * padding - dilation * (size - 1) - 1
    if not ceil_mode:
        return free // stride + 1
    count = -(-free // stride) + 1
    return count - 1 if (count - 1) * stride >= n + padding else count


def adaptive_axes(name, input, ndim, output_size):
    """The same for windows that cover everything evenly. output_size: None keeps a size."""
    check_input(name, input, ndim)
    sizes = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,)
    sizes, shape = sizes * ndim if len(sizes) == 1 else sizes, input.shape[-ndim:]
    if len(sizes) == ndim:
        sizes = tuple(n if s is None else s for s, n in zip(sizes, shape))
    counts = as_sizes(sizes, f"{name}: output_size", 1, ndim)
    check_room(name, (*input.shape[:-ndim], *counts))
    return tuple(
        Axis(n, c, n // c, n // c) if n % c == 0 else Axis(n, c, -(-(n + c - gcd(n, c)) // c))
        for n, c in zip(shape, counts)
    )
