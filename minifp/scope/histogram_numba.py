"""The twin of histogram.py: the bits are counted on all threads."""

import numpy as np

from minifp.cpu.pool import chunked, spans

RUN = 65536  # numbers that are worth a chunk
BANKS = 4  # neighbours are mostly of one bin, and a counter waits for its last increment
NANOSECONDS = 1.0


@chunked
def halves(chunk, scratch, length, bits, classes, counts, ends):
    """Add up the numbers of one chunk, in banks; the least magnitude less one, and the largest."""
    start, stop = chunk * length, min((chunk + 1) * length, bits.size)
    low, high = np.uint16(0xFFFF), np.uint16(0)
    for i in range(start, stop):
        magnitude = bits[i] & np.uint16(0x7FFF)
        low = min(low, np.uint16(magnitude - np.uint16(1)))  # 0 becomes the largest of all
        high = max(high, magnitude if magnitude < np.uint16(0x7C00) else np.uint16(0))
    for i in range(start, stop):
        counts[chunk, i & 3, classes[bits[i]]] += 1
    ends[chunk, 0], ends[chunk, 1] = low, high


@chunked
def singles(chunk, scratch, length, bits, counts, ends):
    """As `halves`; three counters for each exponent, subnormal numbers not told apart."""
    start, stop = chunk * length, min((chunk + 1) * length, bits.size)
    low, high = np.uint32(0xFFFFFFFF), np.uint32(0)
    for i in range(start, stop):
        magnitude = bits[i] & np.uint32(0x7FFFFFFF)
        low = min(low, np.uint32(magnitude - np.uint32(1)))
        high = max(high, magnitude if magnitude < np.uint32(0x7F800000) else np.uint32(0))
    for i in range(start, stop):
        exponent = np.int64((bits[i] >> np.uint32(23)) & np.uint32(0xFF))
        fraction = bits[i] & np.uint32(0x7FFFFF)
        part = np.int64(fraction != 0) + np.int64(fraction >= np.uint32(0x7FF000))
        counts[chunk, i & 3, 3 * exponent + part] += 1
    ends[chunk, 0], ends[chunk, 1] = low, high


def counted(bits, classes, number):
    """Counts of each class of halves; of float32, given no classes, the three of each exponent.

    And the least and the largest finite magnitude as bits, 0 where there is none.
    """
    chunks, length = spans(bits.size, RUN)
    counts = np.zeros((chunks, BANKS, number), np.int64)
    ends = np.zeros((chunks, 2), np.int64)
    cost = bits.size * NANOSECONDS
    if classes is None:
        singles(chunks, length, bits, counts, ends, cost=cost)
    else:
        halves(chunks, length, bits, classes, counts, ends, cost=cost)
    low, high = int(ends[:, 0].min()) + 1, int(ends[:, 1].max())
    return counts.sum(axis=(0, 1)), low if high else 0, high
