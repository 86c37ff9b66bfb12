"""Layers of volumes (N, C, D, H, W): each window along D becomes channels of slices, or slices are
pooled one way after the other, so that pictures' operations compute them."""

from typing import Any

from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, ShapeError
from minifp.nn import functional as F
from minifp.nn.conv import _Straight, _Transposed
from minifp.nn.dropout import Dropout
from minifp.nn.normalization import _BatchNorm, _InstanceNorm
from minifp.nn.pooling import _Adaptive, _AvgPool, _MaxPool
from minifp.numerics.dtypes import float64
from minifp.ops import arange
from minifp.ops.windows import as_sizes, window_count

__all__ = ["AdaptiveAvgPool3d", "AvgPool3d", "BatchNorm3d", "Conv3d", "ConvTranspose3d"]
__all__ += ["Dropout3d", "InstanceNorm3d", "MaxPool3d"]


def depth_first(function: str, least: int, **values: Any) -> list[tuple[Any, Any]]:
    """What holds along D, and along H and W; None for None. least: the smallest that may be."""
    pairs: list[tuple[Any, Any]] = []
    for name, value in values.items():
        sizes = [None] if value is None else as_sizes(value, f"{function}: {name}", least, 3)
        depth, *plane = sizes
        pairs.append((depth, tuple(plane) or None))
    return pairs


def as_volumes(name: str, x: Tensor) -> Tensor:
    """(N, C, D, H, W) of that or (C, D, H, W). Raises ShapeError for other dimensions."""
    if x.ndim not in (4, 5):
        raise ShapeError(f"{name}: input of shape {x.shape}: expected (N, C, D, H, W)")
    return x if x.ndim == 5 else x.unsqueeze(0)


def windows(x: Tensor, size: int, stride: int, dilation: int = 1) -> Tensor:
    """The windows along D, whose places are channels: (N, windows, C size, H, W)."""
    count = window_count(x.shape[2], size, stride, 0, dilation)
    if count < 1:
        raise ShapeError(f"a kernel of {size} along D of shape {x.shape}: expected a smaller one")
    places = arange(count).unsqueeze(1) * stride + arange(size) * dilation
    each = x.index_select(2, places.flatten()).unflatten(2, (count, size))
    return each.movedim(2, 1).flatten(2, 3)


