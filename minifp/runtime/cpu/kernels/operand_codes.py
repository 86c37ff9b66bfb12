"""Operands of products as codes: what numerics/operand_codes.py does, in one pass each way."""

import numpy as np

from minifp.runtime.cpu.kernels.half import as_bits, load, store
from minifp.runtime.cpu.kernels.operands import CHUNK, INF, MAGNITUDE, NANOSECONDS
from minifp.runtime.cpu.kernels.pool import parallel, spans, view


@parallel
def scale_each(chunk, scratch, length, total, scale, most, x, out):
    """x times a scale, in the format of `out`; what is finite is no larger than `most`."""
    for i in range(chunk * length, min((chunk + 1) * length, total)):
        value = load(x, i)
        y = value * scale
        y = most if y > most else -most if y < -most else y
        store(out, i, y if as_bits(value) & MAGNITUDE < INF else value)


def encoded(x, dtype, scale, most):
    """The codes, of this dtype, of s x, in the order in which x lies in memory, or in C order."""
    return _scaled(x, dtype, scale, most)


def decoded(codes, dtype, scale, top):
    """The numbers of codes over a scale, in the format of a dtype, of which `top` is no less."""
    return _scaled(codes, dtype, 1 / scale, top)


def _scaled(x, dtype, scale, most):
    x = x if x.flags.forc else np.ascontiguousarray(x)
    out = np.empty_like(x, dtype, order="K")
    chunks, length = spans(x.size, CHUNK)
    source, target = (view(a.reshape(-1, order="A")) for a in (x, out))
    numbers = np.float32(scale), np.float32(most)
    scale_each(chunks, length, x.size, *numbers, source, target, cost=x.size * NANOSECONDS)
    return out
