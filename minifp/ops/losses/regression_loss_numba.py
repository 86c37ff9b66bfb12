"""Sums of the losses of regression_loss.py, compiled, in one pass. All four are one function of
d = x - t:

f(d) = square d^2 where |d| <= bend, else line (|d| - start)
"""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cpu.compile import compiled, inline
from minifp.runtime.cpu.half import VIEWS, flat, load, store
from minifp.runtime.cpu.pool import parallel, spans
from minifp.runtime.cpu.sums import BLOCK, CHUNK

NANOSECONDS = 0.4  # an element
ZERO = np.float32(0)


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


# ---- of each loss: (bend, square, line, start) --------------------------------------------------


def of_squares():
    return math.inf, 1, 1, 0


def of_sizes():
    return -1, 0, 1, 0


def smooth(beta):
    return (beta, 0.5 / beta, 1, beta / 2) if beta else of_sizes()


def huber(delta):
    return delta, 0.5, delta, delta / 2


def total_of(numbers):
    """The compiled kernel of the sum of losses with these numbers."""

    @compiled_kernel
    def total(x, t, w, p, *, divisor, to, **settings):
        if x.dtype not in VIEWS or t.dtype not in VIEWS or not x.size:
            return None
        chunks, per = spans(x.size, CHUNK)
        parts = np.empty(chunks)
        regression_loss_sums(
            *(chunks, per, x.size, *map(np.float32, numbers(**settings)), flat(x), flat(t), parts),
            cost=x.size * NANOSECONDS,
        )
        loss = np.empty((), to[0])
        divided_sum(parts, float(divisor), flat(loss))
        return loss

    return total


mse_loss_total, l1_loss_total = total_of(of_squares), total_of(of_sizes)
smooth_l1_loss_total, huber_loss_total = total_of(smooth), total_of(huber)
