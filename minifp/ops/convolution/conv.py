"""Convolutions (cross-correlations, as in PyTorch) of sequences and pictures. In two dimensions:

    y[n,o,p,q] = b[o] + sum_{c,i,j} w[o,c,i,j] x[n, c, s p + d i - pad, s q + d j - pad]

x: (N, C, H, W)  w: (O, C/groups, KH, KW)  b: (O)  y: (N, O, P, Q), all stored; in one dimension
without H, KH and P. The input is unfolded to (C KH KW, N P Q), so that the sum is one dot product
(Chellapilla et al. 2006). Its gradients are dot products of the same kind: dw = dy unfold(x)T; and
dx is the convolution of dy, spread by the stride and padded, with w turned by 180 degrees (Dumoulin
and Visin 2016, arXiv:1603.07285, section 4). The unfolded input is not kept.
"""

from math import prod
from typing import Any

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.products import WGRAD
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import check_room, check_tensors, remembered
from minifp.ops.missing_axes import AXES, guess_axes
from minifp.ops.public import public
from minifp.ops.windows import as_sizes, padded, places, reach, window_count, windows
from minifp.typing import Ints


def unfold(x, size, stride, dilation, counts, groups):
    """The windows of a padded x as columns: (groups, C/groups prod(size), N prod(counts))."""
    n = len(size)
    columns = windows(x, size, stride, dilation, counts)
    columns = columns.transpose(1, *range(n + 2, 2 * n + 2), 0, *range(2, n + 2))
    return columns.reshape(groups, x.shape[1] // groups * prod(size), len(x) * prod(counts))


def correlate(x, w, stride, padding, dilation, counts, groups, dot):
    """The sum in the equation above: (N, O, *counts)."""
    size = w.shape[2:]
    x = padded(x, padding, reach(size, stride, dilation, counts))
    columns = unfold(x, size, stride, dilation, counts, groups)
    y = dot(w.reshape(groups, w.shape[0] // groups, columns.shape[1]), columns)
    return y.reshape(w.shape[0], x.shape[0], *counts).swapaxes(0, 1).copy()  # in C order


def correlate_back(dy, w, x_sizes, stride, padding, dilation, groups, dot):
    """The gradient of that sum for x, whose sizes along the axes are x_sizes: (N, C, *x_sizes).

    What is not finite in w meets no zeros but those of dy: it is multiplied where windows are.
    """
    geometry = x_sizes, stride, padding, dilation, groups, dot
    finite = np.isfinite(w)
    if finite.all():
        return correlate_turned(dy, w, *geometry)
    lost = scatter_windows(dy, np.where(finite, 0, w), *geometry)
    return correlate_turned(dy, np.where(finite, w, 0), *geometry) + lost


def scatter_windows(dy, w, x_sizes, stride, padding, dilation, groups, dot):
    """That gradient, added up where windows are, one place in them after the other."""
    n, o, *counts = dy.shape
    size = w.shape[2:]
    whole = n, groups * w.shape[1], *reach(size, stride, dilation, counts)
    dx = np.zeros(whole, dy.dtype, like=dy)
    rows = dy.swapaxes(0, 1).reshape(groups, o // groups, n * prod(counts))
    taps = w.reshape(groups, o // groups, w.shape[1], prod(size)).transpose(3, 0, 2, 1)
    for tap, place in zip(taps, places(size, stride, dilation, counts)):
        dx[place] += dot(tap, rows).reshape(dx.shape[1], n, *counts).swapaxes(0, 1)
    return padded(dx, [-p for p in padding], x_sizes)


def correlate_turned(dy, w, x_sizes, stride, padding, dilation, groups, dot):
    """That gradient as a correlation of dy, with zeros between and around, in one dot product."""
    n, o, *counts = dy.shape
    sizes = ((c - 1) * s + 1 for c, s in zip(counts, stride))
    spread = np.zeros((n, o, *sizes), dy.dtype, like=dy)
    strided: tuple[Any, ...] = (..., *(slice(None, None, s) for s in stride))
    spread[strided] = dy
    before = tuple(d * (k - 1) - p for d, k, p in zip(dilation, w.shape[2:], padding))
    backwards = (..., *[slice(None, None, -1)] * len(counts))
    turned = w[backwards].reshape(groups, o // groups, *w.shape[1:]).swapaxes(1, 2)
    turned = turned.reshape(groups * w.shape[1], o // groups, *w.shape[2:])
    ones = (1,) * len(counts)
    return correlate(spread, turned, ones, before, dilation, x_sizes, groups, dot)


def correlate_weights(dy, x, w_shape, stride, padding, dilation, groups, dot):
    """The gradient of that sum for w, of this shape."""
    counts, size = dy.shape[2:], w_shape[2:]
    x = padded(x, padding, reach(size, stride, dilation, counts))
    columns = unfold(x, size, stride, dilation, counts, groups)
    rows = dy.swapaxes(0, 1).reshape(groups, w_shape[0] // groups, columns.shape[2])
    return dot(rows, columns.transpose(0, 2, 1)).reshape(w_shape)


def add_bias(y, b, accumulate):
    """y (N, O, ...) + b (O), which is one addend more of the products' sum."""
    return y if b is None else accumulate(y + b.reshape(-1, *(1,) * (y.ndim - 2)))


ALL_BUT_FIRST, ALL_BUT_SECOND = (1, 2, 3), (0, 2, 3)  # axes
WEIGHT_GRADIENT = {"operands": {"x": ALL_BUT_SECOND}, "gradients": {"dy": ALL_BUT_SECOND}}


@kernel("dot", "x", operands={"x": ALL_BUT_FIRST, "w": ALL_BUT_FIRST})
def conv_forward(x, w, b, *, stride, padding, dilation, groups, counts, dot, accumulate):
    y = correlate(x, w, stride, padding, dilation, counts, groups, dot)
    return add_bias(y, b, accumulate)


@kernel("dot", GIVEN, operands={"w": ALL_BUT_SECOND}, gradients={"dy": ALL_BUT_FIRST})
def conv_dx(dy, w, *, x_sizes, stride, padding, dilation, groups, dot):
    return correlate_back(dy, w, x_sizes, stride, padding, dilation, groups, dot)


@kernel("dot", GIVEN, product=WGRAD, **WEIGHT_GRADIENT)
def conv_dw(dy, x, *, w_shape, stride, padding, dilation, groups, dot):
    return correlate_weights(dy, x, w_shape, stride, padding, dilation, groups, dot)


@kernel("reduce", GIVEN)
def conv_db(dy, *, sum):
    return sum(dy, axis=(0, *range(2, dy.ndim)))


def conv_backward(dy, x, w, to, counts, **geometry):
    return (
        None if to[0] is None else conv_dx(dy, w, x_sizes=x.shape[2:], to=to[0], **geometry),
        None if to[1] is None else conv_dw(dy, x, w_shape=w.shape, to=to[1], **geometry),
        None if to[2] is None else conv_db(dy, to=to[2]),
    )


def convolved(x, w, b, **geometry):
    return conv_forward(x, w, b, **geometry), (x, w), conv_backward


OPERATIONS = {n: op(convolved, name=f"conv{n}d", weights=("w", "b")) for n in AXES}


# ---- what is given ------------------------------------------------------------------------------


def check_shapes(name, ndim, input, weight, bias, groups, transposed=False):
    """Raise DTypeError or ShapeError, naming the function, for tensors that do not fit."""
    check_tensors(name, input=input, weight=weight, bias=weight if bias is None else bias)
    shapes = tuple(input.shape), tuple(weight.shape), None if bias is None else tuple(bias.shape)
    check_sizes(name, ndim, *shapes, groups, int(transposed))
    return shapes


@remembered
def check_sizes(name, ndim, input, weight, bias, groups, transposed):
    """The same for their shapes."""
    axes = ", ".join(AXES[ndim])
    if len(input) not in (ndim + 1, ndim + 2) or len(weight) != ndim + 2:
        channels = "C, O/groups" if transposed else "O, C/groups"
        kernel = ", ".join("K" + axis for axis in AXES[ndim]) if ndim > 1 else "K"
        raise ShapeError(
            f"{name}: input of shape {input} and weight of shape {weight}: "
            f"expected (N, C, {axes}) or (C, {axes}), and ({channels}, {kernel})"
            + (guess_axes(input, ndim) if len(weight) == ndim + 2 else "")
        )
    if min(weight[2:]) < 1:
        raise ShapeError(f"{name}: a kernel of {weight[2:]}: expected at least 1 place")
    integer = isinstance(groups, (int, np.integer)) and not isinstance(groups, bool)
    given, (first, second) = input[-1 - ndim], weight[:2]
    groups = int(groups) if integer else groups
    taken = first if transposed else second * groups if integer else 0
    if not integer or groups < 1 or given != taken or first % groups:
        raise ShapeError(
            f"{name}: input of shape {input} has {given} channels; weight "
            f"{weight} with groups={groups!r} expects {taken}, and groups "
            f"that divide {first}{guess_axes(input, ndim, taken)}"
        )
    made = second * groups if transposed else first
    if bias not in (None, (made,)):
        raise ShapeError(f"{name}: bias of shape {bias} for weight {weight}: expected ({made},)")


def as_batch(input, ndim):
    """input with an axis of examples, and whether it had one: without, the result has none."""
    batched = input.ndim == ndim + 2
    return (input if batched else input.reshape(1, *input.shape)), batched


def as_padding(name, padding, sizes, kernel, stride, dilation):
    """(padding before, window counts) for each axis, from numbers or "same" or "valid"."""
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ArgumentError(f'{name}: padding={padding!r}: expected numbers, "same" or "valid"')
        if padding == "same" and set(stride) != {1}:
            raise ArgumentError(f'{name}: padding="same" with stride={stride}: expected 1')
        if padding == "same":
            return tuple(d * (k - 1) // 2 for d, k in zip(dilation, kernel)), tuple(sizes)
        padding = 0
    padding = as_sizes(padding, f"{name}: padding", 0, len(sizes))
    return padding, tuple(map(window_count, sizes, kernel, stride, padding, dilation))


def convolve(ndim, input, weight, bias, stride, padding, dilation, groups):
    """Check the arguments of conv1d or conv2d, and do it."""
    name = f"conv{ndim}d"
    shape, kernel, _ = check_shapes(name, ndim, input, weight, bias, groups)
    geometry = geometry_of(name, ndim, shape, kernel[2:], stride, padding, dilation)
    x, batched = as_batch(input, ndim)
    y = OPERATIONS[ndim](x, weight, bias, groups=int(groups), **geometry)
    return y if batched else y.reshape(y.shape[1:])


@remembered
def geometry_of(name, ndim, shape, kernel, stride, padding, dilation):
    """Stride, padding, dilation, and how many windows there are, for an input of this shape."""
    stride = as_sizes(stride, f"{name}: stride", 1, ndim)
    dilation = as_sizes(dilation, f"{name}: dilation", 1, ndim)
    before, counts = as_padding(name, padding, shape[-ndim:], kernel, stride, dilation)
    if min(counts) < 1:
        raise ShapeError(
            f"{name}: a kernel of {kernel} (dilation {dilation}) does not fit "
            f"input of shape {shape} with padding {padding}"
        )
    check_room(name, (*shape[: -1 - ndim], *counts))
    stride = tuple(s if c > 1 else 1 for s, c in zip(stride, counts))  # of one window there is none
    return {"stride": stride, "padding": before, "dilation": dilation, "counts": counts}


@public("fp F", autocast="product")
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The 1-D convolution (cross-correlation, as in PyTorch).

    input: (N, C, L) or (C, L)  weight: (O, C/groups, K)  bias: (O)  result: (N, O, P) or (O, P).
    padding: a number, or "valid" (none), or "same" (P = L, for stride 1; one more at the end where
    it cannot be halved).
    """
    return convolve(1, input, weight, bias, stride, padding, dilation, groups)


@public("fp F", autocast="product")
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Ints = 1,
    padding: Ints | str = 0,
    dilation: Ints = 1,
    groups: int = 1,
) -> Tensor:
    """The 2-D convolution (cross-correlation, as in PyTorch).

    input: (N, C, H, W) or (C, H, W)  weight: (O, C/groups, KH, KW)  bias: (O)
    result: (N, O, P, Q) or (O, P, Q).
    stride, dilation: an integer or a pair. padding: the same, or "valid" (none), or "same" (the
    result has the input's size, for stride 1; one more at the end where it cannot be halved).
    """
    return convolve(2, input, weight, bias, stride, padding, dilation, groups)
