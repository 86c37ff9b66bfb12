"""Compiled kernels of regression_loss.py. All four losses are one function of d = x - t:

f(d) = square d^2 where |d| <= bend, else line (|d| - start)
f'(d) = steep d there, else line sign(d)
"""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.dispatch import pointwise
from minifp.runtime.cpu.compile import compiled, inline
from minifp.runtime.cpu.half import VIEWS, flat, load, store
from minifp.runtime.cpu.pool import parallel, spans
from minifp.runtime.cpu.sums import BLOCK, CHUNK

NANOSECONDS = 0.4  # an element
ZERO = np.float32(0)


@pointwise
def regression_loss(x, t, *, bend, square, line, start):
    d = abs(x - t)
    return np.where(d <= bend, d * d * square, line * (d - start))


@pointwise
def regression_slope(x, t, dl, *, bend, steep, line, share):
    d = x - t
    far = np.where(d > 0, line, np.where(d < 0, -line, d))  # 0 or NaN
    return np.where(abs(d) <= bend, steep * d, far) * (dl * share)


@inline(sums=True)
def _total_of_block(x, t, first, stop, bend, square, line, start):
    total = ZERO
    for i in range(first, stop):
        d = abs(load(x, i) - load(t, i))
        total += d * d * square if d <= bend else line * (d - start)
    return total


@parallel
def regression_loss_sums(chunk, scratch, per, n, bend, square, line, start, x, t, out):
    out[chunk] = 0
    for i in range(chunk * per, min((chunk + 1) * per, n), BLOCK):
        stop = min(i + BLOCK, (chunk + 1) * per, n)
        out[chunk] += _total_of_block(x, t, i, stop, bend, square, line, start)


@compiled
def divided_sum(parts, divisor, out):
    """out = the sum of the parts, divided."""
    total = 0.0
    for x in parts:
        total += x
    store(out, 0, total / divisor)


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
        names = ("bend", "square", "line", "start")
        return regression_loss(x, t, to=to, **dict(zip(names, numbers(**settings)[0])))

    @compiled_kernel
    def total(x, t, w, p, *, divisor, to, **settings):
        if x.dtype not in VIEWS or t.dtype not in VIEWS or not x.size:
            return None
        chunks, per = spans(x.size, CHUNK)
        found, numbers_of = np.empty(chunks), map(np.float32, numbers(**settings)[0])
        regression_loss_sums(
            *(chunks, per, x.size, *numbers_of, flat(x), flat(t), found),
            cost=x.size * NANOSECONDS,
        )
        loss = np.empty((), to[0])
        divided_sum(found, float(divisor), flat(loss))
        return loss

    def gradient(dl, x, t, divisor, sign, to, settings):
        names = ("bend", "steep", "line")
        found = dict(zip(names, numbers(**settings)[1]))
        return regression_slope(x, t, dl, share=sign / divisor, to=to, **found)

    @compiled_kernel
    def dx(dl, x, t, w, p, *, divisor, to, **settings):
        return gradient(dl, x, t, divisor, 1, to, settings)

    @compiled_kernel
    def dt(dl, x, t, w, p, *, divisor, to, **settings):
        return gradient(dl, x, t, divisor, -1, to, settings)

    return each, total, dx, dt


mse_loss_each, mse_loss_total, mse_loss_dx, mse_loss_dt = kernels_of(of_squares)
l1_loss_each, l1_loss_total, l1_loss_dx, l1_loss_dt = kernels_of(of_sizes)
smooth_l1_loss_each, smooth_l1_loss_total, smooth_l1_loss_dx, smooth_l1_loss_dt = kernels_of(smooth)
huber_loss_each, huber_loss_total, huber_loss_dx, huber_loss_dt = kernels_of(huber)
