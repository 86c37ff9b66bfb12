"""Reductions over axes: summed in `reduce` (float32 unless asked), rounded once.

A reduction to a scalar is not rounded to a storage format at all: a loss written by hand does not
overflow at 65504, and the seed of backward meets float32.
"""

import math

import numpy as np

from minifp.backend import kernel
from minifp.errors import DTypeError, ShapeError
from minifp.policy import GIVEN
from minifp.recording import op
from minifp.tape import Tensor


def as_axes(dim, ndim, name="dim"):
    """`dim` (None for all, an integer, or several) as a sorted tuple of axes.

    Raises DTypeError for what are no integers, ShapeError for axes that are not there or twice.
    """
    dims = range(ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    for d in dims:
        if not isinstance(d, (int, np.integer)):
            raise DTypeError(f"{name}={dim!r}: expected an integer, several of them, or None")
        if not -ndim <= d < max(ndim, 1):
            raise ShapeError(
                f"{name}={dim} for a tensor of {ndim} dimensions: expected {-ndim} to {ndim - 1}"
            )
    axes = tuple(sorted(int(d) % ndim for d in dims)) if ndim else ()
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{name}={dim} names a dimension twice")
    return axes


def as_axis(dim, ndim, name="dim"):
    """`dim`, one integer, as an axis. Raises as as_axes does."""
    if not isinstance(dim, (int, np.integer)):
        raise DTypeError(f"{name}={dim!r}: expected an integer")
    if ndim == 0:
        raise ShapeError(f"{name}={dim} for a tensor without dimensions")
    return as_axes(dim, ndim, name)[0]


def expand_like(dy, x_shape, axes):
    """dy with the reduced axes put back, as a view of shape x_shape."""
    kept = tuple(1 if i in axes else n for i, n in enumerate(x_shape))
    return np.broadcast_to(dy.reshape(kept), x_shape)


@kernel("reduce", "x")
def sum_forward(x, *, axes, keepdims, sum):
    return sum(x, axis=axes, keepdims=keepdims)


@kernel("reduce", "x")
def mean_forward(x, *, axes, keepdims, sum):
    return sum(x, axis=axes, keepdims=keepdims) / math.prod(x.shape[i] for i in axes)


@kernel("map", GIVEN)
def spread(dy, *, shape, axes, divisor):
    return expand_like(dy, shape, axes) / divisor


def sum_backward(dy, shape, axes, to, keepdims=False, dim=None):
    return (spread(dy, shape=shape, axes=axes, divisor=1, to=to[0]),)


@op
def sum_(x, *, dim=None, keepdims=False):
    axes = as_axes(dim, x.ndim)
    return sum_forward(x, axes=axes, keepdims=keepdims), (x.shape, axes), sum_backward


def mean_backward(dy, shape, axes, to, keepdims=False, dim=None):
    count = math.prod(shape[i] for i in axes)
    return (spread(dy, shape=shape, axes=axes, divisor=count, to=to[0]),)


@op
def mean_(x, *, dim=None, keepdims=False):
    axes = as_axes(dim, x.ndim)
    return mean_forward(x, axes=axes, keepdims=keepdims), (x.shape, axes), mean_backward


@kernel("reduce", "x")
def var_forward(x, *, axes, keepdims, correction, sum):
    count = math.prod(x.shape[i] for i in axes)
    centred = x - sum(x, axis=axes, keepdims=True) / count
    return sum(centred * centred, axis=axes, keepdims=keepdims) / max(count - correction, 0)


@kernel("reduce", GIVEN)
def var_dx(dy, x, *, axes, correction, sum):
    count = math.prod(x.shape[i] for i in axes)
    centred = x - sum(x, axis=axes, keepdims=True) / count
    return expand_like(dy, x.shape, axes) * centred * 2 / max(count - correction, 0)


def var_backward(dy, x, axes, to, correction=1, keepdims=False, dim=None):
    return (var_dx(dy, x, axes=axes, correction=correction, to=to[0]),)


@op
def var_(x, *, dim=None, correction=1, keepdims=False):
    axes = as_axes(dim, x.ndim)
    y = var_forward(x, axes=axes, keepdims=keepdims, correction=correction)
    return y, (x, axes), var_backward


def extreme(name, value):
    """The operation amax or amin: the extremes share the gradient, as in PyTorch."""

    def forward(x, *, axes, keepdims):
        return value(x, axis=axes, keepdims=keepdims)

    def dx(dy, x, y, *, axes, sum):
        chosen = x == expand_like(y, x.shape, axes)
        share = chosen / sum(chosen * np.ones_like(x), axis=axes, keepdims=True)
        return expand_like(dy, x.shape, axes) * share

    forward.__name__, dx.__name__ = f"{name}_forward", f"{name}_dx"
    forward, dx = kernel("map", "x")(forward), kernel("map", GIVEN)(dx)

    def backward(dy, x, y, axes, to, keepdims=False, dim=None):
        return (dx(dy, x, y, axes=axes, to=to[0]),)

    def apply(x, *, dim=None, keepdims=False):
        axes = as_axes(dim, x.ndim)
        if any(x.shape[i] == 0 for i in axes):
            raise ShapeError(f"{name} of no numbers: shape {x.shape}, dim={dim}")
        y = forward(x, axes=axes, keepdims=keepdims)
        return y, (x, y, axes), backward

    apply.__name__ = apply.__qualname__ = name
    return op(apply)


amax_, amin_ = extreme("amax", np.max), extreme("amin", np.min)


def sum(x, dim=None, keepdim=False):
    """The sum over `dim` (an axis, several, or None for all)."""
    return sum_(x, dim=dim, keepdims=keepdim)


def mean(x, dim=None, keepdim=False):
    """The mean over `dim` (an axis, several, or None for all)."""
    return mean_(x, dim=dim, keepdims=keepdim)


def var(x, dim=None, *, correction=1, keepdim=False):
    """The variance over `dim`, divided by n - correction (1: unbiased, Bessel's)."""
    return var_(x, dim=dim, correction=correction, keepdims=keepdim)


def amax(x, dim=None, keepdim=False):
    """The largest over `dim`; equal ones share the gradient."""
    return amax_(x, dim=dim, keepdims=keepdim)


def amin(x, dim=None, keepdim=False):
    """The smallest over `dim`; equal ones share the gradient."""
    return amin_(x, dim=dim, keepdims=keepdim)


def argmax(x, dim=None, keepdim=False):
    """The index (int64) of the first largest along `dim`, or in the flattened tensor."""
    return _arg("argmax", x, dim, keepdim)


def argmin(x, dim=None, keepdim=False):
    """The index (int64) of the first smallest along `dim`, or in the flattened tensor."""
    return _arg("argmin", x, dim, keepdim)


def _arg(name, x, dim, keepdim):
    axis = None if dim is None else as_axis(dim, x.ndim, f"{name}: dim")
    if x.array.size == 0:
        raise ShapeError(f"{name} of no numbers: shape {x.shape}, dim={dim}")
    return Tensor(np.asarray(getattr(np, name)(x.array, axis=axis, keepdims=keepdim)))
