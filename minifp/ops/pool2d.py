"""Pooling over windows.   x: (N, C, H, W)  y: (N, C, P, Q), stored.

max: y = the largest of a window; which one it was is kept, a byte each, and gets the gradient.
average: y = the sum of a window over its size (padding counts, as in PyTorch), rounded once.
Windows that overlap add their gradients in `reduce`.
"""

import numpy as np

from minifp.backend import kernel
from minifp.errors import ShapeError
from minifp.ops.conv2d import as_pair, output_size, pad, windows
from minifp.policy import GIVEN
from minifp.recording import op, takes_tensor


@kernel("map", "x", "x")
def max_pool2d_forward(x, *, size, stride, padding, counts):
    padded, places = pad(x, padding, padding, -np.inf), list(_places(size, stride, counts))
    candidates = [padded[place] for place in places]
    y = candidates[0].copy()
    for candidate in candidates[1:]:
        np.maximum(y, candidate, out=y)  # NaN wins
    chosen = np.zeros(y.shape, np.uint8 if len(candidates) <= 256 else np.int32)
    has_nan = np.isnan(y).any()
    for k in reversed(range(len(candidates))):  # so that the first of equal ones stays
        largest = candidates[k] == y
        np.copyto(chosen, k, where=largest | np.isnan(candidates[k]) if has_nan else largest)
    if padding != (0, 0) and np.isneginf(y).any():  # where the padding must not be chosen
        inside = pad(np.ones_like(x, bool), padding, padding, False)
        for k in reversed(range(len(candidates))):
            np.copyto(chosen, k, where=np.isneginf(y) & inside[places[k]])
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


@kernel("reduce", GIVEN)
def max_pool2d_dx(dy, chosen, *, x_shape, size, stride, padding, sum):
    parts = (dy * (chosen == k) for k in range(size[0] * size[1]))
    return _add_windows(parts, dy, x_shape, size, stride, padding, sum)


@kernel("reduce", "x")
def avg_pool2d_forward(x, *, size, stride, padding, counts, sum):
    w = windows(pad(x, padding, padding), size, stride, (1, 1), counts)
    return sum(w, axis=(4, 5)) / (size[0] * size[1])


@kernel("reduce", GIVEN)
def avg_pool2d_dx(dy, *, x_shape, size, stride, padding, sum):
    share = dy / (size[0] * size[1])
    parts = (share for _ in range(size[0] * size[1]))
    return _add_windows(parts, dy, x_shape, size, stride, padding, sum)


def _add_windows(parts, dy, x_shape, size, stride, padding, sum):
    """dx (N, C, H, W): for each place in the windows, its part (N, C, P, Q) of every window."""
    n, c, h, w = x_shape
    dx = np.zeros((n, c, h + 2 * padding[0], w + 2 * padding[1]), dy.dtype)
    overlap = stride[0] < size[0] or stride[1] < size[1]
    for place, part in zip(_places(size, stride, dy.shape[2:]), parts):
        dx[place] = sum(np.stack([dx[place], part]), axis=0) if overlap else part
    return dx[:, :, padding[0] : h + padding[0], padding[1] : w + padding[1]]


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
    size = as_pair(kernel_size, f"{name}: kernel_size", 1)
    padding = as_pair(padding, f"{name}: padding", 0)
    stride = size if stride is None else as_pair(stride, f"{name}: stride", 1)
    if any(2 * p > k for p, k in zip(padding, size)):
        raise ShapeError(f"{name}: padding={padding} must be at most half of kernel_size={size}")
    counts = tuple(map(output_size, x.shape[2:], size, stride, padding))
    if min(counts) < 1:
        raise ShapeError(f"{name}: a window of {size} does not fit x of shape {x.shape}")
    return {"size": size, "stride": stride, "padding": padding, "counts": counts}


@takes_tensor
def max_pool2d(input, kernel_size, stride=None, padding=0):
    """The largest of each window. stride: that of the windows, by default their size."""
    return max_pool2d_(input, **_window("max_pool2d", input, kernel_size, stride, padding))


@takes_tensor
def avg_pool2d(input, kernel_size, stride=None, padding=0):
    """The mean of each window, padding included. stride: by default the windows' size."""
    return avg_pool2d_(input, **_window("avg_pool2d", input, kernel_size, stride, padding))
