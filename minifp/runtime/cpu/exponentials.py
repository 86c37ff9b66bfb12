"""Rows of e^(x - the largest x), and their sums: what softmax and log-sum-exp are made of.

Rows whose elements are neighbours, one after the other; and neighbouring rows, whose elements lie
`step` apart, `width` of them at a time: they lie beside each other in memory, and so in a vector
register.
"""

import numpy as np

from minifp.runtime.cpu.compile import inline
from minifp.runtime.cpu.half import load
from minifp.runtime.cpu.math import NOTHING, exp32
from minifp.runtime.cpu.sums import ROWS, larger, sum_of_run

NANOSECONDS = 1.5  # an element, of each kernel that is made of these
WORTH = 4096  # elements that are worth a chunk
LOWEST = np.float32(-np.inf)

# ---- row after row ------------------------------------------------------------------------------


@inline
def read_row(x, at, n, row):
    """row = x in float32; the largest number, NaN if one is, -Inf of none."""
    m = LOWEST
    for i in range(n):
        value = load(x, at + i)
        row[i] = value
        m = larger(m, value)
    return m


@inline
def exp_of_row(row, n, m, out):
    """out = e^(row - m), and the sum. row and out are not the same array."""
    for i in range(n):
        out[i] = exp32(row[i] - m)
    return sum_of_run(out, 0, n)


# ---- neighbouring rows --------------------------------------------------------------------------


def widths(n, step):
    """(chunks for each n x step elements, rows in each): as many as the L2 cache holds powers."""
    width = min(step, max(16, 16384 // n))
    return -(-step // width), width


@inline
def place_of(chunk, width, n, step):
    """(where the first of a chunk's rows begins, how many there are)."""
    parts = (step + width - 1) // width
    first = chunk % parts * width
    return chunk // parts * n * step + first, min(width, step - first)


@inline
def add_to(totals, part, width):
    """totals += part, which is 0 then. A loop with float64 in it runs in half as many lanes."""
    for j in range(width):
        totals[j] += part[j]
        part[j] = 0


@inline
def exp_of_rows(x, at, n, step, width, sign, scratch):
    """The largest of sign x, the sums of e^(sign x - largest), in float64, and these powers.

    They are in `scratch`, as `parts_of` gives them.
    """
    m, part, totals, powers = parts_of(scratch, width)
    for j in range(width):
        m[j], part[j], totals[j] = LOWEST, NOTHING, 0.0
    for k in range(n):
        for j in range(width):
            m[j] = larger(m[j], sign * load(x, at + k * step + j))
    for k in range(n):
        row = powers[k * width :]
        for j in range(width):
            e = exp32(sign * load(x, at + k * step + j) - m[j])
            row[j] = e
            part[j] += e
        if k % ROWS == ROWS - 1 or k == n - 1:
            add_to(totals, part, width)


@inline
def parts_of(scratch, width):
    """Of a workspace of 4 width numbers and more: two rows, one in float64, and the rest."""
    totals = scratch[2 * width : 4 * width].view(np.float64)
    return scratch[:width], scratch[width : 2 * width], totals, scratch[4 * width :]
