"""The compiled kernel of adagrad.py."""

import math

from minifp.optim.block_numba import update


def adagrad_numbers(*, lr, lr_decay, weight_decay, eps, step):
    return lr / (1 + (step - 1) * lr_decay), weight_decay, eps


@update(adagrad_numbers)
def adagrad(w, g, s, /, rate, decay, eps):
    if decay != 0:
        g = g + decay * w
    s = s + g * g
    return w - rate * (g / (math.sqrt(s) + eps)), s
