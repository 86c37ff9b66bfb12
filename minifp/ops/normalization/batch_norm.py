"""Batch normalisation (Ioffe and Szegedy 2015, arXiv:1502.03167).

m = mean x,  v = mean (x - m)^2 over batch and positions,  r = 1 / sqrt(v + eps),  h = (x - m) r,
y = h w + b.   x, y: (N, C) or (N, C, ...), stored;  w, b: (C) norm parameters;  m, v, r: (C) in
float32.

    dw = sum dy h,   db = sum dy,   dx = w r (dy - mean dy - h mean(dy h))

The sums are in `reduce`; y and dx are rounded once. In evaluation m and v are constants.
"""

from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_flag, check_range
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.compiled import compilable
from minifp.numerics.formats import as_native, as_stored, downcast, is_float, upcast, wider
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import COMPUTE, GIVEN
from minifp.ops.arguments import check_parameters, check_positive, check_tensors
from minifp.ops.public import public
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.device import full, moved


def columns(v, ndim):
    """(C) as (1, C, 1, ...)."""
    return v.reshape(1, -1, *(1,) * (ndim - 2))


def not_channels(ndim):
    """All axes of (N, C, ...) but the second."""
    return (0, *range(2, ndim))


@kernel("norm", COMPUTE, COMPUTE)
def batch_norm_statistics(x, *, sum):
    """Mean and (biased) variance of each channel."""
    axes, count = not_channels(x.ndim), x.size // x.shape[1]
    m = sum(x, axis=axes, keepdims=True) / count
    centred = x - m
    return m.reshape(-1), sum(centred * centred, axis=axes) / count


@kernel("norm", "x")
def batch_norm_forward(x, w, b, m, v, *, eps):
    scale = w / np.sqrt(v + eps)
    return (x - columns(m, x.ndim)) * columns(scale, x.ndim) + columns(b, x.ndim)


@kernel("norm", GIVEN, GIVEN, GIVEN)
def batch_norm_dx(dy, x, w, m, v, *, eps, constant, sum):
    n, axes, count = x.ndim, not_channels(x.ndim), x.size // x.shape[1]
    r = 1 / np.sqrt(v + eps)
    h = (x - columns(m, n)) * columns(r, n)
    dw, db = sum(dy * h, axis=axes), sum(dy, axis=axes)
    dx = dy if constant else dy - columns(db / count, n) - h * columns(dw / count, n)
    return dx * columns(w * r, n), dw, db


def batch_norm_backward(dy, x, w, m, v, to, eps, constant):
    dx, dw, db = batch_norm_dx(
        dy, x, w, m, v, eps=eps, constant=constant, to=tuple(t or dy.dtype for t in to[:3])
    )
    return dx, dw, db, None, None


def own_statistics(x, w, b, m, v, *, eps, constant):
    """The arguments, with the statistics of this x where they are those of the batch."""
    return (x, w, b, m, v) if constant else (x, w, b, *batch_norm_statistics(x))


@op(derived=own_statistics)
def batch_norm_op(x, w, b, m, v, *, eps, constant):
    y = batch_norm_forward(x, w, b, m, v, eps=eps)
    return y, (x, w, m, v), batch_norm_backward