def slicewise(x: Tensor, function: Any) -> Tensor:
    """A function of pictures (N, C, H, W) on each slice of (N, D, C, H, W): (N, C, D, H, W)."""
    return function(x.flatten(0, 1)).unflatten(0, tuple(x.shape[:2])).transpose(1, 2)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """weight (out, in / groups, KD, KH, KW): each output is rounded once."""
    x, size = as_volumes("conv3d", input), weight.shape[2]
    (step, steps), (apart, aparts) = depth_first("conv3d", 1, stride=stride, dilation=dilation)
    if isinstance(padding, str):
        total = apart * (size - 1) if padding == "same" else 0
        around, arounds = (total // 2, total - total // 2), padding
    else:
        [(before, arounds)] = depth_first("conv3d", 0, padding=padding)
        around = before, before
    parts = windows(F.pad(x, (0, 0, 0, 0, *around)), size, step, apart)
    kernel = weight.flatten(1, 2)
    y = slicewise(parts, lambda p: F.conv2d(p, kernel, bias, steps, arounds, aparts, groups))
    return y if input.ndim == 5 else y.squeeze(0)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """weight (in, out / groups, KD, KH, KW): zeros go between slices, then as conv3d."""
    x, size = as_volumes("conv_transpose3d", input), weight.shape[2]
    name, ends = "conv_transpose3d", {"padding": padding, "output_padding": output_padding}
    (step, steps), (apart, aparts) = depth_first(name, 1, stride=stride, dilation=dilation)
    (before, arounds), (added, more) = depth_first(name, 0, **ends)
    if step > 1:  # zeros between slices
        x = F.pad(x.unsqueeze(3), (0, 0, 0, 0, 0, step - 1)).flatten(2, 3)[:, :, : 1 - step]
    around = apart * (size - 1) - before
    x = F.pad(x, (0, 0, 0, 0, around, around + added))
    kernel = weight.flip(2).transpose(1, 2).flatten(0, 1)
    y = slicewise(
        windows(x, size, 1, apart),
        lambda p: F.conv_transpose2d(p, kernel, bias, steps, arounds, more, groups, aparts),
    )
    return y if input.ndim == 5 else y.squeeze(0)


class Conv3d(_Straight):
    """3-D convolution of (N, in, D, H, W).   weight: (out, in/groups, KD, KH, KW)  bias: (out)."""

    ndim = 3
    convolve = staticmethod(conv3d)


class ConvTranspose3d(_Transposed):
    """3-D transposed convolution.   weight: (in, out/groups, KD, KH, KW)  bias: (out)."""

    ndim = 3
    convolve = staticmethod(conv_transpose3d)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of (N, C, D, H, W)."""

    ndims = (5,)


class InstanceNorm3d(_InstanceNorm):
    """Normalisation of each channel of each volume of (N, C, D, H, W) or (C, D, H, W)."""

    ndims = (4, 5)


def pooled(input: Tensor, kind: str, sizes: list[tuple[Any, Any]], **settings: Any) -> Tensor:
    """(N, C, D, H, W) or (C, D, H, W) with slices pooled by F's function of pictures, then all
    along D by that of sequences. sizes: what holds along D, and along H and W."""
    along, planes = zip(*sizes)
    of_pictures, of_sequences = vars(F)[f"{kind}_pool2d"], vars(F)[f"{kind}_pool1d"]
    x = as_volumes(f"{kind}_pool3d", input).transpose(1, 2)
    y = slicewise(x, lambda x: of_pictures(x, *planes, **settings))
    n, channels, depth, *places = y.shape
    y = of_sequences(y.flatten(3).transpose(2, 3).reshape(n, -1, depth), *along, **settings)
    y = y.reshape(n, channels, -1, y.shape[-1]).transpose(2, 3).unflatten(3, tuple(places))
    return y if input.ndim == 5 else y.squeeze(0)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    """The largest of each window. Raises ArgumentError for return_indices=True."""
    if return_indices:
        raise ArgumentError("max_pool3d: return_indices=True: expected False")
    named = {"kernel_size": kernel_size, "stride": stride, "padding": padding, "dilation": dilation}
    return pooled(input, "max", depth_first("max_pool3d", 0, **named), ceil_mode=ceil_mode)


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window, in float32. Raises ArgumentError for a divisor_override."""
    if divisor_override is not None:
        raise ArgumentError(f"avg_pool3d: divisor_override={divisor_override}: expected None")
    named = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
    sizes = depth_first("avg_pool3d", 0, **named)
    counting = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}
    return pooled(wide(input), "avg", sizes, **counting).to(input.dtype)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of each of output_size windows, in float32."""
    sizes = [sizes_of(input, output_size)]
    return pooled(wide(input), "adaptive_avg", sizes).to(input.dtype)


def wide(x: Tensor) -> Tensor:
    """In float32, of which a mean of means is rounded once, or in float64."""
    return x if x.dtype == float64 else x.float()


def sizes_of(x: Tensor, output_size: Any) -> tuple[int, tuple[Any, ...]]:
    """The size along D, and those along H and W, where None keeps a size."""
    sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * 3
    depth, *places = sizes if len(sizes) == 3 else (*sizes * 3,)
    return x.shape[-3] if depth is None else depth, tuple(places)


class MaxPool3d(_MaxPool, of=max_pool3d):
    """The largest of each window of (N, C, D, H, W) or (C, D, H, W)."""


class AvgPool3d(_AvgPool, of=avg_pool3d):
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W)."""


class AdaptiveAvgPool3d(_Adaptive, of=adaptive_avg_pool3d):
    """The mean of each of output_size windows that cover (N, C, D, H, W) evenly."""


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """In training, zero whole channels of (N, C, D, H, W)."""
    return F.dropout2d(input.flatten(-2), p, training).reshape(input.shape)


class Dropout3d(Dropout, of=dropout3d):
    """In training, zero whole channels of (N, C, D, H, W) with probability p."""
