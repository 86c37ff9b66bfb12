"""Compiled kernels of lamb.py."""

import math

from minifp.numerics.dispatch import pointwise
from minifp.optim.block_numba import update


def lamb_direction_numbers(*, betas, eps, weight_decay, step):
    b1, b2 = betas
    return b1, 1 - b1, b2, 1 - b2, 1 - b1**step, 1 - b2**step, eps, weight_decay


@update(lamb_direction_numbers)
def lamb_direction(w, g, m, v, /, b1, c1, b2, c2, known_m, known_v, eps, decay):
    m = b1 * m + c1 * g
    v = b2 * v + c2 * (g * g)
    u = (m / known_m) / (math.sqrt(v / known_v) + eps)
    return u + decay * w if decay != 0 else u, m, v


@pointwise
def lamb_step(w, u, *, rate):
    return w - rate * u
