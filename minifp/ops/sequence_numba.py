"""What the twins of recurrent layers share: weights packed once a pass, and threads.

The weights are widened once, into the panels that products read. Each thread then takes some
sequences of the batch through all steps, without waiting for another: the products of some steps'
inputs at once, and from step to step the product of the state, with the gates right behind it.
"""

import numpy as np

from minifp.cpu.compile import part
from minifp.cpu.gemm import pack_columns
from minifp.cpu.half import load, rounded, store, view
from minifp.cpu.math import sigmoid32, tanh32
from minifp.cpu.pool import WORTH_A_THREAD, chunked
from minifp.cpu.threads import get_num_threads
from minifp.cpu.tile import COLUMNS, LANES, ROWS, address, multiply, up

INPUTS = 2**16  # numbers of sums of inputs that a thread makes at once


@chunked
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
    out = np.empty(up(N, COLUMNS) * K, np.float32)
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


@part
def take(x, i, out, j, n):
    """out[j] = x[i], widened, and the n - 1 behind them."""
    for k in range(n):
        out[j + k] = load(x, i + k)


@part
def put(x, i, out, j, n):
    """out[j] = x[i], stored, and the n - 1 behind them."""
    for k in range(n):
        store(out, j + k, x[i + k])


@part
def put_sigmoids(z, i, bias, b, out, j, n):
    """out[j] = z[i] = the sigmoid of z[i] + bias[b], as stored, and the n - 1 behind them."""
    for k in range(n):
        z[i + k] = rounded(out, sigmoid32(z[i + k] + bias[b + k]))
    put(z, i, out, j, n)


@part
def put_tanhs(z, i, bias, b, out, j, n):
    """The same with tanh."""
    for k in range(n):
        z[i + k] = rounded(out, tanh32(z[i + k] + bias[b + k]))
    put(z, i, out, j, n)


# ---- what both begin with -----------------------------------------------------------------------


@part
def input_products(scratch, x, spans, begin, end, first, rows, I, wi, G, steps, x0, z0):
    """x w_ihT of some sequences in steps begin to end, at z0, a strip of rows for each step.

    x0: where their inputs are put, as products read them.
    """
    high, wide = (rows + ROWS - 1) // ROWS * ROWS, (G + COLUMNS - 1) // COLUMNS * COLUMNS
    apart = I + LANES
    for t in range(begin, end):
        n = min(spans[t, 1] - spans[t, 0] - first, rows)
        for r in range(n):
            to = x0 + ((t - begin) * high + r) * apart
            take(x, (spans[t, 0] + first + r) * I, scratch, to, I)
    multiply(
        *(address(scratch, x0), ROWS * apart, apart, 1, (end - begin) * high),
        *(address(wi, 0), I * COLUMNS, G, address(steps, 0), I, address(scratch, z0), wide, 0),
    )


@part
def before_step(scratch, states, first_states, spans, k, sequence, H, to):
    """Put the state that step k of a sequence read, in the order of the steps."""
    if k > 0 and sequence < spans[k - 1, 1] - spans[k - 1, 0]:
        take(states, (spans[k - 1, 0] + sequence) * H, scratch, to, H)
    else:
        take(first_states, sequence * H, scratch, to, H)
