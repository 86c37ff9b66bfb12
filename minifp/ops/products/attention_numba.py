"""Compiled kernels of attention.py. What is scaled before a product is so in a float32 copy."""

import numpy as np

from minifp.numerics.compiled import any_device, compiled_kernel
from minifp.numerics.dispatch import pointwise
from minifp.numerics.formats import is_float
from minifp.ops.products.matmul_numba import SINGLE, scaled, summed_to, times
from minifp.runtime.cpu.kernels.half import store
from minifp.runtime.cpu.kernels.pool import parallel, spans, view

CHUNK = 8192  # numbers that are worth a chunk
NANOSECONDS = 1.0  # an element of a softmax
NOTHING, ONE, LOWEST = np.float32(0), np.float32(1), np.float32(-np.inf)

# ---- scores -------------------------------------------------------------------------------------


@pointwise
def mask_scores(s, mask):
    return np.where(mask, s, -np.inf)


@pointwise
def add_scores(x, y):
    return x + y


@parallel
def hide_later_keys(chunk, scratch, per, rows, L, S, s):
    """-Inf for the keys behind each query."""
    for row in range(chunk * per, min((chunk + 1) * per, rows)):
        for i in range(row * S + row % L + 1, (row + 1) * S):
            store(s, i, LOWEST)


@compiled_kernel
def attention_scores(q, k, mask, *, scale, is_causal, to):
    q, k = scaled(q, alpha=scale, to=(SINGLE,)), k.swapaxes(-1, -2)
    if mask is not None and is_float(mask.dtype):
        return add_scores(times(q, k, SINGLE), mask, to=to)
    s = times(q, k, to[0])
    if is_causal and s.size:
        L, S = s.shape[-2:]
        rows = s.size // S
        chunks, per = spans(rows, max(1, CHUNK // S))
        hide_later_keys(chunks, per, rows, L, S, view(s).reshape(-1), cost=s.size * 0.1)
    return s if mask is None else mask_scores(s, mask, to=to)


# ---- gradients ----------------------------------------------------------------------------------


@any_device
def attention_dp(dy, v, dp, *, to):
    v = v.swapaxes(-1, -2)
    return times(dy, v, to[0]) if dp is None else add_scores(times(dy, v, SINGLE), dp, to=to)


@any_device
def attention_dq(ds, k, *, scale, shape, to):
    return summed_to(ds, k, shape, to[0], scale)


@any_device
def attention_dk(ds, q, *, scale, shape, to):
    return summed_to(ds.swapaxes(-1, -2), q, shape, to[0], scale)
