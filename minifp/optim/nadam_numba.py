"""The compiled kernel of nadam.py."""

import math

from minifp.optim.block_numba import update


def nadam_numbers(
    *, lr, betas, eps, weight_decay, decoupled_weight_decay, step, of_gradient, of_moment
):
    (b1, b2), decoupled = betas, decoupled_weight_decay
    kept = 1 - lr * weight_decay if decoupled else 1.0
    factors = of_gradient, of_moment, 1 - b2**step
    return b1, 1 - b1, b2, 1 - b2, lr, 0.0 if decoupled else weight_decay, kept, *factors, eps


@update(nadam_numbers)
def nadam(w, g, m, v, /, b1, c1, b2, c2, lr, decay, kept, of_gradient, of_moment, known, eps):
    if decay != 0:
        g = g + decay * w
    m = b1 * m + c1 * g
    v = b2 * v + c2 * (g * g)
    step = (of_gradient * g + of_moment * m) / (math.sqrt(v / known) + eps)
    return w * kept - lr * step, m, v
