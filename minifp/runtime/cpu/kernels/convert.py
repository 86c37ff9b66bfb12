"""Whole arrays from one format to another, in one pass.

What formats.py does with NumPy, bit for bit; there is said what is meant.
"""

import numpy as np

from minifp.derive.dtypes import CODED
from minifp.runtime.cpu.kernels.half import HALF, as_bits, as_float, load, rounded, store
from minifp.runtime.cpu.kernels.pool import parallel, spans, view

CHUNK = 16384  # numbers
NANOSECONDS = 0.2
FORM = view(np.empty(0, HALF))
SINGLE, DOUBLE = np.dtype("float32"), np.dtype("float64")
CONVERSIONS = {(HALF, SINGLE), (SINGLE, HALF), (DOUBLE, HALF)}
CONVERSIONS |= {pair for d in CODED for pair in ((d, SINGLE), (SINGLE, d), (DOUBLE, d))}


@parallel
def copy_all(chunk, scratch, length, total, x, out):
    """x in another format."""
    for i in range(chunk * length, min((chunk + 1) * length, total)):
        store(out, i, load(x, i))


@parallel
def round_all(chunk, scratch, length, total, form, x, out):
    """x rounded to the format of `form`, but in its own."""
    for i in range(chunk * length, min((chunk + 1) * length, total)):
        store(out, i, rounded(form, load(x, i)))


@parallel
def narrow_doubles(chunk, scratch, length, total, x, out):
    """By way of float32, but rounded once: what float32 cannot hold is rounded there to odd.

    The nearest float32 towards 0, with its last bit set, lies on the same side of everything that
    a half can be rounded at (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums:
    proved algorithms using rounding to odd", IEEE Transactions on Computers 57(4), 2008).
    """
    start = chunk * length
    part = x[start : min(start + length, total)]
    for i in range(len(part)):
        single = np.float32(part[i])
        back, bits = np.float64(single), as_bits(single)
        odd = (bits - np.int32(1) if abs(back) > abs(part[i]) else bits) | np.int32(1)
        exact = back == part[i] or part[i] != part[i]
        store(out, start + i, as_float(bits if exact else odd))


def can_convert(x, dtype):
    """Whether `converted` can make this dtype of x."""
    return (x.dtype, dtype) in CONVERSIONS and x.flags.aligned


def converted(x, dtype):
    """x, rounded once, in the order in which it lies in memory."""
    x = x if x.flags.forc else np.ascontiguousarray(x)
    out = np.empty_like(x, dtype, order="K")
    kernel = narrow_doubles if x.dtype == DOUBLE else copy_all
    _run(kernel, x, out)
    return out


def number_of(x):
    """The one number of an array without dimensions, as a Python float."""
    return float((x if x.dtype.kind != "V" else converted(x, SINGLE)).item())


def rounded_to_half(x):
    """x, float32, rounded to half precision."""
    x = x if x.flags.forc else np.ascontiguousarray(x)
    out = np.empty_like(x, order="K")
    _run(round_all, x, out, FORM)
    return out


def _run(kernel, x, out, *given):
    if x.size:
        chunks, length = spans(x.size, CHUNK)
        source, target = (view(a.reshape(-1, order="A")) for a in (x, out))
        kernel(chunks, length, x.size, *given, source, target, cost=x.size * NANOSECONDS)
