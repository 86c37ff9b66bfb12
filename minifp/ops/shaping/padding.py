"""Padding: y = x with numbers around it.

    constant:                      dx = dy, without the border
    reflect, replicate, circular:  dx = the sum of dy wherever x was read

x, y stored. x is copied, and the constant rounded to its format. What meets at a place is summed in
`reduce` and rounded once.
"""

import math
from typing import Any

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import as_integers
from minifp.ops.elementwise import as_numbers, check_fits, pass_to
from minifp.ops.public import public
from minifp.ops.shaping.indexing import add_rows
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import empty, full
from minifp.typing import Widths

MODES: dict[str, Any] = {
    "reflect": "reflect",
    "replicate": "edge",
    "circular": "wrap",
}  # NumPy's names


def windows_of(shape, widths):
    """(where in x, where in y) the numbers are that both have; a negative width cuts x."""
    inside = tuple(slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(shape, widths))
    kept = (s.stop - s.start for s in inside)
    return inside, tuple(slice(max(b, 0), max(b, 0) + n) for n, (b, _) in zip(kept, widths))


def borders_of(widths, shape, mode):
    """For each border of an array (axis, where it is, which of the array's places it repeats).

    These are indices of the padded array, for axes in front the whole, for those behind x alone.
    """
    inside = [slice(b, b + n) for n, (b, _) in zip(shape, widths)]
    for i, (n, (before, after)) in enumerate(zip(shape, widths)):
        end = before + n
        first, last = {
            "reflect": (slice(2 * before, before, -1), _downwards(end - 2, after)),
            "replicate": (slice(before, before + 1), slice(end - 1, end)),
            "circular": (slice(n, end), slice(before, before + after)),
        }[mode]
        for width, where, read in ((before, slice(before), first), (after, slice(end, None), last)):
            if width:
                yield i, *((slice(None),) * i + (s, *inside[i + 1 :]) for s in (where, read))


def _downwards(start, count):
    return slice(start, start - count if start >= count else None, -1)


def padded(x, widths, mode):
    """x with the borders that a mode repeats, by copying."""
    if not is_on_device(x):
        return np.pad(x, widths, mode=MODES[mode])
    y = empty(tuple(n + b + a for n, (b, a) in zip(x.shape, widths)), x.dtype, like=x)
    y[windows_of(x.shape, widths)[1]] = x
    for _, where, read in borders_of(widths, x.shape, mode):
        y[where] = y[read]
    return y


@kernel("map", "x")
def pad_forward(x, *, widths, value):
    sizes = [n + b + a for n, (b, a) in zip(x.shape, widths)]
    y = np.full_like(x, value, order="C", shape=sizes)
    source, target = windows_of(x.shape, widths)
    y[target] = x[source]
    return y


@kernel("reduce", GIVEN)
def pad_around_dx(dy, *, shape, widths, mode, sum):
    first = next((i for i, width in enumerate(widths) if width != (0, 0)), len(shape))
    n = math.prod(shape[first:])
    read = np.pad(np.arange(n).reshape(shape[first:]), widths[first:], mode=MODES[mode])
    rows = dy.reshape(math.prod(shape[:first]), read.size).T
    return add_rows(rows, read.reshape(-1), n, sum).T.reshape(shape)


def pad_backward(dy, shape, to, widths, mode, value):
    if mode != "constant":
        return (pad_around_dx(dy, shape=shape, widths=widths, mode=mode, to=to[0]),)
    dx = full(shape, 0, dy.dtype, like=dy)
    source, target = windows_of(shape, widths)
    dx[source] = dy[target]
    return (pass_to(dx, shape, to[0]),)


@op
def pad_op(x, *, widths, mode, value):
    if mode == "constant":
        return pad_forward(x, widths=widths, value=value), (x.shape,), pad_backward
    return padded(x, widths, mode), (x.shape,), pad_backward


@public("F", autocast="exact")
@takes_tensor
def pad(input: Tensor, pad: Widths, mode: str = "constant", value: float | None = None) -> Tensor:
    """input with numbers around it.

    pad: (before, after) of the last axis, then of the one before it, and so on, one after the
    other; with mode "constant" a negative one cuts off. mode: "constant" (of `value`, by default
    0), "reflect" (the border not repeated), "replicate" (the border repeated) or "circular".
    Raises ShapeError where the numbers to pad with, or to cut off, are not there.
    """
    check_choice("pad: mode", mode, ("constant", *MODES))
    if not isinstance(pad, (tuple, list)):
        raise DTypeError(f"pad: pad={pad!r}: expected a tuple or a list of integers")
    sizes = as_integers((pad,), "pad: pad=")
    if len(sizes) % 2 or len(sizes) > 2 * input.ndim:
        raise ShapeError(
            f"pad: pad={sizes} for input of shape {input.shape}: expected two numbers for each of "
            "the last axes"
        )
    pairs = list(zip(sizes[::2], sizes[1::2]))[::-1]
    widths = ((0, 0),) * (input.ndim - len(pairs)) + tuple(pairs)
    if not any(sizes):
        mode = "constant"
    if mode != "constant" and value:
        raise ArgumentError(f'pad: value={value!r} with mode={mode!r}: it is for "constant"')
    for i, (n, width) in enumerate(zip(input.shape, widths)):
        check_width(n, width, mode, f"pad: {width} around axis {i} of shape {input.shape}")
    value = as_numbers("pad", value=0 if value is None else value)["value"]
    check_fits("pad: value", value, input.dtype)
    return pad_op(input, widths=widths, mode=mode, value=value)


def check_width(n, width, mode, what):
    """Raise ShapeError unless an axis of size n can be padded by (before, after)."""
    least, most = min(width), max(width)
    if mode == "constant":
        if n + sum(min(w, 0) for w in width) < 0:
            raise ShapeError(f"{what} cuts off more than there is")
    elif least < 0:
        raise ShapeError(f'{what}: expected widths of at least 0; only "constant" cuts off')
    elif most and most > {"reflect": n - 1, "circular": n, "replicate": most if n else 0}[mode]:
        raise ShapeError(f'{what}: too few numbers for mode="{mode}"')
