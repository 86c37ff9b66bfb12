"""The twin of histogram.py: one pass over the bits, on all threads."""

import numpy as np

from minifp.cpu.pool import chunked, spans

RUN = 65536  # numbers that are worth a chunk
BANKS = 4  # neighbours are mostly of one bin, and a counter waits for its last increment
NANOSECONDS = 1.0


@chunked
def halves(chunk, scratch, length, bits, classes, counts, ends):
    """Add up the numbers of one chunk, in banks; the least and the largest magnitude."""
    start, stop = chunk * length, min((chunk + 1) * length, bits.size)
    low, high = 0xFFFFFFFF, 0
    for i in range(start, stop):
        counts[chunk, i & 3, classes[bits[i]]] += 1
        magnitude = bits[i] & 0x7FFF
        if magnitude < 0x7C00:
            high = max(high, magnitude)
            if magnitude > 0:
                low = min(low, magnitude)
    ends[chunk, 0], ends[chunk, 1] = low, high


@chunked
def singles(chunk, scratch, length, bits, classes, counts, ends):
    """As `halves`; the classes are found in the bits."""
    start, stop = chunk * length, min((chunk + 1) * length, bits.size)
    low, high = 0xFFFFFFFF, 0
    for i in range(start, stop):
        magnitude = np.int64(bits[i]) & 0x7FFFFFFF
        exponent, fraction = magnitude >> 23, magnitude & 0x7FFFFF
        place = exponent + 22
        if exponent == 0:
            place = -1
            rest = fraction
            while rest > 0:
                rest >>= 1
                place += 1
            fraction = (fraction << (23 - place)) & 0x7FFFFF
        which = 3 * place + (1 if fraction else 0) + (1 if fraction >= 0x7FF000 else 0)
        if magnitude == 0:
            which = classes
        elif exponent == 255:
            which = classes + 1 + (1 if fraction else 0)
        else:
            high = max(high, magnitude)
            low = min(low, magnitude)
        counts[chunk, i & 3, which] += 1
    ends[chunk, 0], ends[chunk, 1] = low, high


def counted(bits, number, classes):
    """number: of classes. classes: of each half, or None for bits of float32."""
    chunks, length = spans(bits.size, RUN)
    counts = np.zeros((chunks, BANKS, number), np.int64)
    ends = np.zeros((chunks, 2), np.int64)
    kernel, given = (singles, number - 3) if classes is None else (halves, classes)
    kernel(chunks, length, bits, given, counts, ends, cost=bits.size * NANOSECONDS)
    low, high = int(ends[:, 0].min()), int(ends[:, 1].max())
    return counts.sum(axis=(0, 1)), low if high else 0, high
