"""State of optimizers with scales: what numerics/state_format.py does, in passes over memory.

Numbers that have one scale may be all of a large array, or a few. So kernels go over spans: those
of one scale, and where these are more than SPAN, parts of them.
"""

import numpy as np

from minifp.runtime.cpu.kernels.half import as_bits, as_float, load, rounded, store
from minifp.runtime.cpu.kernels.operands import INF, MAGNITUDE, exponent_of, power_of_two
from minifp.runtime.cpu.kernels.pool import parallel, spans, view

SPAN = 8192  # numbers
CHUNK = 16384  # the same, of spans that are one chunk
NANOSECONDS = 0.3


@parallel
def largest_of_each(chunk, scratch, length, total, starts, x, out):
    """The largest bits, without signs, of each span: they are ordered as magnitudes are."""
    for s in range(chunk * length, min((chunk + 1) * length, total)):
        found = np.int32(0)
        for i in range(starts[s], starts[s + 1]):
            found = max(found, as_bits(load(x, i)) & MAGNITUDE)
        out[s] = found


@parallel
def choose_each(chunk, scratch, length, total, form, largest, found, scales):
    """The scale for each largest magnitude, which is rounded first."""
    for k in range(chunk * length, min((chunk + 1) * length, total)):
        exponent = exponent_of(found[k], as_bits(largest))
        y = rounded(form, as_float(found[k]) * power_of_two(exponent)) * power_of_two(-exponent)
        scales[k] = power_of_two(exponent_of(as_bits(y) & MAGNITUDE, as_bits(largest)))


@parallel
def encode_each(chunk, scratch, length, total, starts, which, scales, largest, x, codes):
    """The numbers of each span, multiplied by its scale and rounded."""
    for s in range(chunk * length, min((chunk + 1) * length, total)):
        scale = scales[which[s]]
        for i in range(starts[s], starts[s + 1]):
            value = load(x, i)
            y = value * scale
            y = largest if y > largest else -largest if y < -largest else y
            store(codes, i, y if as_bits(value) & MAGNITUDE < INF else value)


@parallel
def decode_each(chunk, scratch, length, total, starts, which, scales, codes, out):
    """The numbers of the codes of each span, divided by its scale."""
    for s in range(chunk * length, min((chunk + 1) * length, total)):
        back = np.float32(1) / scales[which[s]]
        for i in range(starts[s], starts[s + 1]):
            store(out, i, load(codes, i) * back)


class Spans:
    """What kernels go over. starts: where in n numbers those of each scale begin."""

    def __init__(self, starts: np.ndarray, n: int) -> None:
        self.starts, sizes = np.append(starts, n), np.diff(starts, append=n)
        self.which = np.arange(len(starts))  # of the scales is that of each span
        self.first = None  # of the spans of each scale, where it has several
        if sizes.max() > SPAN:
            counts = -(-sizes // SPAN)
            self.which = np.repeat(self.which, counts)
            self.first = np.cumsum(counts) - counts
            begin = (np.arange(len(self.which)) - self.first[self.which]) * SPAN
            self.starts = np.append(starts[self.which] + begin, n)
        self.n, self.count = n, len(self.which)

    def run(self, kernel, *args):
        """Call a kernel over all spans."""
        chunks, length = spans(self.count, max(1, CHUNK * self.count // self.n))
        kernel(chunks, length, self.count, self.starts, *args, cost=self.n * NANOSECONDS)


def encode(x, starts, codes, scales, largest):
    """Round x into codes and scales, as numerics/state_format.py has it."""
    over, codes = Spans(starts, x.size), view(codes)
    found = np.empty(over.count, np.int32)
    over.run(largest_of_each, x, found)
    if over.first is not None:
        found = np.maximum.reduceat(found, over.first)
    largest = np.float32(largest)
    choose_each(*spans(len(scales), CHUNK), len(scales), codes, largest, found, scales)
    over.run(encode_each, over.which, scales, largest, x, codes)


def decode(codes, scales, starts, x):
    """Write the numbers of codes and scales into x, as numerics/state_format.py has it."""
    over = Spans(starts, codes.size)
    over.run(decode_each, over.which, scales, view(codes), x)
