"""The compiled kernel of sgd.py."""

from minifp.optim.block_numba import update


def sgd_numbers(*, lr, momentum, dampening, weight_decay, nesterov, first):
    return lr, momentum, 1 - dampening, weight_decay, nesterov, first


@update(sgd_numbers)
def sgd(w, g, v, /, lr, momentum, new, decay, nesterov, first):
    if decay != 0:
        g = g + decay * w
    if v is None:
        return w - lr * g, g
    v = g if first != 0 else momentum * v + new * g
    return w - lr * (g + momentum * v if nesterov != 0 else v), v
