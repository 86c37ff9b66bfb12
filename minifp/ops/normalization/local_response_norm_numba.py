"""Compiled kernels of local_response_norm.py: some positions of a picture at a time, with all of
their channels.

Their squares lie in the workspace, channel after channel, with zeros before and after them: sums
over channels are sums of rows there, in vectors however few positions there are. Each loop is a
function of its own: in one large function LLVM does not see that arrays lie apart.
"""

import math
from typing import NamedTuple

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cpu.compile.decorators import inline
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import flat, parallel, spans
from minifp.runtime.cpu.kernels.sums import add_rows

MOST = 64  # channels of a window, up to which they are added up in float32, four at a time
WORTH = 16384  # elements of a block: three times as many float32 lie in the L2 cache
LANES = 16  # positions that are worth a row
NANOSECONDS = 1.0  # an element, of each kernel
USUAL = 0.75  # the power of the paper, which roots give
ZERO, ONE = np.float32(0), np.float32(1)


class Blocks(NamedTuple):
    """x (N, C, L) in blocks of positions; before, after: the other channels that a window sees."""

    N: int
    C: int
    L: int
    width: int  # positions of a block
    before: int
    after: int

    @property
    def padded(self):
        """Elements of a block, with the zeros before and after it."""
        return (self.before + self.C + self.after) * self.width


def blocks_of(x, size):
    """The blocks of x, which is not empty."""
    N, C = x.shape[:2]
    L = x.size // (N * C)
    width = L if C * L <= 2 * WORTH else min(L, max(LANES, WORTH // C // LANES * LANES))
    return Blocks(N, C, L, width, min(size // 2, C - 1), min((size - 1) // 2, C - 1))


@inline
def block_at(number, C, L, width):
    """Where block `number` begins, and how it lies in memory: (start, positions, rows, their
    length). All channels are one row where the block has all positions."""
    across = (L + width - 1) // width
    first = number % across * width
    positions = min(width, L - first)
    start = number // across * C * L + first
    if positions == L:
        return start, positions, 1, C * L
    return start, positions, C, positions


@inline
def zeros_around(out, before, inside, after):
    for i in range(before):
        out[i] = ZERO
    for i in range(before + inside, before + inside + after):
        out[i] = ZERO


@inline
def write_squares(x, start, rows, n, step, out):
    for r in range(rows):
        i, at = start + r * step, r * n
        for j in range(n):
            v = load(x, i + j)
            out[at + j] = v * v


@inline
def write_powers(n, alpha, beta, k, d, p):
    """d = k + alpha d, and p = d^-beta."""
    if beta == USUAL:
        for i in range(n):
            d[i] = k + alpha * d[i]
            root = math.sqrt(d[i])
            p[i] = ONE / (root * math.sqrt(root))
    else:
        power = np.float32(-beta)
        for i in range(n):
            d[i] = k + alpha * d[i]
            p[i] = d[i] ** power


@inline
def multiply(dy, start, rows, n, step, p):
    """p = dy p."""
    for r in range(rows):
        i, at = start + r * step, r * n
        for j in range(n):
            p[at + j] = load(dy, i + j) * p[at + j]


@inline
def write_shares(x, start, rows, n, step, p, d, out):
    """out = p x / d."""
    for r in range(rows):
        i, at = start + r * step, r * n
        for j in range(n):
            out[at + j] = p[at + j] * (load(x, i + j) / d[at + j])


@inline
def write_normalised(x, start, rows, n, step, p, y):
    """y = x p."""
    for r in range(rows):
        i, at = start + r * step, r * n
        for j in range(n):
            store(y, i + j, load(x, i + j) * p[at + j])


@inline
def write_gradients(x, start, rows, n, step, p, factor, shared, dx):
    """dx = p - factor x shared."""
    for r in range(rows):
        i, at = start + r * step, r * n
        for j in range(n):
            store(dx, i + j, p[at + j] - factor * load(x, i + j) * shared[at + j])


@parallel
def windows_forward(
    chunk, scratch, per, total, C, L, width, room, before, after, alpha, beta, k, x, y
):
    around, d, p = scratch[:room], scratch[room:], scratch[room + C * width :]
    for number in range(chunk * per, min((chunk + 1) * per, total)):
        start, b, rows, n = block_at(number, C, L, width)
        zeros_around(around, before * b, C * b, after * b)
        write_squares(x, start, rows, n, L, around[before * b :])
        add_rows(around, 0, b, before + 1 + after, C * b, d)
        write_powers(C * b, np.float32(alpha), beta, np.float32(k), d, p)
        write_normalised(x, start, rows, n, L, p, y)


@parallel
def windows_dx(
    chunk, scratch, per, total, C, L, width, room, before, after, alpha, beta, k, factor, dy, x, dx
):
    """factor: 2 alpha beta / size."""
    around, d, p = scratch[:room], scratch[room:], scratch[room + C * width :]
    for number in range(chunk * per, min((chunk + 1) * per, total)):
        start, b, rows, n = block_at(number, C, L, width)
        zeros_around(around, before * b, C * b, after * b)
        write_squares(x, start, rows, n, L, around[before * b :])
        add_rows(around, 0, b, before + 1 + after, C * b, d)
        write_powers(C * b, np.float32(alpha), beta, np.float32(k), d, p)
        multiply(dy, start, rows, n, L, p)
        zeros_around(around, after * b, C * b, before * b)
        write_shares(x, start, rows, n, L, p, d, around[after * b :])
        add_rows(around, 0, b, before + 1 + after, C * b, d)
        write_gradients(x, start, rows, n, L, p, np.float32(factor), d, dx)


def in_blocks(kernel, blocks, numbers, arrays, cost):
    """Call a kernel for all blocks."""
    N, C, L, width, before, after = blocks
    total = N * -(-L // width)
    chunks, per = spans(total, WORTH // (C * width))
    sizes = total, C, L, width, blocks.padded, before, after
    cost = cost * N * C * L * NANOSECONDS
    workspace = blocks.padded + 2 * C * width
    kernel(chunks, per, *sizes, *numbers, *arrays, cost=cost, workspace=workspace)


@compiled_kernel
def local_response_norm_forward(x, *, size, alpha, beta, k, to):
    y = np.empty(x.shape, to[0])
    blocks = blocks_of(x, size) if x.size else None
    if blocks is None:
        return y
    if blocks.before + blocks.after >= MOST:
        return None
    in_blocks(windows_forward, blocks, (alpha / size, beta, k), (flat(x), flat(y)), 1)
    return y


@compiled_kernel
def local_response_norm_dx(dy, x, *, size, alpha, beta, k, to):
    dx = np.empty(x.shape, to[0])
    blocks = blocks_of(x, size) if x.size else None
    if blocks is None:
        return dx
    if blocks.before + blocks.after >= MOST:
        return None
    numbers = alpha / size, beta, k, 2 * alpha * beta / size
    in_blocks(windows_dx, blocks, numbers, (flat(dy), flat(x), flat(dx)), 2)
    return dx
