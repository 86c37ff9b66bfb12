"""torch.nn.functional: what minifp writes by other operations, as PyTorch defines it."""

from typing import Any

from minifp.autograd.tape import Tensor
from minifp.compat.torch.nn.volumes import (
    adaptive_avg_pool3d,
    adaptive_max_pool3d,
    avg_pool3d,
    conv3d,
    conv_transpose3d,
    dropout3d,
    max_pool3d,
    slicewise,
    wide,
)
from minifp.nn import functional as F
from minifp.ops import einsum, minimum, rand_like, where, zeros_like
from minifp.ops.losses.loss import REDUCTIONS, check_reduction
from minifp.ops.windows import as_sizes

__all__ = [
    "adaptive_avg_pool3d", "adaptive_max_pool3d", "avg_pool3d", "bilinear",
    "channel_shuffle", "conv3d", "conv_transpose3d", "dropout3d", "gaussian_nll_loss",
    "gumbel_softmax", "hardshrink", "hinge_embedding_loss", "interpolate",
    "lp_pool1d", "lp_pool2d", "margin_ranking_loss", "max_pool3d", "max_unpool1d", "max_unpool2d",
    "multilabel_soft_margin_loss", "poisson_nll_loss", "soft_margin_loss", "softshrink",
    "threshold", "triplet_margin_loss", "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip


def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:  # fmt: skip
    """minifp's, of volumes (N, C, D, H, W) too, and with the mode "area"."""
    if recompute_scale_factor and scale_factor is not None:
        factors = _each(scale_factor, input.ndim - 2)
        size = [int(n * f) for n, f in zip(input.shape[2:], factors)]
        scale_factor = recompute_scale_factor = None
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


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate with the nearest numbers."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate between corners that stay where they are."""
    return interpolate(input, size, scale_factor, "bilinear", True)


def _unpooled(x: Tensor, indices: Tensor, dims: int, kernel: Any, stride: Any, padding: Any,
              output_size: Any) -> Tensor:  # fmt: skip
    sizes = as_sizes(kernel, "kernel_size", 1, dims)
    steps = sizes if stride is None else as_sizes(stride, "stride", 1, dims)
    around = as_sizes(padding, "padding", 0, dims)
    shape = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(x.shape[-dims:], steps, around, sizes)]
    shape = shape if output_size is None else [*output_size][-dims:]
    flat, places = x.flatten(-dims), indices.flatten(-dims)
    total = 1
    for n in shape:
        total *= n
    empty = zeros_like(flat[..., :1]).expand(*flat.shape[:-1], total)
    return empty.scatter(-1, places, flat).unflatten(-1, tuple(shape))


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Zeros, and each number where max_pool1d with return_indices=True found it."""
    return _unpooled(input, indices, 1, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0,
    output_size: Any = None,
) -> Tensor:  # fmt: skip
    """Zeros, and each number where max_pool2d with return_indices=True found it."""
    return _unpooled(input, indices, 2, kernel_size, stride, padding, output_size)


def _lp_pooled(pool: Any, x: Tensor, norm_type: float, size: int, *settings: Any) -> Tensor:
    means = pool(wide(x) ** norm_type, *settings)
    roots = (F.relu(means.abs()) * means.sign() * size) ** (1 / norm_type)
    return roots.to(x.dtype)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each window, in float32."""
    settings = kernel_size, stride, 0, ceil_mode
    return _lp_pooled(F.avg_pool1d, input, norm_type, kernel_size, *settings)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each window, in float32."""
    high, broad = as_sizes(kernel_size, "lp_pool2d: kernel_size", 1, 2)
    settings = kernel_size, stride, 0, ceil_mode
    return _lp_pooled(F.avg_pool2d, input, norm_type, high * broad, *settings)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 W x2 + b, weight (out, in1, in2)."""
    y = einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """(N, C, ...) with channel i of each group behind one another."""
    n, channels, *places = input.shape
    parts = input.reshape(n, groups, channels // groups, *places)
    return parts.transpose(1, 2).reshape(input.shape)


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


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x nearer to 0 by lambd, and 0 where it is that near."""
    return input - input.clamp(-lambd, lambd)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, and 0 where it is nearer to 0 than lambd."""
    return where(input.abs() > lambd, input, zeros_like(input))


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above the threshold, value elsewhere."""
    y = where(input > threshold, input, zeros_like(input) + value)
    return input.copy_(y) if inplace else y


def _reduced(x: Tensor, reduction: str) -> Tensor:
    check_reduction("loss", reduction, REDUCTIONS)
    return {"mean": x.mean, "sum": x.sum, "none": lambda: x}[reduction]()


def soft_margin_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """ln(1 + exp(-t x)), t 1 or -1."""
    return _reduced(F.softplus(-target * input), reduction)


def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, *, reduction: str = "mean"
) -> Tensor:
    """x where t is 1, and margin - x, at least 0, where it is -1."""
    return _reduced(where(target == 1, input, F.relu(margin - input)), reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, *, reduction: str = "mean"
) -> Tensor:
    """margin - t (x1 - x2), at least 0."""
    return _reduced(F.relu(margin - target * (input1 - input2)), reduction)


def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
    eps: float = 1e-6, swap: bool = False, *, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """How much less than margin the negative is farther away than the positive."""
    far = F.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, F.pairwise_distance(positive, negative, p, eps))
    near = F.pairwise_distance(anchor, positive, p, eps)
    return _reduced(F.relu(near - far + margin), reduction)


def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, *, eps: float = 1e-8,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """exp(x) - t x, or of x that is no logarithm x - t ln(x + eps)."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    return _reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor, *, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """(ln(var) + (x - t)^2 / var) / 2, var at least eps, which has no gradient."""
    apart = var + (var.clamp(min=eps) - var).detach()
    return _reduced((apart.log() + (input - target) ** 2 / apart) / 2, reduction)


def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Binary cross entropy of logits (N, C), the mean of all classes."""
    each = F.binary_cross_entropy_with_logits(input, target, weight, reduction="none")
    return _reduced(each.mean(-1), reduction)
