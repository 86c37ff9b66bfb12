"""The compiled kernel of radam.py."""

import math

from minifp.optim.block_numba import update
from minifp.optim.radam import rectification


def radam_numbers(*, lr, betas, eps, weight_decay, decoupled_weight_decay, step):
    (b1, b2), decoupled = betas, decoupled_weight_decay
    kept = 1 - lr * weight_decay if decoupled else 1.0
    rate, factor = lr / (1 - b1**step), rectification(b2, step)
    is_long = factor is not None
    rate *= factor if is_long else 1.0
    return b1, 1 - b1, b2, 1 - b2, 0.0 if decoupled else weight_decay, kept, rate, eps, is_long


@update(radam_numbers)
def radam(w, g, m, v, /, b1, c1, b2, c2, decay, kept, rate, eps, is_long):
    if decay != 0:
        g = g + decay * w
    m = b1 * m + c1 * g
    v = b2 * v + c2 * (g * g)
    step = m / (math.sqrt(v) + eps) if is_long != 0 else m
    return w * kept - rate * step, m, v
