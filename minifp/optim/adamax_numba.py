"""The compiled kernel of adamax.py."""

from minifp.optim.block_numba import update


def adamax_numbers(*, lr, betas, eps, weight_decay, step):
    b1, b2 = betas
    return b1, 1 - b1, b2, lr / (1 - b1**step), eps, weight_decay


@update(adamax_numbers)
def adamax(w, g, m, u, /, b1, c1, b2, rate, eps, decay):
    if decay != 0:
        g = g + decay * w
    m = b1 * m + c1 * g
    u, largest = b2 * u, abs(g) + eps
    u = largest if largest > u or largest != largest else u
    return w - rate * (m / u), m, u
