"""The compiled kernels of histogram.py: the bits are counted on all threads.

A block of numbers stays in the L1 cache while it is gone through more than once: for what runs in
vector registers (the ends, of which bin and part each is), and then for the counters, of which
there are several banks, because neighbours are mostly of one bin, and a counter waits for its last
increment.
"""

import numpy as np

from minifp.runtime.cpu.kernels.pool import parallel, spans
from minifp.scope.borders import PARTS, thresholds

RUN = 65536  # numbers that are worth a chunk
BLOCK = 512  # and that are gone through more than once
BANKS = 8
NANOSECONDS = 0.8
HALF, SINGLE = np.uint16, np.uint32
ONE = np.uint32(1)
LEAST = tuple(SINGLE(least) for least in thresholds(23))


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
def count_singles(chunk, scratch, length, bits, counts, classes, ends):
    """As `count_halves`; counts: of each part of each exponent. classes: space for a block."""
    low, high, last = SINGLE(0xFFFFFFFF), SINGLE(0), min((chunk + 1) * length, bits.size)
    for start in range(chunk * length, last, BLOCK):
        block, there = bits[start : min(start + BLOCK, last)], classes[chunk]
        for i in range(block.size):
            magnitude = block[i] & SINGLE(0x7FFFFFFF)
            low = min(low, SINGLE(magnitude - ONE))
            high = max(high, magnitude if magnitude < SINGLE(0x7F800000) else SINGLE(0))
        for i in range(block.size):
            fraction = block[i] & SINGLE(0x7FFFFF)
            part = SINGLE(0)
            for least in LEAST:
                part += SINGLE(fraction >= least)
            there[i] = ((block[i] >> SINGLE(23)) & SINGLE(0xFF)) * SINGLE(PARTS) + part
        bank = counts[chunk]
        whole = block.size // BANKS * BANKS
        for i in range(0, whole, BANKS):
            for k in range(BANKS):
                bank[k, there[i + k]] += ONE
        for i in range(whole, block.size):
            bank[0, there[i]] += ONE
    ends[chunk, 0], ends[chunk, 1] = low, high


def of_halves(bits, classes, number):
    """Counts of each class, and the least and largest finite magnitude as bits, 0 for none."""
    chunks, length = spans(bits.size, RUN)
    counts, ends = np.zeros((chunks, BANKS, number), np.uint32), np.zeros((chunks, 2), np.int64)
    count_halves(chunks, length, bits, counts, classes, ends, cost=bits.size * NANOSECONDS)
    return added(counts, number), *ends_of(ends)


def of_singles(bits):
    """Counts of each exponent (256, parts), and the ends. Zeros are among the powers of two, and
    subnormal numbers are counted as if their first bit were implied too."""
    chunks, length = spans(bits.size, RUN)
    counts = np.zeros((chunks, BANKS, 256 * PARTS), np.uint32)
    classes = np.empty((chunks, BLOCK), np.uint16)
    ends = np.zeros((chunks, 2), np.int64)
    cost = bits.size * NANOSECONDS
    count_singles(chunks, length, bits, counts, classes, ends, cost=cost)
    return added(counts, 256 * PARTS).reshape(256, PARTS), *ends_of(ends)


def added(counts, number):
    """The sums of all banks."""
    return counts.reshape(-1, number).sum(axis=0, dtype=np.int64)


def ends_of(ends):
    """The least and the largest of all chunks."""
    lows, highs = zip(*ends.tolist())
    return min(lows) + 1 if max(highs) else 0, max(highs)
