"""The twins of attention.py. What is scaled before a product, q or k, is so in a float32 copy."""

import numpy as np

from minifp.cpu import twin
from minifp.cpu.compile import compiled
from minifp.cpu.half import as_bits, as_float, load, store, view
from minifp.cpu.math import exp32
from minifp.cpu.pointwise import pointwise
from minifp.cpu.pool import chunked, spans
from minifp.cpu.sums import sum_of_run
from minifp.ops.matmul_numba import SINGLE, scaled, summed_to, times

CHUNK = 8192  # numbers that are worth a chunk
NANOSECONDS = 1.0  # an element of a softmax
NOTHING, ONE, LOWEST = np.float32(0), np.float32(1), np.float32(-np.inf)
MAGNITUDE = np.int32(0x7FFFFFFF)

# ---- scores -------------------------------------------------------------------------------------


@pointwise
def masked(s, mask):
    return s if mask != NOTHING else LOWEST


@pointwise
def added(x, y):
    return x + y


@chunked
def hide_later(chunk, scratch, per, rows, L, S, s):
    """-Inf for the keys behind each query."""
    for row in range(chunk * per, min((chunk + 1) * per, rows)):
        for i in range(row * S + row % L + 1, (row + 1) * S):
            store(s, i, LOWEST)


@twin
def attention_scores(q, k, mask, *, scale, is_causal, to):
    q, k = scaled(q, alpha=scale, to=(SINGLE,)), k.swapaxes(-1, -2)
    if mask is not None and mask.dtype.kind == "f":
        return added(times(q, k, SINGLE), mask, to=to)
    s = times(q, k, to[0])
    if is_causal and s.size:
        L, S = s.shape[-2:]
        rows = s.size // S
        chunks, per = spans(rows, max(1, CHUNK // S))
        hide_later(chunks, per, rows, L, S, view(s).reshape(-1), cost=s.size * 0.1)
    return s if mask is None else masked(s, mask, to=to)


# ---- probabilities ------------------------------------------------------------------------------


@compiled
def widened_and_largest(x, start, n, out):
    """Write n numbers in float32; the largest of them, NaN aside.

    Bits are compared: of negative numbers those of the magnitude are turned round.
    """
    most = np.int64(-1 << 31)
    for i in range(n):
        v = load(x, start + i)
        out[i] = v
        bits = as_bits(v)
        most = max(most, np.int64(bits ^ ((bits >> 31) & MAGNITUDE)))
    return as_float(most ^ ((most >> 31) & MAGNITUDE))


@chunked
def softmax_rows(chunk, scratch, per, rows, S, s, out):
    for row in range(chunk * per, min((chunk + 1) * per, rows)):
        highest = widened_and_largest(s, row * S, S, scratch)
        highest = NOTHING if highest == LOWEST else highest
        for i in range(S):
            scratch[i] = exp32(scratch[i] - highest)
        total = np.float32(sum_of_run(scratch, 0, S))
        total = ONE if total == NOTHING else total
        for i in range(S):
            store(out, row * S + i, scratch[i] / total)


@twin
def attention_probabilities(s, *, to):
    p = np.empty(s.shape, to[0] or s.dtype)
    if p.size:
        S = s.shape[-1]
        rows = s.size // S
        chunks, per = spans(rows, max(1, CHUNK // S))
        flat = view(np.ascontiguousarray(s)).reshape(-1), view(p).reshape(-1)
        softmax_rows(chunks, per, rows, S, *flat, cost=s.size * NANOSECONDS, workspace=S)
    return p


# ---- gradients ----------------------------------------------------------------------------------


@twin
def attention_dp(dy, v, dp, *, to):
    v = v.swapaxes(-1, -2)
    return times(dy, v, to[0]) if dp is None else added(times(dy, v, SINGLE), dp, to=to)


@twin
def attention_dq(ds, k, *, scale, shape, to):
    return summed_to(ds, scaled(k, alpha=scale, to=(SINGLE,)), shape, to[0])


@twin
def attention_dk(ds, q, *, scale, shape, to):
    q = scaled(q, alpha=scale, to=(SINGLE,))
    return summed_to(ds.swapaxes(-1, -2), q, shape, to[0])
