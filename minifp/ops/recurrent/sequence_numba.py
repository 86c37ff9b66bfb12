"""What the compiled kernels of recurrent layers share: weights packed once a pass, and threads.

The weights are widened once, into the panels that products read. Each thread then takes some
sequences of the batch through all steps, without waiting for another: the products of some steps'
inputs at once, and from step to step the product of the state, with the gates right behind it.
"""

import numpy as np

from minifp.runtime.cpu.compile import inline
from minifp.runtime.cpu.half import load, rounded, store, view
from minifp.runtime.cpu.math import sigmoid32, tanh32
from minifp.runtime.cpu.packing import pack_columns, pack_rows
from minifp.runtime.cpu.pool import WORTH_A_THREAD, aligned, parallel
from minifp.runtime.cpu.threads import get_num_threads
from minifp.runtime.cpu.tile import COLUMNS, LANES, ROWS, address, multiply, up

INPUTS = 2**16  # numbers of sums of inputs that a thread makes at once


@parallel
def pack_panels(panel, scratch, w, sk, sn, K, N, out):
    """B (K, N) of w, whose elements lie sk and sn apart, as panels (N / COLUMNS, K, COLUMNS)."""
    n = panel * COLUMNS
    pack_columns(w, n * sn, sk, sn, K, min(COLUMNS, N - n), out[n * K :])


def panels(w, turned):
    """w (O, I), or (turned) its transpose, widened and packed as products read it."""
    w = np.ascontiguousarray(w)
    (N, K), (sn, sk) = w.shape, (w.shape[1], 1)
    if not turned:
        K, N, sk, sn = N, K, sn, sk
    out = aligned(up(N, COLUMNS) * K)
    pack_panels(up(N, COLUMNS) // COLUMNS, view(w).reshape(-1), sk, sn, K, N, out, cost=w.size / 4)
    return out


def table(K):
    """Where the rows of a panel begin."""
    return np.arange(K, dtype=np.int32) * COLUMNS


def parts(batch, cost):
    """(how many chunks, sequences of each): whole strips of rows where there are enough."""
    threads = get_num_threads() if cost > WORTH_A_THREAD else 1
    size = -(-batch // threads)
    size = up(size, ROWS) if batch >= ROWS * threads else size
    return -(-batch // size), size


def alike(dtypes, *arrays):
    """Whether all arrays are stored in one format, which is that of all results."""
    first = arrays[0].dtype
    return all(a is None or a.dtype == first for a in arrays) and all(d == first for d in dtypes)


def biases(size, *given):
    """The sum of biases in float32, zeros for none."""
    total = np.zeros(size, np.float32)
    for b in given:
        if b is not None:
            total += b
    return total


# ---- rows of numbers: each a loop that runs in vector registers ---------------------------------
#
# A row in the workspace is a pointer. numba would look at an index into an array whether it counts
# from the end, and a loop that does so is computed one number at a time.


@inline
def load_run(x, i, row, n):
    """row = n numbers of x from x[i] on, widened."""
    for k in range(n):
        row[k] = load(x, i + k)


@inline
def store_run(row, out, j, n):
    """n numbers of out from out[j] on = row, stored."""
    for k in range(n):
        store(out, j + k, row[k])


@inline
def store_sigmoids(z, bias, out, j, n):
    """n numbers of out from out[j] on, and z = the sigmoids of z + bias, as stored."""
    for k in range(n):
        z[k] = rounded(out, sigmoid32(z[k] + bias[k]))
    store_run(z, out, j, n)


@inline
def store_tanhs(z, bias, out, j, n):
    """The same with tanh."""
    for k in range(n):
        z[k] = rounded(out, tanh32(z[k] + bias[k]))
    store_run(z, out, j, n)


# ---- what both begin with -----------------------------------------------------------------------


@inline
def input_products(scratch, x, spans, begin, end, first, rows, I, wi, G, steps, x0, z0):
    """x w_ihT of some sequences in steps begin to end, at z0, a strip of rows for each step.

    x0: where their inputs are put, as products read them.
    """
    high, wide = (rows + ROWS - 1) // ROWS * ROWS, (G + COLUMNS - 1) // COLUMNS * COLUMNS
    apart = ROWS * I + LANES
    for t in range(begin, end):
        n = min(spans[t, 1] - spans[t, 0] - first, rows)
        to = x0 + (t - begin) * high // ROWS * apart
        pack_rows(x, (spans[t, 0] + first) * I, I, 1, n, I, scratch[to:], apart)
    multiply(
        *(address(scratch, x0), apart, (end - begin) * high, address(wi, 0), I * COLUMNS, G),
        *(address(steps, 0), I, address(scratch, z0), wide, 0),
    )


@inline
def state_products(scratch, rows, n, K, w, N, steps, strips, to, more):
    """Products of n rows of K numbers, at `rows`, with packed weights, put (or added) at `to`.

    strips: where the rows are put as products read them.
    """
    apart, wide = ROWS * K + LANES, (N + COLUMNS - 1) // COLUMNS * COLUMNS
    pack_rows(scratch, rows, K, 1, n, K, scratch[strips:], apart)
    multiply(
        *(address(scratch, strips), apart, n, address(w, 0), K * COLUMNS, N, address(steps, 0), K),
        *(address(scratch, to), wide, more),
    )


@inline
def load_run_before(states, first_states, spans, k, sequence, row, H):
    """row = the state that step k of a sequence read."""
    if k > 0 and sequence < spans[k - 1, 1] - spans[k - 1, 0]:
        load_run(states, (spans[k - 1, 0] + sequence) * H, row, H)
    else:
        load_run(first_states, sequence * H, row, H)
