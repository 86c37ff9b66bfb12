"""Batch normalisation (Ioffe and Szegedy 2015, arXiv:1502.03167).

m = mean x,  v = mean (x - m)^2 over batch and positions,  r = 1 / sqrt(v + eps),  h = (x - m) r,
y = h w + b.   x, y: (N, C) or (N, C, ...), stored;  w, b: (C) norm parameters;  m, v, r: (C) in
float32.

    dw = sum dy h,   db = sum dy,   dx = w r (dy - mean dy - h mean(dy h))

The sums are in `reduce`; y and dx are rounded once. In evaluation m and v are constants.
"""

import numpy as np

from minifp.backend import kernel
from minifp.errors import ShapeError
from minifp.policy import COMPUTE, GIVEN
from minifp.recording import op


def _columns(v, ndim):
    """(C) as (1, C, 1, ...)."""
    return v.reshape(1, -1, *(1,) * (ndim - 2))


def _all_but_channels(ndim):
    return (0, *range(2, ndim))


@kernel("norm", COMPUTE, COMPUTE)
def batch_norm_statistics(x, *, sum):
    """Mean and (biased) variance of each channel."""
    axes, count = _all_but_channels(x.ndim), x.size // x.shape[1]
    m = sum(x, axis=axes, keepdims=True) / count
    centred = x - m
    return m.reshape(-1), sum(centred * centred, axis=axes) / count


@kernel("norm", "x")
def batch_norm_forward(x, w, b, m, v, *, eps):
    scale = w / np.sqrt(v + eps)
    return (x - _columns(m, x.ndim)) * _columns(scale, x.ndim) + _columns(b, x.ndim)


@kernel("norm", GIVEN, GIVEN, GIVEN)
def batch_norm_dx(dy, x, w, m, v, *, eps, constant, sum):
    n, axes, count = x.ndim, _all_but_channels(x.ndim), x.size // x.shape[1]
    r = 1 / np.sqrt(v + eps)
    h = (x - _columns(m, n)) * _columns(r, n)
    dw, db = sum(dy * h, axis=axes), sum(dy, axis=axes)
    dx = dy if constant else dy - _columns(db / count, n) - h * _columns(dw / count, n)
    return dx * _columns(w * r, n), dw, db


def batch_norm_backward(dy, x, w, m, v, to, eps, constant):
    dx, dw, db = batch_norm_dx(
        dy, x, w, m, v, eps=eps, constant=constant, to=tuple(t or dy.dtype for t in to[:3])
    )
    return dx, dw, db, None, None


@op
def batch_norm_(x, w, b, m, v, *, eps, constant):
    y = batch_norm_forward(x, w, b, m, v, eps=eps)
    return y, (x, w, m, v), batch_norm_backward


def batch_norm(x, mean, var, weight=None, bias=None, eps=1e-5, *, constant):
    """Normalise each channel of x (N, C, ...) by a mean and a variance, both (C).

    constant: whether they are constants (evaluation) or x's own statistics (training), which the
    gradient then flows through.
    """
    channels = (x.shape[1],) if x.ndim >= 2 else None
    for name, v in (("mean", mean), ("var", var), ("weight", weight), ("bias", bias)):
        if v is not None and v.shape != channels:
            raise ShapeError(f"batch_norm: {name} of shape {v.shape} for x of shape {x.shape}")
    weight = np.ones(mean.shape, mean.dtype) if weight is None else weight
    bias = np.zeros(mean.shape, mean.dtype) if bias is None else bias
    return batch_norm_(x, weight, bias, mean, var, eps=eps, constant=constant)
