"""Pictures and sequences in another size: y along each axis is a mean of one or two places of x.

    nearest: y_p = x_i,  i = floor(p r)  (nearest-exact: floor((p + 1/2) r))
    linear:  y_p = (1 - f) x_i + f x_(i+1),  i + f = (p + 1/2) r - 1/2, at least 0  (p r, with
             align_corners);   bilinear: the same along the rows of what it gives along the columns

x: (N, C, H, W) or (N, C, L), y the same with other sizes, both stored. r: how many places of x
there are for one of y, n / count or 1 / scale_factor; (n - 1) / (count - 1) with align_corners.
dx_i = the sum of all w dy_p in which x_i has weight w. Sums are in `reduce`; rounded once at the
end. Nearest places are computed in float32, as in PyTorch, where on a border rounding decides;
weights in the format the kernel works in. Pictures that stay as large, or become twice as large,
are copied by "nearest" as such, whatever factor rounds to that size.
"""

import math

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice, check_flag
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.formats import float32
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import check_tensors
from minifp.ops.public import public
from minifp.ops.windows import as_sizes
from minifp.typing import Factors, Ints

MODES = {"nearest": (3, 4), "nearest-exact": (3, 4), "linear": (3,), "bilinear": (4,)}


def taps(n, count, factor, mode, align_corners, dtype):
    """For each of one or two places that y_p is made of, all its places i (count) and weights."""
    p = np.arange(count)
    if n == count and "linear" in mode:
        return [(p, None)]
    dtype = dtype if "linear" in mode else float32  # the same places in every precision
    if align_corners:
        ratio = dtype.type(n - 1) / dtype.type(max(count - 1, 1))
    else:
        ratio = dtype.type(n) / dtype.type(count) if factor is None else dtype.type(1 / factor)
    p = np.array(p, dtype)
    if "linear" not in mode:
        place = p * ratio if mode == "nearest" else (p + dtype.type(0.5)) * ratio
        return [(np.minimum(np.array(np.floor(place), np.intp), n - 1), None)]
    half = dtype.type(0.5)
    place = p * ratio if align_corners else np.maximum((p + half) * ratio - half, 0)
    low = np.minimum(np.array(np.floor(place), np.intp), n - 1)
    f = np.minimum(np.maximum(place - np.array(low, dtype), 0), 1)
    return [(low, 1 - f), (np.minimum(low + 1, n - 1), f)]


def along(v, axis, like):
    """Weights (count) in the shape in which they multiply that axis, beside an array."""
    return np.asarray(v, like=like).reshape(-1, *(1,) * (-1 - axis))


@kernel("reduce", "x")
def interpolate_forward(x, *, counts, factors, mode, align_corners, sum):
    for axis, count, factor in zip(range(-len(counts), 0), counts, factors):
        found = taps(x.shape[axis], count, factor, mode, align_corners, x.dtype)
        read = [x.take(np.asarray(i, like=x), axis) for i, _ in found]
        parts = [y if w is None else y * along(w, axis, x) for y, (_, w) in zip(read, found)]
        x = sum(np.stack(parts), axis=0) if len(parts) > 1 else parts[0]
    return x


@kernel("reduce", GIVEN)
def interpolate_dx(dy, *, sizes, factors, mode, align_corners, sum):
    for axis, n, factor in reversed(list(zip(range(-len(sizes), 0), sizes, factors))):
        found = taps(n, dy.shape[axis], factor, mode, align_corners, dy.dtype)
        dy = np.moveaxis(dy, axis, 0)
        # Where several p read one place they are laid into as many layers, and these are summed.
        ranks = [np.arange(len(i)) - np.searchsorted(i, i) for i, _ in found]
        layers = [r.max(initial=0) + 1 for r in ranks]
        parts = np.zeros((np.sum(layers), n, *dy.shape[1:]), dy.dtype, like=dy)
        for (i, w), rank, first in zip(found, ranks, (0, layers[0])):
            share = dy if w is None else dy * along(w, -dy.ndim, dy)
            parts[np.asarray(first + rank, like=dy), np.asarray(i, like=dy)] = share
        dy = np.moveaxis(sum(parts, axis=0) if len(parts) > 1 else parts[0], 0, axis)
    return dy


def interpolate_backward(dy, sizes, to, counts, **settings):
    return (interpolate_dx(dy, sizes=sizes, to=to[0], **settings),)


@op
def interpolate_op(x, **settings):
    return interpolate_forward(x, **settings), (x.shape[2:],), interpolate_backward


@public("F", autocast="blend")
@takes_tensor
def interpolate(
    input: Tensor,
    size: Ints | None = None,
    scale_factor: Factors = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """input (N, C, L) or (N, C, H, W) in another size, or `scale_factor` times as large.

    size, scale_factor: one of them, a number or one for each axis. mode: "nearest",
    "nearest-exact", "linear" (of three dimensions) or "bilinear" (of four). align_corners, of the
    last two only: whether the first and last places stay where they are. Raises ArgumentError for
    recompute_scale_factor=True and antialias=True, which are not supported.
    """
    check_tensors("interpolate", input=input)
    check_choice("interpolate: mode", mode, MODES)
    if input.ndim not in MODES[mode] or 0 in input.shape[2:]:
        raise ShapeError(
            f"interpolate: input of shape {input.shape} with mode={mode!r}: expected "
            f"{' or '.join(map(str, MODES[mode]))} dimensions, none of those after two of size 0"
        )
    for name, given in {
        "recompute_scale_factor": recompute_scale_factor,
        "antialias": antialias,
    }.items():
        if given is not None and given is not False:
            raise ArgumentError(f"interpolate: {name}={given!r} is not supported")
    if align_corners is not None:
        check_flag("interpolate: align_corners", align_corners)
        if mode.startswith("nearest"):
            raise ArgumentError(f"interpolate: align_corners with mode={mode!r}: expected None")
    counts, factors = sizes_and_factors(input.shape[2:], size, scale_factor)
    if mode == "nearest" and input.ndim == 4:
        given = zip(factors, counts, input.shape[2:])
        factors = tuple(None if count in (n, 2 * n) else f for f, count, n in given)
    return interpolate_op(
        input, counts=counts, factors=factors, mode=mode, align_corners=bool(align_corners)
    )


def sizes_and_factors(shape, size, scale_factor):
    """For each axis the size of the result, and the factor that was given or None."""
    if (size is None) == (scale_factor is None):
        raise ArgumentError(
            f"interpolate: size={size}, scale_factor={scale_factor}: expected one of them"
        )
    if size is not None:
        return as_sizes(size, "interpolate: size", 1, len(shape)), (None,) * len(shape)
    given = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,)
    given = (
        given * len(shape)
        if len(given) == 1 and not isinstance(scale_factor, (tuple, list))
        else given
    )
    numbers = all(
        isinstance(f, (int, float, np.number))
        and not isinstance(f, bool)
        and (type(f) is not int or f < 2**63)
        for f in given
    )
    if len(given) != len(shape) or not numbers or not all(0 < float(f) < math.inf for f in given):
        raise ArgumentError(
            f"interpolate: scale_factor={scale_factor!r}: expected a positive number, "
            f"or {len(shape)} of them"
        )
    factors = tuple(float(f) for f in given)
    counts = tuple(math.floor(n * f) for n, f in zip(shape, factors))
    if min(counts) < 1:
        raise ShapeError(
            f"interpolate: scale_factor={scale_factor} leaves sizes {counts} of {shape}"
        )
    return counts, factors
