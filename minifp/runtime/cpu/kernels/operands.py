"""Operands of products, rounded with a scale: what numerics/operands.py does, in two passes.

The first finds the largest magnitude, the second rounds. Both run over numbers in the order in
which they lie in memory. Rows, of the states inside of a sequence, are rounded where they are read.
"""

from math import prod

import numpy as np

from minifp.runtime.cpu.compile.decorators import inline
from minifp.runtime.cpu.kernels.half import as_bits, as_float, load, store
from minifp.runtime.cpu.kernels.pool import parallel, spans, view

CHUNK = 16384  # numbers
NANOSECONDS = 0.4
INF = np.int32(0x7F800000)  # the bits of float32's Inf; those of NaN are larger
MAGNITUDE, MANTISSA, SIGN = np.int32(0x7FFFFFFF), np.int32(0x7FFFFF), np.int32(-0x80000000)
MOST = np.int32(126)  # log2 of the largest scale: as in numerics/operands.py


@parallel
def largest_bits(chunk, scratch, length, total, x, out):
    """The largest bits, without signs, of each chunk: they are ordered as magnitudes are."""
    found = np.int32(0)
    for i in range(chunk * length, min((chunk + 1) * length, total)):
        found = max(found, as_bits(load(x, i)) & MAGNITUDE)
    out[chunk] = found


@inline
def round_to(form, x):
    """A number that is not beyond a format's largest, rounded to the format, to nearest even. form:
    the numbers of form_of in numerics/operands.py."""
    left, smallest, grid, least = form
    bits = as_bits(x)
    magnitude = bits & MAGNITUDE
    odd = np.int32(magnitude >> left) & np.int32(1)
    half = np.int32((np.int32(1) << (left - np.int32(1))) - np.int32(1))
    normal = as_float(np.int32(np.int32(magnitude + half + odd) >> left) << left)
    y = as_float(magnitude)
    y = normal if y >= smallest else (y + grid) - grid
    y = y if y >= least else np.float32(0)
    return as_float(as_bits(y) | (bits & SIGN))


@inline
def scaled(form, x, scale, back, largest, top):
    """A number, rounded to a format with a scale, `back` being 1 / scale."""
    y = x * scale
    y = largest if y > largest else -largest if y < -largest else y
    y = round_to(form, y) * back
    y = top if y > top else -top if y < -top else y
    return y if as_bits(x) & MAGNITUDE < INF else x


@parallel
def round_scaled(chunk, scratch, length, total, form, scale, back, largest, top, x, out):
    """x, rounded to a format with a scale."""
    for i in range(chunk * length, min((chunk + 1) * length, total)):
        store(out, i, scaled(form, load(x, i), scale, back, largest, top))


@inline
def exponent_of(found, most):
    """log2 of the scale that brings a magnitude below the largest, both given by their bits: 0 of
    0, Inf and NaN."""
    exponent = np.int32(0)
    if 0 < found < INF:
        above = np.int32((found & MANTISSA) > (most & MANTISSA))
        exponent = (most >> np.int32(23)) - (found >> np.int32(23)) - above
        exponent = np.int32(min(max(exponent, -MOST), MOST))
    return exponent


@inline
def power_of_two(exponent):
    """2^exponent, a normal number."""
    return as_float((np.int32(127) + exponent) << np.int32(23))


@inline
def round_rows(form, has_scale, largest, top, x, i, n, K, out, o):
    """n rows of K numbers of x, from x[i] on, each with a scale of its own, to out[o]."""
    for start in range(0, n * K, K):
        exponent = np.int32(0)
        if has_scale:
            found, most = np.int32(0), as_bits(largest)
            for k in range(start, start + K):
                found = max(found, as_bits(load(x, i + k)) & MAGNITUDE)
            exponent = exponent_of(found, most)
        scale, back = power_of_two(exponent), power_of_two(-exponent)
        for k in range(start, start + K):
            store(out, o + k, scaled(form, load(x, i + k), scale, back, largest, top))


@parallel
def round_each(chunk, scratch, length, rows, K, form, largest, top, x, out):
    """Rows of K numbers of x, each with a scale of its own."""
    first = chunk * length
    n = min(length, rows - first)
    round_rows(form, True, largest, top, x, first * K, n, K, out, first * K)


def amax(x):
    """The largest magnitude in an array that is stored: Inf or NaN where there is one."""
    x = x if x.flags.forc else np.ascontiguousarray(x)
    chunks, length = spans(x.size, CHUNK)
    found = np.empty(chunks, np.int32)
    source = view(x.reshape(-1, order="A"))
    largest_bits(chunks, length, x.size, source, found, cost=x.size * NANOSECONDS)
    return found.max().view(np.float32)


def rounded(x, dtype, form, scale, largest, top):
    """x, rounded to a format's numbers over the scale, as an array of a dtype. form: as round_to
    has it."""
    x = x if x.flags.forc else np.ascontiguousarray(x)
    out = np.empty_like(x, dtype, order="K")
    chunks, length = spans(x.size, CHUNK)
    numbers = map(np.float32, (scale, 1 / scale, largest, top))
    source, target = (view(a.reshape(-1, order="A")) for a in (x, out))
    round_scaled(chunks, length, x.size, form, *numbers, source, target, cost=x.size * NANOSECONDS)
    return out


def rounded_rows(x, summed, form, largest, top):
    """The same with a scale for each row: for what has the same place along all other axes than
    `summed`, which are put last in memory."""
    summed = [a % x.ndim for a in summed]
    order = [*(a for a in range(x.ndim) if a not in summed), *summed]
    source = np.asarray(x.transpose(order), order="C")
    out, K = np.empty_like(source), prod(x.shape[a] for a in summed)
    rows = x.size // K
    chunks, length = spans(rows, -(-CHUNK // K))
    numbers = form, np.float32(largest), np.float32(top)
    arrays = (view(a.reshape(-1)) for a in (source, out))
    round_each(chunks, length, rows, K, *numbers, *arrays, cost=x.size * NANOSECONDS)
    return out.transpose(np.argsort(order))
