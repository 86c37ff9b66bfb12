"""Where the numbers of an array lie in their format: counted exactly, on the stored bits.

Blocks of a few thousand elements are looked at as integers, which need no float arithmetic and stay
in the cache, so that no copy of a large array is made.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from minifp.formats import format_of
from minifp.scope.explaining.bit_fields import infinity

BLOCK = 65536


@dataclass
class Counts:
    """How many numbers are of each kind, and the smallest and largest magnitude among the finite.

    smallest: of those that are not 0. Both are 0.0 where there is none.
    """

    size: int = 0
    zeros: int = 0
    subnormals: int = 0
    infinite: int = 0
    nan: int = 0
    smallest: float = 0.0
    largest: float = 0.0
    headroom: float | None = None  # bits from the largest to the format's largest; None without one

    @property
    def normals(self) -> int:
        """How many have their full mantissa."""
        return self.size - self.zeros - self.subnormals - self.infinite - self.nan


def counted(array: np.ndarray) -> Counts:
    """The Counts of a NumPy array of a floating format."""
    format, unsigned = format_of(array.dtype), np.dtype(f"u{array.dtype.itemsize}")
    sign, inf = unsigned.type(1) << unsigned.type(unsigned.itemsize * 8 - 1), infinity(format)
    normal, counts, smallest, largest = 1 << format.mantissa_bits, Counts(array.size), inf, 0
    for block in blocks(array):
        bits = block.view(unsigned) & ~sign
        low, high = int(bits.min()), int(bits.max())
        if low < normal:
            zeros = bits.size - int(np.count_nonzero(bits))
            counts.zeros += zeros
            counts.subnormals += int(np.count_nonzero(bits < normal)) - zeros
            low = int((bits - unsigned.type(1)).min()) + 1  # 0 becomes the largest of all
            low = inf if low > inf else low
        if high >= inf:
            counts.infinite += int(np.count_nonzero(bits == inf))
            counts.nan += int(np.count_nonzero(bits > inf))
            high = int(bits[bits < inf].max(initial=0))
        smallest, largest = min(smallest, low), max(largest, high)
    if largest:
        ends = np.array([smallest, largest], unsigned).view(format.dtype)
        counts.smallest, counts.largest = map(float, ends)
        counts.headroom = math.log2(format.max) - math.log2(counts.largest)
    return counts


def blocks(array: np.ndarray) -> Iterator[np.ndarray]:
    """The elements in any order, as contiguous arrays of one dimension."""
    if array.flags.forc and array.dtype.isnative:  # what nditer would copy, block by block
        flat = array.reshape(-1, order="C" if array.flags.c_contiguous else "F")
        yield from (flat[start : start + BLOCK] for start in range(0, flat.size, BLOCK))
        return
    native = array.dtype.newbyteorder("=")
    with np.nditer(
        array,
        ["external_loop", "buffered", "zerosize_ok"],
        op_dtypes=native,
        casting="equiv",
        buffersize=BLOCK,
    ) as found:
        yield from (np.ascontiguousarray(block) for block in found)
