"""y[n,o,p,q] = b[o] + sum_{c,i,j} w[o,c,i,j] x[n, c, s p + d i - pad, s q + d j - pad].

x: (N, C, H, W)  w: (O, C/groups, KH, KW)  b: (O)  y: (N, O, P, Q), all stored.
The input is unfolded to (C KH KW, N P Q), so that the sum is one dot product (Chellapilla et al.
2006). Its gradients are dot products of the same kind: dw = dy unfold(x)T; and dx is the
convolution of dy, spread by the stride and padded, with w turned by 180 degrees (Dumoulin and Visin
2016, arXiv:1603.07285, section 4). The unfolded input is not kept.
"""

import numpy as np

from minifp.backend import kernel
from minifp.errors import ShapeError
from minifp.policy import GIVEN
from minifp.recording import op, takes_tensor


def as_pair(value, name, least):
    """An integer or a pair of them as a pair. Raises ShapeError below `least`."""
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2 or not all(isinstance(v, (int, np.integer)) and v >= least for v in pair):
        raise ShapeError(
            f"{name}={value!r}: expected an integer of at least {least}, or a pair of them"
        )
    return pair


def output_size(size, kernel_size, stride, padding, dilation=1):
    """How many windows fit along an axis."""
    return (size + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1


def pad(x, before, after, value=0.0):
    """x with `before` and `after` (rows, columns) of `value` around its last two axes."""
    if before == after == (0, 0):
        return x
    n, c, h, w = x.shape
    padded = np.full((n, c, h + before[0] + after[0], w + before[1] + after[1]), value, x.dtype)
    padded[:, :, before[0] : before[0] + h, before[1] : before[1] + w] = x
    return padded


def windows(x, size, stride, dilation, counts):
    """View (N, C, P, Q, KH, KW) of the windows of x (N, C, H, W)."""
    n, c, h, w = x.strides
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:2], *counts, *size),
        (n, c, h * stride[0], w * stride[1], h * dilation[0], w * dilation[1]),
        writeable=False,
    )


def unfold(x, size, stride, dilation, counts, groups):
    """The windows of a padded x as columns: (groups, C/groups KH KW, N P Q)."""
    columns = windows(x, size, stride, dilation, counts).transpose(1, 4, 5, 0, 2, 3)
    return columns.reshape(groups, x.shape[1] // groups * size[0] * size[1], -1)


def correlate(x, w, stride, dilation, counts, groups, dot):
    """The sum in the equation above for a padded x: (N, O, P, Q)."""
    columns = unfold(x, w.shape[2:], stride, dilation, counts, groups)
    y = dot(w.reshape(groups, w.shape[0] // groups, -1), columns)
    return y.reshape(w.shape[0], x.shape[0], *counts).transpose(1, 0, 2, 3)


@kernel("dot", "x")
def conv2d_forward(x, w, b, *, stride, padding, dilation, groups, counts, dot):
    y = correlate(pad(x, padding, padding), w, stride, dilation, counts, groups, dot)
    if b is not None:
        y = y + b[:, None, None]
    return y


@kernel("dot", GIVEN)
def conv2d_dx(dy, w, *, x_shape, stride, padding, dilation, groups, dot):
    n, o, p, q = dy.shape
    spread = np.zeros((n, o, (p - 1) * stride[0] + 1, (q - 1) * stride[1] + 1), dy.dtype)
    spread[:, :, :: stride[0], :: stride[1]] = dy
    reach = [d * (k - 1) for d, k in zip(dilation, w.shape[2:])]
    before = tuple(r - a for r, a in zip(reach, padding))
    after = tuple(
        size + r - s - b for size, r, s, b in zip(x_shape[2:], reach, spread.shape[2:], before)
    )
    turned = w.reshape(groups, o // groups, *w.shape[1:])[..., ::-1, ::-1]
    turned = turned.transpose(0, 2, 1, 3, 4).reshape(-1, o // groups, *w.shape[2:])
    padded = _pad_or_crop(spread, before, after)
    return correlate(padded, turned, (1, 1), dilation, x_shape[2:], groups, dot)


def _pad_or_crop(x, before, after):
    """pad, where a negative amount cuts off: padding beyond the kernel's reach has no gradient."""
    cut = tuple(slice(max(-b, 0), n - max(-a, 0)) for b, a, n in zip(before, after, x.shape[2:]))
    x = x[:, :, cut[0], cut[1]]
    return pad(x, tuple(max(b, 0) for b in before), tuple(max(a, 0) for a in after))


@kernel("dot", GIVEN)
def conv2d_dw(dy, x, *, w_shape, stride, padding, dilation, groups, dot):
    padded = pad(x, padding, padding)
    columns = unfold(padded, w_shape[2:], stride, dilation, dy.shape[2:], groups)
    rows = dy.transpose(1, 0, 2, 3).reshape(groups, w_shape[0] // groups, -1)
    return dot(rows, columns.transpose(0, 2, 1)).reshape(w_shape)


@kernel("reduce", GIVEN)
def conv2d_db(dy, *, sum):
    return sum(dy, axis=(0, 2, 3))


def conv2d_backward(dy, x, w, to, counts, **geometry):
    return (
        None if to[0] is None else conv2d_dx(dy, w, x_shape=x.shape, to=to[0], **geometry),
        None if to[1] is None else conv2d_dw(dy, x, w_shape=w.shape, to=to[1], **geometry),
        None if to[2] is None else conv2d_db(dy, to=to[2]),
    )


@op(weights=("w", "b"))
def conv2d_(x, w, b, **geometry):
    return conv2d_forward(x, w, b, **geometry), (x, w), conv2d_backward


@takes_tensor
def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The 2-D convolution (cross-correlation, as in PyTorch).

    input: (N, C, H, W)  weight: (O, C/groups, KH, KW)  bias: (O)  result: (N, O, P, Q).
    stride, padding, dilation: an integer or a pair.
    """
    if input.ndim != 4 or weight.ndim != 4:
        raise ShapeError(
            f"conv2d: input of shape {input.shape} and weight of shape {weight.shape}: "
            "expected (N, C, H, W) and (O, C/groups, KH, KW)"
        )
    stride = as_pair(stride, "conv2d: stride", 1)
    padding = as_pair(padding, "conv2d: padding", 0)
    dilation = as_pair(dilation, "conv2d: dilation", 1)
    if groups < 1 or input.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise ShapeError(
            f"conv2d: input of shape {input.shape} has {input.shape[1]} channels; weight "
            f"{weight.shape} with groups={groups} expects {weight.shape[1] * groups}, and groups "
            f"that divide {weight.shape[0]}"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ShapeError(f"conv2d: bias of shape {bias.shape} for weight {weight.shape}")
    counts = tuple(map(output_size, input.shape[2:], weight.shape[2:], stride, padding, dilation))
    if min(counts) < 1:
        raise ShapeError(
            f"conv2d: a kernel of {weight.shape[2:]} (dilation {dilation}) does not fit "
            f"input of shape {input.shape} with padding {padding}"
        )
    geometry = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    return conv2d_(input, weight, bias, counts=counts, **geometry)
