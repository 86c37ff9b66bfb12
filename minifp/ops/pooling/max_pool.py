"""Max pooling.   x: (N, C, H, W)  y: (N, C, P, Q), stored; (N, C, L) likewise.

    y = the largest of a window;   dx = dy at the place of the largest (the first, if several)

Which place of the window it was is kept, a byte each. The gradients of windows that overlap are
laid into as many layers, so that in one layer no two overlap, and summed at once, in `reduce`.
"""

from math import prod
from typing import Any

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.pooling.pool_windows import (
    adaptive_axes,
    blocks,
    each_window,
    flat,
    geometry,
    pool_axes,
    surrounded,
    walk_places,
)
from minifp.ops.public import public
from minifp.ops.windows import places
from minifp.runtime.device import device_of, moved
from minifp.typing import Ints


@kernel("map", "x", "x")
def max_pool_forward(x, *, axes):
    kind = np.uint8 if prod(a.size for a in axes) <= 256 else np.int32
    return (largest_by_places if walk_places(axes) else largest_by_windows)(x, axes, kind)


def largest_by_places(x, axes, kind):
    """The largest of each window, and which of its places that is."""
    around, seen = surrounded(x, axes, -np.inf), list(places(*geometry(axes)))
    y = around[seen[0]].copy()
    for place in seen[1:]:
        np.maximum(y, around[place], out=y)  # NaN wins
    chosen, has_nan = np.zeros(y.shape, kind, like=x), np.isnan(y).any()
    for k in reversed(range(len(seen))):  # so that the first of equal ones stays
        candidate = around[seen[k]]
        largest = candidate == y
        np.copyto(chosen, k, where=largest | np.isnan(candidate) if has_nan else largest)
    if any(a.padding for a in axes) and np.isneginf(y).any():  # padding must not be chosen
        inside = surrounded(np.ones_like(x, bool), axes, False)
        for k in reversed(range(len(seen))):
            np.copyto(chosen, k, where=np.isneginf(y) & inside[seen[k]])
    return y, chosen


def largest_by_windows(x, axes, kind):
    """The same, where there are fewer windows than places in one, or windows of several sizes."""
    lead, sizes = x.shape[: x.ndim - len(axes)], [a.size for a in axes]
    y = np.empty((*lead, *(a.count for a in axes)), x.dtype, like=x)
    chosen, firsts = np.empty(y.shape, kind, like=x), [a.first() for a in axes]
    for window, seen, _ in each_window(axes):
        candidates = x[seen]
        shape = candidates.shape[len(lead) :]
        candidates = candidates.reshape(*lead, prod(shape))
        found = np.unravel_index(candidates.argmax(-1), shape)
        skipped = [
            (s.start - f[p]) // a.dilation for s, f, p, a in zip(seen[1:], firsts, window[1:], axes)
        ]
        chosen[window] = np.ravel_multi_index([i + s for i, s in zip(found, skipped)], sizes)
        y[window] = candidates.max(-1)
    return y, chosen


def places_of(chosen, axes):
    """Where the chosen ones lie: their numbers in each picture or sequence, in C order."""
    base, offset = np.zeros((), np.intp), np.zeros((), np.intp)
    for a in axes:
        base = base[..., None] * a.n + a.first()
        offset = offset[..., None] * a.n + np.arange(a.size) * a.dilation
    base, offset = (np.asarray(a, like=chosen) for a in (base, offset.reshape(-1)))
    return base + offset[chosen]


@kernel("reduce", GIVEN)
def max_pool_dx(dy, chosen, *, axes, sum):
    lead, layers = dy.shape[: dy.ndim - len(axes)], prod(a.layers() for a in axes)
    dx = np.empty((prod(lead), prod(a.n for a in axes)), dy.dtype, like=dy)
    dy, chosen, layer = flat(dy, axes), flat(chosen, axes), np.zeros((), np.intp)
    for a in axes:
        layer = layer[..., None] * a.layers() + np.arange(a.count) % a.layers()
    for block in blocks(dx, layers):
        parts = np.zeros((layers, *dx[block].shape), dy.dtype, like=dy)
        places = places_of(chosen[block], axes)
        where = places + np.asarray(layer * dx[block].size, like=dy)
        rows = np.arange(len(where), like=dy).reshape(-1, *(1,) * len(axes))
        where += rows * dx.shape[1]
        parts.reshape(-1)[where] = dy[block]
        dx[block] = sum(parts, axis=0) if layers > 1 else parts[0]
    return dx.reshape(*lead, *(a.n for a in axes))


def max_pool_backward(dy, chosen, to, axes):
    return (max_pool_dx(dy, chosen, axes=axes, to=to[0]),)


def max_pool(x, *, axes):
    y, chosen = max_pool_forward(x, axes=axes)
    return y, (chosen,), max_pool_backward


OPERATIONS = {
    name: op(max_pool, name=name)
    for name in ("max_pool1d", "max_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d")
}


def pooled(name, input, axes, return_indices):
    """y, and if they are asked for the places of the largest in each picture or sequence."""
    check_flag(f"{name}: return_indices", return_indices)
    y = OPERATIONS[name](input, axes=axes)
    if not return_indices:
        return y
    array = input.array if isinstance(input, Tensor) else input
    chosen = moved(max_pool_forward(array, axes=axes)[1], "cpu")
    places = np.asarray(places_of(chosen, axes), np.int64)
    return y, Tensor(moved(places, device_of(array)))


@public("fp F", autocast="exact")
@takes_tensor
def max_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest of each window of (N, C, L) or (C, L); arguments as in max_pool2d."""
    axes = pool_axes("max_pool1d", input, 1, kernel_size, stride, padding, ceil_mode, dilation)
    return pooled("max_pool1d", input, axes, return_indices)


@public("fp F", autocast="exact")
@takes_tensor
def max_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    dilation: Ints = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest of each window of (N, C, H, W) or (C, H, W).

    kernel_size, stride (by default the windows' size), padding, dilation: an integer or a pair.
    ceil_mode: count windows that reach beyond the end, too. return_indices: also return where in
    its picture each one was (int64, in C order).
    """
    axes = pool_axes("max_pool2d", input, 2, kernel_size, stride, padding, ceil_mode, dilation)
    return pooled("max_pool2d", input, axes, return_indices)


@public("fp F", autocast="exact")
@takes_tensor
def adaptive_max_pool1d(
    input: Tensor, output_size: Ints | tuple[int | None, ...], return_indices: bool = False
) -> Any:
    """The largest of `output_size` windows that cover (N, C, L) or (C, L) evenly."""
    axes = adaptive_axes("adaptive_max_pool1d", input, 1, output_size)
    return pooled("adaptive_max_pool1d", input, axes, return_indices)


@public("F", autocast="exact")
@takes_tensor
def adaptive_max_pool2d(
    input: Tensor, output_size: Ints | tuple[int | None, ...], return_indices: bool = False
) -> Any:
    """The largest of windows that cover (N, C, H, W) or (C, H, W) evenly.

    output_size: how many windows along both axes, or a pair, in which None keeps a size.
    """
    axes = adaptive_axes("adaptive_max_pool2d", input, 2, output_size)
    return pooled("adaptive_max_pool2d", input, axes, return_indices)