@public("fp F", autocast="statistics")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel of input (N, C) or (N, C, ...).

    In training by the batch's own mean and variance, which are
    then mixed into the running ones with weight `momentum` (the variance unbiased), unless they are
    not finite; otherwise by the running ones. Raises DTypeError for anything but a floating tensor,
    ShapeError where shapes do not fit and for fewer than two values a channel in training,
    ArgumentError for a momentum outside of 0 to 1, an eps not above 0, and in evaluation
    without running statistics.
    """
    check_positive("batch_norm: eps", eps)
    check_range("batch_norm: momentum", momentum, high=1.0)
    if not all_fit(input, running_mean, running_var, weight, bias):
        check_tensors("batch_norm", input=input)
        if input.ndim < 2:
            raise ShapeError(f"batch_norm: input of shape {input.shape}: expected (N, C, ...)")
        check_running("batch_norm", input, running_mean, running_var, momentum)
        check_parameters("batch_norm", input.shape[1:2], input.shape, weight=weight, bias=bias)
    check_flag("batch_norm: training", training)
    constant = not training
    if constant and running_mean is None:
        raise ArgumentError("batch_norm: evaluation (training=False) needs running statistics")
    count = input.shape[0] * prod(input.shape[2:])
    mean: Any = running_mean
    var: Any = running_var
    if not constant:
        if count < 2:
            raise ShapeError(
                f"batch_norm in training: {count} value a channel in shape {input.shape}"
            )
        mean, var = batch_norm_statistics(as_array(input))
    format, like = mean.dtype, as_array(input)
    weight = full(mean.shape, as_stored(1, format), format, like) if weight is None else weight
    bias = full(mean.shape, 0, format, like) if bias is None else bias
    y = batch_norm_op(input, weight, bias, mean, var, eps=float(eps), constant=constant)
    if running_mean is not None and not constant:
        mix_in(running_mean, running_var, mean, var, count / (count - 1), momentum)
    return y


# ---- running statistics -------------------------------------------------------------------------


def as_array(x):
    """The array of a tensor, or the array itself."""
    return x.array if isinstance(x, Tensor) else x


def all_fit(x, *of_channels):
    """Whether all are tensors of floating numbers, x of at least two axes and the others (C): then
    there is nothing to be refused."""
    if type(x) is not Tensor or not is_float(x.array.dtype) or x.array.ndim < 2:
        return False
    shape = x.array.shape[1:2]
    for t in of_channels:
        if not isinstance(t, Tensor) or not is_float(t.array.dtype) or t.array.shape != shape:
            return False
    return True


def check_running(function, input, running_mean, running_var, momentum):
    """Raise for running statistics that do not fit, or are not both there, and bad momentum."""
    check_range(f"{function}: momentum", momentum, high=1.0)
    if (running_mean is None) != (running_var is None):
        missing = "running_mean" if running_mean is None else "running_var"
        raise ArgumentError(f"{function}: {missing} is None: expected both statistics, or neither")
    shape, given = input.shape[1:2], {"running_mean": running_mean, "running_var": running_var}
    check_parameters(function, shape, input.shape, **given)
    for name, v in given.items():
        if v is not None and not isinstance(v, Tensor):
            raise DTypeError(f"{function}: {name} is an array: expected a tensor, to be updated")


def mix_in(running_mean, running_var, mean, var, factor, momentum):
    """running <- (1 - momentum) running + momentum new, if all stay finite as they are stored.

    mean, var: arrays. factor: what the new variance is multiplied by, to be unbiased.
    """
    if is_on_device(mean):
        device = import_module("minifp.ops.normalization.running_cuda")
        if device.mix_in(running_mean, running_var, mean, var, factor, momentum):
            return
    running = running_mean.array, running_var.array
    mixed, are_finite = mixtures(*running, mean, var, float(factor), float(momentum))
    if are_finite:
        running_mean.storage.write(running[0], mixed[0])
        running_var.storage.write(running[1], mixed[1])


@compilable
def mixtures(running_mean, running_var, mean, var, factor, momentum):
    """Both running statistics with the new ones mixed in, rounded to their formats; and whether all
    are finite."""
    mixed = []
    for running, new in ((running_mean, mean), (running_var, var * factor)):
        wide = wider(running.dtype, new.dtype)
        with np.errstate(all="ignore"):
            sums = (1 - momentum) * upcast(running, wide) + momentum * upcast(new, wide)
        mixed.append(downcast(sums, running.dtype))
    return mixed, all(bool(np.isfinite(as_native(moved(values, "cpu"))).all()) for values in mixed)
