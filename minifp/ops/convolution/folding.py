"""Sliding windows as columns, and back.

    unfold:  y[n, (c, i, j), (p, q)] = x[n, c, s p + d i - pad, s q + d j - pad],  0 beyond x
    fold:    x[n, c, h, w] = the sum of y[n, (c, i, j), (p, q)] whose place that is

x: (N, C, H, W)  y: (N, C KH KW, P Q), or both without N; all stored. Each is the gradient of the
other. unfold copies; what meets at a place in fold is summed in `reduce` and rounded once.
Source: Chellapilla et al. 2006, "High performance convolutional neural networks".
"""

import math

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.public import public
from minifp.ops.shaping.indexing import add_rows
from minifp.ops.shaping.shape import reshape
from minifp.ops.windows import as_sizes, window_count, windows
from minifp.runtime.cuda.arrays import is_on_device
from minifp.typing import Ints


def counts_of(size, kernel_size, dilation, padding, stride):
    """How many windows fit along each of two axes."""
    return tuple(map(window_count, size, kernel_size, stride, padding, dilation))


def columns_of(x, kernel_size, dilation, padding, stride):
    """unfold of x (N, C, H, W), by copying."""
    counts = counts_of(x.shape[2:], kernel_size, dilation, padding, stride)
    x = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in padding)))
    y = windows(x, kernel_size, stride, dilation, counts).transpose(0, 1, 4, 5, 2, 3)
    return y.reshape(len(x), x.shape[1] * math.prod(kernel_size), math.prod(counts))


@kernel("reduce", "y")
def fold_forward(y, *, size, kernel_size, dilation, padding, stride, sum):
    n, c = y.shape[0], y.shape[1] // (kernel_size[0] * kernel_size[1])
    h, w = size
    # The number of each place, or h w where a window reaches into the padding.
    places = np.pad(np.arange(h * w).reshape(h, w) + 1, [(p, p) for p in padding])[None, None] - 1
    places = columns_of(places % (h * w + 1), kernel_size, dilation, (0, 0), stride)
    rows = y.reshape(n * c, places.size).T
    return add_rows(rows, places.reshape(-1), h * w + 1, sum)[:-1].T.reshape(n, c, h, w)


@kernel("map", GIVEN)
def unfold_columns(x, **window):
    return columns_of(x, **window)


def unfold_backward(dy, size, to, **window):
    return (fold_forward(dy, size=size, to=to[0], **window),)


@op
def unfold_op(x, **window):
    y = unfold_columns(x, to=x.dtype, **window) if is_on_device(x) else columns_of(x, **window)
    return y, (x.shape[2:],), unfold_backward


def fold_backward(dy, to, size, **window):
    return (unfold_columns(dy, to=to[0], **window),)


@op
def fold_op(y, *, size, **window):
    return fold_forward(y, size=size, **window), (), fold_backward


def as_window(name, kernel_size, dilation, padding, stride):
    """The window's settings as pairs."""
    given = {"kernel_size": kernel_size, "dilation": dilation, "stride": stride}
    pairs = {key: as_sizes(value, f"{name}: {key}", 1, 2) for key, value in given.items()}
    return {**pairs, "padding": as_sizes(padding, f"{name}: padding", 0, 2)}


def check_windows(name, size, window):
    """How many windows fit. Raises ShapeError where there is none."""
    counts = counts_of(size, **window)
    if min(counts) < 1:
        raise ShapeError(
            f"{name}: a window of {window['kernel_size']} with dilation {window['dilation']} does "
            f"not fit a picture of {tuple(size)} with padding {window['padding']}"
        )
    return counts


@public("F", autocast="exact")
@takes_tensor
def unfold(
    input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """The windows of pictures as columns: (N, C, H, W) as (N, C KH KW, L), L windows row by row.

    kernel_size, dilation, padding, stride: an integer or a pair. input may lack N, and then so does
    the result. Raises ShapeError where no window fits.
    """
    window = as_window("unfold", kernel_size, dilation, padding, stride)
    if input.ndim not in (3, 4):
        raise ShapeError(
            f"unfold: input of shape {input.shape}: expected (N, C, H, W) or (C, H, W)"
        )
    check_windows("unfold", input.shape[-2:], window)
    if input.ndim == 4:
        return unfold_op(input, **window)
    y = unfold_op(reshape(input, 1, *input.shape), **window)
    return reshape(y, y.shape[1:])


@public("F", autocast="wide_sum")
@takes_tensor
def fold(
    input: Tensor,
    output_size: Ints,
    kernel_size: Ints,
    dilation: Ints = 1,
    padding: Ints = 0,
    stride: Ints = 1,
) -> Tensor:
    """Columns (N, C KH KW, L) as pictures (N, C, H, W) of output_size, overlapping ones summed.

    The other arguments are those of `unfold`, which made such columns. input may lack N. Raises
    ShapeError where the columns are not those of such windows.
    """
    window = as_window("fold", kernel_size, dilation, padding, stride)
    size = as_sizes(output_size, "fold: output_size", 1, 2)
    kh, kw = window["kernel_size"]
    counts = check_windows("fold", size, window)
    if (
        input.ndim not in (2, 3)
        or input.shape[-2] % (kh * kw)
        or input.shape[-1] != counts[0] * counts[1]
    ):
        raise ShapeError(
            f"fold: input of shape {input.shape}: expected "
            f"(N, C {kh * kw}, {counts[0] * counts[1]})"
        )
    if input.ndim == 3:
        return fold_op(input, size=size, **window)
    x = fold_op(reshape(input, 1, *input.shape), size=size, **window)
    return reshape(x, x.shape[1:])
