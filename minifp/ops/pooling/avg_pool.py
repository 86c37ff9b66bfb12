"""Average pooling.   x: (N, C, H, W)  y: (N, C, P, Q), stored; (N, C, L) likewise.

    y = the sum of a window over its size, rounded once;   dx = the sum of dy / size over windows

Padding counts, as in PyTorch, unless it is told not to. The gradients of windows that overlap are
laid beside each other and summed at once. Both sums are in `reduce`.
"""

from math import prod

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag
from minifp.errors import ArgumentError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.pooling import pool_windows
from minifp.ops.public import public
from minifp.ops.windows import padded, places, reach
from minifp.typing import Ints


def divisor(axes, include_pad, override, dtype):
    """By what the sum of each window is divided: a number for each, or one for all."""
    if override is not None:
        return dtype.type(override)
    sizes = np.ones((), dtype)
    for a in axes:
        if include_pad and a.stride is not None:
            inside = np.minimum(a.first() + a.size, a.n + a.padding) - a.first()
        else:
            start, stop = a.bounds()
            inside = stop - start
        sizes = np.multiply.outer(sizes, np.array(inside, dtype))
    return sizes


@kernel("reduce", "x")
def avg_pool_forward(x, *, axes, include_pad, override, sum):
    lead = x.shape[: x.ndim - len(axes)]
    y = np.empty((*lead, *(a.count for a in axes)), x.dtype, like=x)
    if pool_windows.walk_places(axes):
        around, out = (
            pool_windows.flat(pool_windows.surrounded(x, axes, 0.0), axes),
            pool_windows.flat(y, axes),
        )
        seen = list(places(*pool_windows.geometry(axes)))
        for block in pool_windows.blocks(out, len(seen)):
            out[block] = sum(np.stack([around[block][place] for place in seen]), axis=0)
    else:
        for window, seen, _ in pool_windows.each_window(axes):
            y[window] = sum(x[seen], axis=tuple(range(-len(axes), 0)))
    return y / np.asarray(divisor(axes, include_pad, override, x.dtype), like=x)


@kernel("reduce", GIVEN)
def avg_pool_dx(dy, *, axes, include_pad, override, sum):
    lead = dy.shape[: dy.ndim - len(axes)]
    by = np.asarray(divisor(axes, include_pad, override, dy.dtype), like=dy)
    share = pool_windows.flat(dy / by, axes)
    dx = np.empty((len(share), *(a.n for a in axes)), dy.dtype, like=dy)
    layers = prod(a.layers() for a in axes)
    lay = lay_places if pool_windows.walk_places(axes) else lay_windows
    for block in pool_windows.blocks(dx, layers):
        parts = lay(share[block], axes, layers)
        dx[block] = sum(parts, axis=0) if layers > 1 else parts[0]
    return dx.reshape(*lead, *dx.shape[1:])


def lay_places(share, axes, layers):
    """What windows give to the places of x, in layers (layers, B, ...) that are to be summed.

    The windows that see one place see it a stride apart: each of these turns has a layer.
    """
    size, stride, dilation, counts = pool_windows.geometry(axes)
    each, length = [a.layers() for a in axes], reach(size, stride, dilation, counts)
    parts = np.zeros((layers, len(share), *length), share.dtype, like=share)
    for place, seen in zip(np.ndindex(*size), places(size, stride, dilation, counts)):
        layer = np.ravel_multi_index([i // s % n for i, s, n in zip(place, stride, each)], each)
        parts[layer][seen] = share
    return padded(parts, [-a.padding for a in axes], [a.n for a in axes])


def lay_windows(share, axes, layers):
    """The same as lay_places, walking over the windows: (layers, B, ...)."""
    sizes = layers, len(share), *(a.n for a in axes)
    parts = np.zeros(sizes, share.dtype, like=share)
    stretched = (..., *(None,) * len(axes))
    for window, seen, layer in pool_windows.each_window(axes):
        parts[layer][seen] = share[window][stretched]
    return parts


def avg_pool_backward(dy, to, **settings):
    return (avg_pool_dx(dy, to=to[0], **settings),)


def avg_pool(x, **settings):
    return avg_pool_forward(x, **settings), (), avg_pool_backward


OPERATIONS = {
    name: op(avg_pool, name=name)
    for name in ("avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d")
}


def pooled(name, input, axes, count_include_pad=True, divisor_override=None):
    """The averages, with the settings checked."""
    check_flag(f"{name}: count_include_pad", count_include_pad)
    override = divisor_override
    integer = isinstance(override, (int, np.integer)) and not isinstance(override, bool)
    if override is not None and (not integer or override == 0):
        raise ArgumentError(
            f"{name}: divisor_override={override!r}: expected an integer other than 0"
        )
    return OPERATIONS[name](input, axes=axes, include_pad=count_include_pad, override=override)


@public("fp F", autocast="wide_sum")
@takes_tensor
def avg_pool1d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of (N, C, L) or (C, L); arguments as in avg_pool2d."""
    axes = pool_windows.pool_axes("avg_pool1d", input, 1, kernel_size, stride, padding, ceil_mode)
    return pooled("avg_pool1d", input, axes, count_include_pad)


@public("F", autocast="wide_sum")
@takes_tensor
def avg_pool2d(
    input: Tensor,
    kernel_size: Ints,
    stride: Ints | None = None,
    padding: Ints = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of (N, C, H, W) or (C, H, W).

    kernel_size, stride (by default the windows' size), padding: an integer or a pair. ceil_mode:
    count windows that reach beyond the end, too. count_include_pad: whether padding counts in what
    the sum is divided by. divisor_override: an integer to divide by instead.
    """
    axes = pool_windows.pool_axes("avg_pool2d", input, 2, kernel_size, stride, padding, ceil_mode)
    return pooled("avg_pool2d", input, axes, count_include_pad, divisor_override)


@public("fp F", autocast="wide_sum")
@takes_tensor
def adaptive_avg_pool1d(input: Tensor, output_size: Ints | tuple[int | None, ...]) -> Tensor:
    """The mean of each of `output_size` windows that cover (N, C, L) or (C, L) evenly."""
    axes = pool_windows.adaptive_axes("adaptive_avg_pool1d", input, 1, output_size)
    return pooled("adaptive_avg_pool1d", input, axes)


@public("F", autocast="wide_sum")
@takes_tensor
def adaptive_avg_pool2d(input: Tensor, output_size: Ints | tuple[int | None, ...]) -> Tensor:
    """The mean of each of the windows that cover (N, C, H, W) or (C, H, W) evenly.

    output_size: how many windows along both axes, or a pair, in which None keeps a size.
    """
    axes = pool_windows.adaptive_axes("adaptive_avg_pool2d", input, 2, output_size)
    return pooled("adaptive_avg_pool2d", input, axes)
