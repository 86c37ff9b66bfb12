"""The compiled kernel of rmsprop.py."""

import math

import numpy as np

from minifp.optim.block_numba import update

ZERO = np.float32(0)


def rmsprop_numbers(*, lr, alpha, eps, weight_decay, momentum):
    return lr, alpha, 1 - alpha, eps, weight_decay, momentum


@update(rmsprop_numbers)
def rmsprop(w, g, v, h, b, /, lr, alpha, rest, eps, decay, momentum):
    if decay != 0:
        g = g + decay * w
    v = alpha * v + rest * (g * g)
    if h is None:
        h = variance = v
    else:
        h = alpha * h + rest * g
        variance = v - h * h
        variance = ZERO if variance < ZERO else variance
    step = g / (math.sqrt(variance) + eps)
    if b is None:
        b = step
    else:
        b = step = momentum * b + step
    return w - lr * step, v, h, b
