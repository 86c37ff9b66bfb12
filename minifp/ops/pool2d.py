"""Pooling over windows.   x: (N, C, H, W)  y: (N, C, P, Q), stored.

max: y = the largest of a window; which one it was is kept, a byte each, and gets the gradient.
average: y = the sum of a window over its size (padding counts, as in PyTorch), rounded once.
Windows that overlap add their gradients in float32.
"""

import numpy as np

from minifp.backend import kernel
from minifp.errors import ShapeError
from minifp.ops.conv2d import as_pair, output_size, pad, windows
from minifp.policy import GIVEN
from minifp.recording import op


@kernel("map", "x", "x")
def max_pool2d_forward(x, *, size, stride, padding, counts):
    padded = pad(x, padding, padding, -np.inf)
    candidates = [padded[place] for place in _places(size, stride, counts)]
    y = candidates[0].copy()
    for candidate in candidates[1:]:
        np.maximum(y, candidate, out=y)  # NaN wins
    chosen = np.zeros(y.shape, np.uint8 if len(candidates) <= 256 else np.int32)
    has_nan = np.isnan(y).any()
    for k in reversed(range(len(candidates))):  # so that the first of equal ones stays
        largest = candidates[k] == y
        np.copyto(chosen, k, where=largest | np.isnan(candidates[k]) if has_nan else largest)
    return y, chosen


def _places(size, stride, counts):
    """For each place in a window, the index of all windows' elements there."""
    for i in range(size[0]):
        for j in range(size[1]):
            rows = slice(i, i + stride[0] * (counts[0] - 1) + 1, stride[0])
            yield (
                slice(None),
                slice(None),
                rows,
                slice(j, j + stride[1] * (counts[1] - 1) + 1, stride[1]),
            )


@kernel("map", GIVEN)
def max_pool2d_dx(dy, chosen, *, x_shape, size, stride, padding):
    dx = _zeros_padded(x_shape, padding, dy.dtype)
    for k, place in enumerate(_places(size, stride, dy.shape[2:])):
        dx[place] += dy * (chosen == k)
    return _without_padding(dx, padding)


@kernel("reduce", "x")
def avg_pool2d_forward(x, *, size, stride, padding, counts, sum):
    w = windows(pad(x, padding, padding), size, stride, (1, 1), counts)
    return sum(w, axis=(4, 5)) / (size[0] * size[1])


@kernel("map", GIVEN)
def avg_pool2d_dx(dy, *, x_shape, size, stride, padding):
    dx = _zeros_padded(x_shape, padding, dy.dtype)
    share = dy / (size[0] * size[1])
    for place in _places(size, stride, dy.shape[2:]):
        dx[place] += share
    return _without_padding(dx, padding)


def _zeros_padded(x_shape, padding, dtype):
    n, c, h, w = x_shape
    return np.zeros((n, c, h + 2 * padding[0], w + 2 * padding[1]), dtype)


def _without_padding(x, padding):
    h, w = x.shape[2:]
    return x[:, :, padding[0] : h - padding[0], padding[1] : w - padding[1]]


def max_pool2d_backward(dy, chosen, x_shape, to, counts, **window):
    return (max_pool2d_dx(dy, chosen, x_shape=x_shape, to=to[0], **window),)


@op
def max_pool2d_(x, **window):
    y, chosen = max_pool2d_forward(x, **window)
    return y, (chosen, x.shape), max_pool2d_backward


def avg_pool2d_backward(dy, x_shape, to, counts, **window):
    return (avg_pool2d_dx(dy, x_shape=x_shape, to=to[0], **window),)


@op
def avg_pool2d_(x, **window):
    return avg_pool2d_forward(x, **window), (x.shape,), avg_pool2d_backward


def _window(name, x, kernel_size, stride, padding):
    if x.ndim != 4:
        raise ShapeError(f"{name}: x of shape {x.shape}: expected (N, C, H, W)")
    size, padding = as_pair(kernel_size, "kernel_size", 1), as_pair(padding, "padding", 0)
    stride = size if stride is None else as_pair(stride, "stride", 1)
    if any(2 * p > k for p, k in zip(padding, size)):
        raise ShapeError(f"{name}: padding={padding} must be at most half of kernel_size={size}")
    counts = tuple(map(output_size, x.shape[2:], size, stride, padding))
    if min(counts) < 1:
        raise ShapeError(f"{name}: a window of {size} does not fit x of shape {x.shape}")
    return {"size": size, "stride": stride, "padding": padding, "counts": counts}


def max_pool2d(x, kernel_size, stride=None, padding=0):
    """The largest of each window. stride: that of the windows, by default their size."""
    return max_pool2d_(x, **_window("max_pool2d", x, kernel_size, stride, padding))


def avg_pool2d(x, kernel_size, stride=None, padding=0):
    """The mean of each window, padding included. stride: by default the windows' size."""
    return avg_pool2d_(x, **_window("avg_pool2d", x, kernel_size, stride, padding))
