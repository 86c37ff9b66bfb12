"""The compiled kernel of adadelta.py."""

import math

from minifp.optim.block_numba import update


def adadelta_numbers(*, lr, rho, eps, weight_decay):
    return lr, rho, 1 - rho, eps, weight_decay


@update(adadelta_numbers)
def adadelta(w, g, v, u, /, lr, rho, rest, eps, decay):
    if decay != 0:
        g = g + decay * w
    v = rho * v + rest * (g * g)
    x = math.sqrt(u + eps) / math.sqrt(v + eps) * g
    return w - lr * x, v, rho * u + rest * (x * x)
