"""Losses of a difference d = x - t, with x and t of one shape.

mse:        d^2
l1:         |d|
smooth l1:  d^2 / (2 beta) where |d| < beta, else |d| - beta / 2     (Girshick 2015, equation 3)
huber:      d^2 / 2 where |d| <= delta, else delta (|d| - delta / 2)  (Huber 1964, equation 1.5)

What is stored and where sums are: see loss.py. dt = -dx.
"""

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.numerics.formats import is_float
from minifp.ops.arguments import check_positive
from minifp.ops.losses.loss import check_pair, check_reduction, divisor_of, elementwise_loss
from minifp.ops.public import public


def regression_loss(name, value, slope):
    """The operation with losses value(x - t, **settings) and their slope."""

    def losses(x, t, w, p, **settings):
        return value(x - t, **settings)

    def x_slope(x, t, w, p, **settings):
        return slope(x - t, **settings)

    def t_slope(x, t, w, p, **settings):
        return -slope(x - t, **settings)

    return elementwise_loss(name, losses, x_slope, t_slope)


def _steepness(beta):
    return 1 / beta if beta else 1.0  # of beta = 0 nothing is below it


def _smooth(d, beta):
    a = np.abs(d)
    return np.where(a < beta, d * d * (0.5 * _steepness(beta)), a - beta / 2)


def _huber(d, delta):
    a = np.abs(d)
    return np.where(a <= delta, d * d / 2, delta * (a - delta / 2))


mse_op = regression_loss("mse_loss", lambda d: d * d, lambda d: 2 * d)
l1_op = regression_loss("l1_loss", np.abs, np.sign)
smooth_l1_op = regression_loss(
    "smooth_l1_loss",
    _smooth,
    lambda d, beta: np.where(np.abs(d) < beta, d * _steepness(beta), np.sign(d)),
)
huber_op = regression_loss("huber_loss", _huber, lambda d, delta: np.clip(d, -delta, delta))


def _compared(function, operation, input, target, reduction, **settings):
    check_reduction(function, reduction)
    if isinstance(target, Tensor) and target.array.dtype.kind in "iu" and is_float(input.dtype):
        target = target.to(dtype=input.dtype)  # as PyTorch promotes it
    check_pair(function, input, target)
    divisor = divisor_of(reduction, input.shape)
    return operation(input, target, None, None, divisor=divisor, **settings)


@public("F", autocast="loss")
def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The mean squared difference of two tensors of one shape; a float32 scalar unless "none".

    Raises DTypeError for anything but floating tensors, ShapeError for two shapes.
    """
    return _compared("mse_loss", mse_op, input, target, reduction)


@public("F", autocast="loss")
def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The mean absolute difference of two tensors of one shape; a float32 scalar unless "none".

    Raises DTypeError for anything but floating tensors, ShapeError for two shapes.
    """
    return _compared("l1_loss", l1_op, input, target, reduction)


@public("F", autocast="loss")
def smooth_l1_loss(
    input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0
) -> Tensor:
    """Squared differences (over 2 beta) below `beta`, absolute ones (less beta / 2) above.

    A float32 scalar unless "none". beta = 0 is l1_loss. Raises DTypeError for anything but floating
    tensors, ShapeError for two shapes, ArgumentError for a beta below 0.
    """
    check_range("smooth_l1_loss: beta", beta)
    return _compared("smooth_l1_loss", smooth_l1_op, input, target, reduction, beta=float(beta))


@public("F", autocast="loss")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """Half the squared differences up to `delta`, delta (|d| - delta / 2) above.

    A float32 scalar unless "none". Raises DTypeError for anything but floating tensors, ShapeError
    for two shapes, ArgumentError for a delta not above 0.
    """
    check_positive("huber_loss: delta", delta)
    return _compared("huber_loss", huber_op, input, target, reduction, delta=float(delta))
