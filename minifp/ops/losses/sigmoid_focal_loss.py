"""Focal loss of logits x with targets t in [0, 1] (Lin et al. 2017, arXiv:1708.02002, equation 5).

    l = a b q^g,   a = A t + (1 - A) (1 - t)  (1 if A < 0),   p = sigmoid(x)
    b = (1 - t) s(x) + t s(-x),  s(x) = log(1 + e^x):  binary cross entropy
    q = p (1 - t) + (1 - p) t:  how wrong p is
    dx = a q^g ((1 - t) p - t (1 - p) + g b (1 - 2 t) p (1 - p) / q)
    dt = (2 A - 1) b q^g + a q^g (g b (1 - 2 p) / q - x)

A, g: the settings alpha and gamma. Logarithms are of no probability that has been rounded, and no
term of b, q and a is negative: nothing cancels. What is stored and where sums are: see loss.py.
"""

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.ops.losses.loss import check_pair, check_reduction, divisor_of, elementwise_loss
from minifp.ops.public import public


def parts_of(x, t, alpha, gamma):
    """(a, b, p, 1 - p, q, q^g) of logits."""
    e = np.exp(-np.abs(x))
    more, less = 1 / (1 + e), e / (1 + e)  # the sigmoids of x and of -x, in either order
    p, other = np.where(x < 0, less, more), np.where(x < 0, more, less)
    entropy = (1 - t) * np.maximum(x, 0) + t * np.maximum(-x, 0) + np.log1p(e)
    wrong = p * (1 - t) + other * t
    weight = alpha * t + (1 - alpha) * (1 - t) if alpha >= 0 else 1.0
    return weight, entropy, p, other, wrong, np.power(wrong, gamma) if gamma else 1.0


def focal(x, t, w, p, alpha, gamma):
    weight, entropy, _, _, _, focus = parts_of(x, t, alpha, gamma)
    return weight * entropy * focus


def focal_dx(x, t, w, p, alpha, gamma):
    weight, entropy, p, other, wrong, focus = parts_of(x, t, alpha, gamma)
    slope = (1 - t) * p - t * other
    if not gamma:
        return weight * slope
    slope = slope + gamma * entropy * (1 - 2 * t) * (p * other) / wrong
    return np.where(wrong == 0, 0, weight * focus * slope)


def focal_dt(x, t, w, p, alpha, gamma):
    weight, entropy, p, other, wrong, focus = parts_of(x, t, alpha, gamma)
    change = (2 * alpha - 1) * entropy if alpha >= 0 else 0.0
    if not gamma:
        return change - weight * x
    slope = gamma * entropy * (other - p) / wrong - x
    return np.where(wrong == 0, 0, focus * (change + weight * slope))


focal_op = elementwise_loss("sigmoid_focal_loss", focal, focal_dx, focal_dt)


@public("F", autocast="loss")
def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """Cross entropy of logits in which what is right already counts less, in nats.

    inputs, targets: of one shape, targets from 0 to 1. alpha: the weight of targets of 1, 1 - alpha
    that of 0; -1 for none. gamma: how fast the weight falls, 0 for binary cross entropy. reduction:
    "none" for losses of inputs' shape and format, or "sum" or "mean" for a float32 scalar.
    Raises DTypeError for anything but floating tensors, ShapeError for two shapes, ArgumentError
    for an alpha that is neither -1 nor from 0 to 1, and for a negative gamma.
    """
    function = "sigmoid_focal_loss"
    check_reduction(function, reduction)
    check_pair(function, inputs, targets)
    if type(alpha) not in (int, float) or alpha != -1:
        check_range(f"{function}: alpha", alpha, 0, 1)
    check_range(f"{function}: gamma", gamma)
    settings = {"alpha": float(alpha), "gamma": float(gamma)}
    divisor = divisor_of(reduction, inputs.shape)
    return focal_op(inputs, targets, None, None, divisor=divisor, **settings)
