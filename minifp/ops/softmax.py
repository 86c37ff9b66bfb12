"""y_c = e^(x_c - max x) / sum_k e^(x_k - max x) along an axis; dx = y (dy - sum_c dy y).

And its logarithm: y = x - max x - log sum_k e^(x_k - max x); dx = dy - e^y sum_c dy.
x, y stored; the sums are in `reduce`, the results are rounded once. Subtracting the largest first
keeps e^x below 1: in float16 it would overflow from x = 11.1 on.
"""

import numpy as np

from minifp.backend import kernel
from minifp.ops.reduce import as_axis
from minifp.policy import GIVEN
from minifp.recording import op, takes_tensor


@kernel("reduce", "x")
def softmax_forward(x, *, axis, sum):
    e = np.exp(x - x.max(axis, keepdims=True, initial=-np.inf))
    return e / sum(e, axis=axis, keepdims=True)


@kernel("reduce", GIVEN)
def softmax_dx(dy, y, *, axis, sum):
    return y * (dy - sum(dy * y, axis=axis, keepdims=True))


@kernel("reduce", "x")
def log_softmax_forward(x, *, axis, sum):
    x = x - x.max(axis, keepdims=True, initial=-np.inf)
    return x - np.log(sum(np.exp(x), axis=axis, keepdims=True))


@kernel("reduce", GIVEN)
def log_softmax_dx(dy, y, *, axis, sum):
    return dy - np.exp(y) * sum(dy, axis=axis, keepdims=True)


def softmax_backward(dy, y, to, axis):
    return (softmax_dx(dy, y, axis=axis, to=to[0]),)


@op
def softmax_(x, *, axis):
    y = softmax_forward(x, axis=axis)
    return y, (y,), softmax_backward


def log_softmax_backward(dy, y, to, axis):
    return (log_softmax_dx(dy, y, axis=axis, to=to[0]),)


@op
def log_softmax_(x, *, axis):
    y = log_softmax_forward(x, axis=axis)
    return y, (y,), log_softmax_backward


@takes_tensor
def softmax(input, dim):
    """Positive numbers that sum to 1 along `dim`."""
    return softmax_(input, axis=as_axis(dim, input.ndim, "softmax: dim"))


@takes_tensor
def log_softmax(input, dim):
    """The logarithm of softmax, without overflow or loss of small probabilities."""
    return log_softmax_(input, axis=as_axis(dim, input.ndim, "log_softmax: dim"))
