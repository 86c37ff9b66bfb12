"""torch.nn.functional: what minifp writes by other operations, as PyTorch defines it."""

from typing import Any

from minifp.autograd.tape import Tensor
from minifp.compat.torch.nn.volumes import (
    adaptive_avg_pool3d,
    avg_pool3d,
    conv3d,
    conv_transpose3d,
    dropout3d,
    max_pool3d,
    slicewise,
    wide,
)
from minifp.nn import functional as F
from minifp.ops import rand_like, zeros_like
from minifp.ops.windows import as_sizes

__all__ = ["adaptive_avg_pool3d", "avg_pool3d", "conv3d", "conv_transpose3d", "dropout3d"]
__all__ += ["gumbel_softmax", "interpolate", "max_pool3d", "max_unpool2d", "upsample"]


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """minifp's, of volumes (N, C, D, H, W) too, and with the mode "area"."""
    if mode == "area":
        factors = _each(1 if scale_factor is None else scale_factor, input.ndim - 2)
        sizes = [int(n * f) for n, f in zip(input.shape[2:], factors)] if size is None else size
        pools = F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, adaptive_avg_pool3d
        return pools[input.ndim - 3](input, sizes)
    settings: Any = (align_corners, recompute_scale_factor, antialias)
    if input.ndim != 5:
        return F.interpolate(input, size, scale_factor, mode, *settings)
    (depth, *places), (by_depth, *by) = _each(size, 3), _each(scale_factor, 3)
    first = {"trilinear": "bilinear"}.get(mode, mode)
    plane = places if size is not None else None, tuple(by) if scale_factor is not None else None
    y = slicewise(wide(input).transpose(1, 2), lambda x: F.interpolate(x, *plane, first, *settings))
    n, channels, _, *places = y.shape
    y = y.flatten(3).transpose(2, 3).flatten(1, 2)
    y = F.interpolate(y, depth, by_depth, {"bilinear": "linear"}.get(first, first), *settings)
    y = y.reshape(n, channels, -1, y.shape[-1]).transpose(2, 3)
    return y.unflatten(3, tuple(places)).to(input.dtype)


def _each(value: Any, count: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * count


upsample = interpolate  # as it was called before PyTorch 0.4.1


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Tensor:
    """Zeros, and each number where max_pool2d with return_indices=True found it."""
    sizes = as_sizes(kernel_size, "max_unpool2d: kernel_size", 1, 2)
    steps = sizes if stride is None else as_sizes(stride, "max_unpool2d: stride", 1, 2)
    around = as_sizes(padding, "max_unpool2d: padding", 0, 2)
    shape = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-2:], steps, around, sizes)]
    high, broad = shape if output_size is None else [*output_size][-2:]
    empty = zeros_like(input[..., :1, :1]).expand(*input.shape[:-2], high, broad).flatten(-2)
    return empty.scatter(-1, indices.flatten(-2), input.flatten(-2)).unflatten(-1, (high, broad))


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """The softmax of (logits + Gumbel noise) / tau; hard: one-hot, with the softmax's gradient."""
    noise = -(-rand_like(logits).clamp(min=1e-20).log()).clamp(min=1e-20).log()
    soft = F.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    largest = soft.detach().argmax(dim, keepdim=True)
    return zeros_like(soft).scatter(dim, largest, 1.0) - soft.detach() + soft
