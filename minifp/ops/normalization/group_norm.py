"""Group normalisation (Wu and He 2018, arXiv:1803.08494), and instance normalisation (Ulyanov,
Vedaldi and Lempitsky 2016, arXiv:1607.08022), which is that of groups of one channel.

For each n and each group of C / G channels, over these channels and all positions:
m = mean x,  v = mean (x - m)^2,  r = 1 / sqrt(v + eps),  h = (x - m) r;  then y = h w + b.
x, y: (N, C, ...), stored;  w, b: (C) norm parameters;  m, r: (N, G, 1) float32.

    dw = sum dy h,   db = sum dy,   dx = r (g - mean g - h mean(g h)) with g = dy w

The sums are in `reduce`; y and dx are rounded once.
"""

import math
from typing import TypeAlias

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_count, check_flag
from minifp.errors import ArgumentError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.arguments import check_parameters, check_positive, check_tensors
from minifp.ops.normalization.batch_norm import (
    as_array,
    batch_norm,
    check_running,
    columns,
    mix_in,
    not_channels,
)
from minifp.ops.public import public


def _grouped(x, groups):
    """(N, C, ...) as (N, G, K)."""
    return x.reshape(len(x), groups, math.prod(x.shape[1:]) // groups)


@kernel("norm", "x", COMPUTE, COMPUTE)
def group_norm_forward(x, w, b, *, groups, eps, sum):
    g = _grouped(x, groups)
    m = sum(g, axis=-1, keepdims=True) / g.shape[-1]
    centred = g - m
    r = 1 / np.sqrt(sum(centred * centred, axis=-1, keepdims=True) / g.shape[-1] + eps)
    y = (centred * r).reshape(x.shape)
    y = y if w is None else y * columns(w, x.ndim)
    return (y if b is None else y + columns(b, x.ndim)), m, r


@kernel("norm", GIVEN, GIVEN, GIVEN)
def group_norm_dx(dy, x, w, m, r, *, groups, sum):
    axes = not_channels(x.ndim)
    h = (_grouped(x, groups) - m) * r
    g = _grouped(dy if w is None else dy * columns(w, x.ndim), groups)
    mean_g = sum(g, axis=-1, keepdims=True) / g.shape[-1]
    mean_gh = sum(g * h, axis=-1, keepdims=True) / g.shape[-1]
    dx = (r * (g - mean_g - h * mean_gh)).reshape(x.shape)
    return dx, sum(dy * h.reshape(x.shape), axis=axes), sum(dy, axis=axes)


@kernel("norm", COMPUTE, COMPUTE)
def instance_norm_statistics(x, *, sum):
    """Mean and (biased) variance of each channel of each element, averaged over the batch: (C)."""
    g = _grouped(x, x.shape[1])
    m = sum(g, axis=-1, keepdims=True) / g.shape[-1]
    centred = g - m
    v = sum(centred * centred, axis=-1, keepdims=True) / g.shape[-1]
    return sum(m, axis=(0, 2)) / len(x), sum(v, axis=(0, 2)) / len(x)


def group_norm_backward(dy, x, w, m, r, to, groups, eps):
    to_each = tuple(t or dy.dtype for t in to)
    dx, dw, db = group_norm_dx(dy, x, w, m, r, groups=groups, to=to_each)
    return dx, (None if to[1] is None else dw), (None if to[2] is None else db)


@op
def group_norm_op(x, w, b, *, groups, eps):
    y, m, r = group_norm_forward(x, w, b, groups=groups, eps=eps)
    return y, (x, w, m, r), group_norm_backward


def instance_norm_backward(dy, x, w, m, r, to, eps):
    return group_norm_backward(dy, x, w, m, r, to, x.shape[1], eps)


@op
def instance_norm_op(x, w, b, *, eps):
    y, m, r = group_norm_forward(x, w, b, groups=x.shape[1], eps=eps)
    return y, (x, w, m, r), instance_norm_backward


Scale: TypeAlias = Tensor | None  # or shift, of each channel


@public("fp F", autocast="deviation")
def group_norm(
    input: Tensor, num_groups: int, weight: Scale = None, bias: Scale = None, eps: float = 1e-5
) -> Tensor:
    """Normalise each group of channels of each element of the batch.   input: (N, C, ...).

    num_groups: divides C.  weight, bias: (C). Raises DTypeError for anything but a floating tensor,
    ShapeError where shapes do not fit or there is one value in all, ArgumentError for other numbers
    of groups and for an eps not above 0.
    """
    check_tensors("group_norm", input=input)
    check_positive("group_norm: eps", eps)
    if input.ndim < 2:
        raise ShapeError(f"group_norm: input of shape {input.shape}: expected (N, C, ...)")
    groups = check_count("group_norm: num_groups", num_groups)
    if input.shape[1] % groups:
        raise ArgumentError(
            f"group_norm: num_groups={groups} does not divide the {input.shape[1]} channels "
            f"of input of shape {input.shape}"
        )
    check_parameters("group_norm", input.shape[1:2], input.shape, weight=weight, bias=bias)
    if math.prod(input.shape) == groups:
        raise ShapeError(f"group_norm: 1 value a group in input of shape {input.shape}")
    return group_norm_op(input, weight, bias, groups=groups, eps=float(eps))


@public("F", autocast="statistics")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of each element of the batch.   input: (N, C, ...).

    With use_input_stats by its own mean and variance, which (averaged over the batch, the variance
    unbiased) are then mixed into the running ones, if given, with weight `momentum`, unless they
    are not finite; else by the running ones. Raises DTypeError for anything but a floating tensor,
    ShapeError where shapes do not fit or there is one position, ArgumentError for a momentum
    outside of 0 to 1, an eps not above 0, or running statistics that are not there.
    """
    check_tensors("instance_norm", input=input)
    check_positive("instance_norm: eps", eps)
    check_flag("instance_norm: use_input_stats", use_input_stats)
    if input.ndim < 3:
        raise ShapeError(f"instance_norm: input of shape {input.shape}: expected (N, C, L, ...)")
    check_running("instance_norm", input, running_mean, running_var, momentum)
    check_parameters("instance_norm", input.shape[1:2], input.shape, weight=weight, bias=bias)
    if not use_input_stats:
        if running_mean is None:
            raise ArgumentError(
                "instance_norm: use_input_stats=False without running_mean and running_var"
            )
        return batch_norm(input, running_mean, running_var, weight, bias, eps=eps)
    positions = math.prod(input.shape[2:])
    if positions == 1:
        raise ShapeError(f"instance_norm: 1 value a channel in input of shape {input.shape}")
    y = instance_norm_op(input, weight, bias, eps=float(eps))
    if running_mean is not None and input.shape[0] and positions:
        mean, var = instance_norm_statistics(as_array(input))
        mix_in(running_mean, running_var, mean, var, positions / (positions - 1), momentum)
    return y
