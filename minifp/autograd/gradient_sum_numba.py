"""Compiled kernels of gradient_sum.py: two gradients added and rounded, or one added to a sum."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.runtime.cpu.half import load, store, view
from minifp.runtime.cpu.pool import parallel, spans

CHUNK = 16384  # numbers
NANOSECONDS = 0.3


@parallel
def sum_of_gradients(chunk, scratch, length, total, x, y, out):
    for i in range(chunk * length, min((chunk + 1) * length, total)):
        store(out, i, load(x, i) + load(y, i))


@compiled_kernel
def add(x, y, out):
    """out = x + y, for arrays of one shape in any formats: out may be one of them."""
    views = [view(np.ascontiguousarray(a)).reshape(-1) for a in (x, y)]
    chunks, length = spans(out.size, CHUNK)
    if out.size:
        target = view(out).reshape(-1)
        sum_of_gradients(chunks, length, out.size, *views, target, cost=out.size * NANOSECONDS)
    return out
