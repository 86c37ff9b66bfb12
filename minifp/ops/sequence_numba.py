"""What the twins of recurrent layers share: weights packed once a pass, and threads.

The weights are widened once, into the panels that products read. Each thread then takes some
sequences of the batch through all steps, without waiting for another: the products of some steps'
inputs at once, and from step to step the product of the state, with the gates right behind it.
"""

import numpy as np

from minifp.cpu import pool
from minifp.cpu.compile import part
from minifp.cpu.gemm import pack_columns
from minifp.cpu.half import load, rounded, store, view
from minifp.cpu.math import sigmoid32, tanh32
from minifp.cpu.pool import chunked
from minifp.cpu.tile import COLUMNS, ROWS

NANOSECONDS = 1 / 40  # a multiplication and addition, on one core
INPUTS = 2**16  # numbers of sums of inputs that a thread makes at once


def up(n, unit):
    """n, or the next multiple of a unit."""
    return -(-n // unit) * unit


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
    threads = pool.threads() if cost > pool.WORTH_A_THREAD else 1
    size = -(-batch // threads)
    size = up(size, ROWS) if batch >= ROWS * threads else size
    return -(-batch // size), size


def flat(x):
    """x in C order, as kernels take it."""
    return view(np.ascontiguousarray(x)).reshape(-1)


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
