"""Kernels of regression_loss.py for a GPU. All four losses are one function of d = x - t:

f(d) = square d^2 where |d| <= bend, else line (|d| - start)
f'(d) = steep d there, else line sign(d)
"""

import math

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cuda.pointwise import Formula, run, summed


def regression_loss(x, t, *, bend, square, line, start):
    d = abs(x - t)
    return d * d * square if d <= bend else line * (d - start)


def regression_slope(x, t, dl, *, bend, steep, line, share):
    d = x - t
    far = line if d > 0 else -line if d < 0 else d  # 0 or NaN
    return (steep * d if abs(d) <= bend else far) * (dl * share)


LOSS, SLOPE = Formula(regression_loss), Formula(regression_slope)

# ---- of each loss: (bend, square, line, start), and (bend, steep, line) -------------------------


def of_squares():
    return (math.inf, 1, 1, 0), (math.inf, 2, 1)


def of_sizes():
    return (-1, 0, 1, 0), (-1, 0, 1)


def smooth(beta):
    return ((beta, 0.5 / beta, 1, beta / 2), (beta, 1 / beta, 1)) if beta else of_sizes()


def huber(delta):
    return (delta, 0.5, delta, delta / 2), (delta, 1, delta)


def kernels_of(numbers):
    """(each, total, dx, dt) of the loss with these numbers."""

    @compiled_kernel
    def each(x, t, w, p, *, to, **settings):
        return run(LOSS, (x, t), to[0], numbers(**settings)[0])

    @compiled_kernel
    def total(x, t, w, p, *, divisor, to, **settings):
        if not x.size:
            return None
        axes = tuple(range(x.ndim))
        return summed(LOSS, (x, t), axes, to[0], numbers(**settings)[0], 1 / divisor)

    def gradient(sign):
        @compiled_kernel
        def slope(dl, x, t, w, p, *, divisor, to, **settings):
            numbers_of = (*numbers(**settings)[1], sign / divisor)
            return run(SLOPE, (x, t, dl), to[0], numbers_of)

        return slope

    return each, total, gradient(1), gradient(-1)


mse_loss_each, mse_loss_total, mse_loss_dx, mse_loss_dt = kernels_of(of_squares)
l1_loss_each, l1_loss_total, l1_loss_dx, l1_loss_dt = kernels_of(of_sizes)
smooth_l1_loss_each, smooth_l1_loss_total, smooth_l1_loss_dx, smooth_l1_loss_dt = kernels_of(smooth)
huber_loss_each, huber_loss_total, huber_loss_dx, huber_loss_dt = kernels_of(huber)
