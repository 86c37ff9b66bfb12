"""The compiled kernels of histogram.py: the bits are counted on all threads.

A block of numbers stays in the L1 cache while it is gone through more than once: for what runs in
vector registers (the ends, whether there is anything rare), and then for the counters, of which
there are several banks, because neighbours are mostly of one bin, and a counter waits for its last
increment.
"""

import numpy as np

from minifp.runtime.cpu.pool import parallel, spans

RUN = 65536  # numbers that are worth a chunk
BLOCK = 512  # and that are gone through more than once
BANKS = 8
NANOSECONDS = 0.8
HALF, SINGLE = np.uint16, np.uint32
ONE = np.uint32(1)


@parallel
def count_halves(chunk, scratch, length, bits, counts, classes, ends):
    """Add up the numbers of one chunk, in banks; the least magnitude less one, and the largest."""
    low, high, last = HALF(0xFFFF), HALF(0), min((chunk + 1) * length, bits.size)
    for start in range(chunk * length, last, BLOCK):
        block = bits[start : min(start + BLOCK, last)]  # whose indices are seen not to be negative
        for i in range(block.size):
            magnitude = block[i] & HALF(0x7FFF)
            low = min(low, HALF(magnitude - HALF(1)))  # 0 becomes the largest of all
            high = max(high, magnitude if magnitude < HALF(0x7C00) else HALF(0))
        bank = counts[chunk]
        whole = block.size // BANKS * BANKS
        for i in range(0, whole, BANKS):
            for k in range(BANKS):
                bank[k, classes[block[i + k]]] += ONE
        for i in range(whole, block.size):
            bank[0, classes[block[i]]] += ONE
    ends[chunk, 0], ends[chunk, 1] = low, high


@parallel
def count_singles(chunk, scratch, length, bits, counts, rare, ends):
    """As `halves`; counts: of each sign and exponent, 512. rare: of each exponent, of the fractions
    that are 0 (but not of zeros), and of those that round up."""
    low, high, last = SINGLE(0xFFFFFFFF), SINGLE(0), min((chunk + 1) * length, bits.size)
    for start in range(chunk * length, last, BLOCK):
        block, found = bits[start : min(start + BLOCK, last)], SINGLE(0)
        for i in range(block.size):
            magnitude = block[i] & SINGLE(0x7FFFFFFF)
            low = min(low, SINGLE(magnitude - ONE))
            high = max(high, magnitude if magnitude < SINGLE(0x7F800000) else SINGLE(0))
        for i in range(block.size):  # of a fraction that is 0, or at least 0x7FF000
            is_rare = ((block[i] + SINGLE(0x1000)) & SINGLE(0x7FFFFF)) <= SINGLE(0x1000)
            found += SINGLE(is_rare & ((block[i] & SINGLE(0x7FFFFFFF)) != SINGLE(0)))
        bank = counts[chunk]
        whole = block.size // BANKS * BANKS
        for i in range(0, whole, BANKS):
            for k in range(BANKS):
                bank[k, block[i + k] >> SINGLE(23)] += ONE
        for i in range(whole, block.size):
            bank[0, block[i] >> SINGLE(23)] += ONE
        if found > 0:
            for i in range(block.size):
                fraction = block[i] & SINGLE(0x7FFFFF)
                exponent = (block[i] >> SINGLE(23)) & SINGLE(0xFF)
                if fraction >= SINGLE(0x7FF000) or (fraction == 0 and exponent > 0):
                    rare[chunk, 0 if fraction == 0 else 1, exponent] += ONE
    ends[chunk, 0], ends[chunk, 1] = low, high


def of_halves(bits, classes, number):
    """Counts of each class, and the least and largest finite magnitude as bits, 0 for none."""
    chunks, length = spans(bits.size, RUN)
    counts, ends = np.zeros((chunks, BANKS, number), np.uint32), np.zeros((chunks, 2), np.int64)
    count_halves(chunks, length, bits, counts, classes, ends, cost=bits.size * NANOSECONDS)
    return added(counts, number), *ends_of(ends)


def of_singles(bits):
    """Counts of each exponent (256, 3): of fractions that are 0 (but not of zeros), others, and
    those that round up; subnormal numbers and zeros are not told apart. And the ends."""
    chunks, length = spans(bits.size, RUN)
    counts = np.zeros((chunks, BANKS, 512), np.uint32)
    rare = np.zeros((chunks, 2, 256), np.uint32)
    ends = np.zeros((chunks, 2), np.int64)
    count_singles(chunks, length, bits, counts, rare, ends, cost=bits.size * NANOSECONDS)
    whole = added(counts, 512).reshape(2, 256).sum(axis=0)
    powers, up = rare.sum(axis=0, dtype=np.int64)
    return np.stack([powers, whole - powers - up, up], axis=1), *ends_of(ends)


def added(counts, number):
    """The sums of all banks."""
    return counts.reshape(-1, number).sum(axis=0, dtype=np.int64)


def ends_of(ends):
    """The least and the largest of all chunks."""
    lows, highs = zip(*ends.tolist())
    return min(lows) + 1 if max(highs) else 0, max(highs)
