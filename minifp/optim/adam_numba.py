"""The compiled kernel of adam.py."""

import math

from minifp.optim.block_numba import update


def adam_numbers(*, lr, betas, eps, weight_decay, decoupled_weight_decay, step):
    (b1, b2), decoupled = betas, decoupled_weight_decay
    kept = 1 - lr * weight_decay if decoupled else 1.0
    rate, factor = lr / (1 - b1**step), 1 / math.sqrt(1 - b2**step)
    return b1, 1 - b1, b2, 1 - b2, 0.0 if decoupled else weight_decay, kept, rate, factor, eps


@update(adam_numbers)
def adam(w, g, m, v, largest, /, b1, c1, b2, c2, decay, kept, rate, factor, eps):
    if decay != 0:
        g = g + decay * w
    m = b1 * m + c1 * g
    v = b2 * v + c2 * (g * g)
    if largest is None:
        largest = v
    else:
        largest = v if v > largest or v != v else largest
    return w * kept - rate * (m / (math.sqrt(largest) * factor + eps)), m, v, largest
