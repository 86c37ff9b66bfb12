"""Exact histograms: how many numbers of an array lie in each power of two, by integer arithmetic.

The exponent of a stored number is in its bits (of a subnormal one: where the first of them is set),
so counting needs no logarithm, and no bin is a rounded one. Bin e holds the numbers from 2^e to
below 2^(e+1), counted in parts; part k is of those that reach border k of borders.py, but not the
next:

    0     2^e itself
    1     what lies between
    ...   what is too large in one format, but not in the next
    last  (2 - 2^-11) 2^e and above: what rounds to 2^(e+1) in float16

because around the border of a format only the parts differ: 2^-25 is rounded to 0 in float16 and
what is above it is not; 65520 = (2 - 2^-11) 2^15 is rounded to Inf and what is below it is not. So
it is exact also how many would be lost in any format with a name, multiplied by any power of two:
the loss scale. Borders of other formats may lie inside of a part; see `Histogram.uncertain`.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from minifp.derive.dtypes import NATIVE, name_of
from minifp.errors import DTypeError
from minifp.numerics.formats import FORMATS, Format, as_native, float16
from minifp.runtime import cpu
from minifp.runtime.device import moved
from minifp.scope.borders import (
    BORDERS,
    PARTS,
    Border,
    kept_from,
    normal_from,
    thresholds,
    too_large_from,
)

POWER = 0  # the part of the powers of two themselves
OTHERS = 3  # what lies in no bin: zeros, Inf, NaN
HALF = FORMATS[float16.name]
BLOCK = 65536  # numbers whose counting takes little memory
UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}
OF_DTYPE = {FORMATS[name].stored: FORMATS[name] for name in NATIVE}


@dataclass
class Histogram:
    """Counts of the numbers of one array, or of several.

    lowest: the exponent of the first bin. counts: (bins, parts), int64; see the module. zeros,
    infs, nans: counts. largest, smallest: magnitudes of finite numbers other than 0; 0 if there are
    none. borders: of the parts, which are fewer in files of before there were several formats.
    """

    lowest: int = 0
    counts: np.ndarray = field(default_factory=lambda: np.zeros((0, PARTS), np.int64))
    zeros: int = 0
    infs: int = 0
    nans: int = 0
    largest: float = 0.0
    smallest: float = 0.0
    borders: tuple = BORDERS

    @staticmethod
    def of(array: Any) -> "Histogram":
        """The histogram of a floating array, on any device. Raises DTypeError for another."""
        array = as_native(array)
        format = OF_DTYPE.get(array.dtype.newbyteorder("="))
        if format is None:
            raise DTypeError(
                f"a histogram of exponents of {name_of(array.dtype)}: expected a float dtype"
            )
        counts, low, high = count(moved(array, "cpu"), format)
        used = counts[:-OTHERS].nonzero()[0]
        first, last = (int(used[0]) // PARTS, int(used[-1]) // PARTS + 1) if used.size else (0, 0)
        bins = counts[first * PARTS : last * PARTS].reshape(-1, PARTS).copy()
        lowest = 1 - format.bias - format.mantissa_bits + first  # the first bin: the smallest
        zeros, infs, nans = counts[-OTHERS:].tolist()
        return Histogram(lowest, bins, zeros, infs, nans, high, low)

    @property
    def highest(self) -> int:
        """The exponent after that of the last bin."""
        return self.lowest + len(self.counts)

    @property
    def nonzero(self) -> int:
        """How many finite numbers there are other than 0."""
        return int(self.counts.sum())

    @property
    def total(self) -> int:
        """How many numbers there are."""
        return self.nonzero + self.zeros + self.infs + self.nans

    @property
    def exponents(self) -> dict[int, int]:
        """How many numbers lie in each power of two, by exponent."""
        sums = self.counts.sum(axis=1).tolist()
        return {e: n for e, n in enumerate(sums, self.lowest) if n}

    def __add__(self, other: "Histogram") -> "Histogram":
        if not len(self.counts) or not len(other.counts):
            one = self if len(self.counts) else other
            lowest, counts = one.lowest, one.counts.copy()
        else:
            lowest, highest = min(self.lowest, other.lowest), max(self.highest, other.highest)
            counts = np.zeros((highest - lowest, len(self.borders)), np.int64)
            for one in (self, other):
                counts[one.lowest - lowest : one.highest - lowest] += one.counts
        smallest = [s for s in (self.smallest, other.smallest) if s]
        return Histogram(
            *(lowest, counts, self.zeros + other.zeros, self.infs + other.infs),
            *(self.nans + other.nans, max(self.largest, other.largest), min(smallest, default=0.0)),
            self.borders if len(self.counts) else other.borders,
        )

    def shifted(self, shift: int) -> "Histogram":
        """That of the numbers multiplied by 2^shift."""
        largest, smallest = (math.ldexp(end, shift) for end in (self.largest, self.smallest))
        return replace(self, lowest=self.lowest + shift, largest=largest, smallest=smallest)

    # ---- in another format, multiplied by 2^shift ----

    def flushed(self, shift: int = 0, format: Format = HALF) -> int:
        """How many that are not 0 would be rounded to 0; at least, where some are uncertain."""
        return self.nonzero - self.reaching(kept_from(format), shift)[1]

    def subnormal(self, shift: int = 0, format: Format = HALF) -> int:
        """How many would lie below the smallest normal number, and not be rounded to 0."""
        below = self.nonzero - self.reaching(normal_from(format), shift)[0]
        return below - self.flushed(shift, format)

    def overflowing(self, shift: int = 0, format: Format = HALF) -> int:
        """How many finite ones would become Inf, NaN or the largest number, as in the format; at
        least, where some are uncertain."""
        return self.reaching(too_large_from(format), shift)[0]

    def lost(self, shift: int = 0, format: Format = HALF) -> float:
        """What share of those that are not 0 would be rounded to 0 or be too large."""
        count = self.flushed(shift, format) + self.overflowing(shift, format)
        return count / max(self.nonzero, 1)

    def uncertain(self, shift: int = 0, format: Format = HALF) -> int:
        """How many more may be lost: in the parts in which a border of the format lies. 0 for those
        that have names."""
        pairs = (self.reaching(ask(format), shift) for ask in (kept_from, too_large_from))
        return sum(most - least for least, most in pairs)

    def reaching(self, border: Border, shift: int = 0) -> tuple[int, int]:
        """How many reach a border once they are multiplied: at least, and at most."""
        if not self.largest or not border.is_reached(self.largest, shift):
            return 0, 0
        exponent = border.exponent - shift
        above, parts = self.nonzero - self._below(exponent + 1), self._bin(exponent)
        first = bisect_left(self.borders, border.place)
        last = bisect_right(self.borders, border.place) - 1
        return above + int(parts[first:].sum()), above + int(parts[last:].sum())

    def headroom(self, format: Format = HALF) -> float:
        """Bits between the largest number and the format's: log2(65504 / largest); Inf for none."""
        return math.log2(format.max) - math.log2(self.largest) if self.largest else math.inf

    def _bin(self, exponent):
        inside = self.lowest <= exponent < self.highest
        return self.counts[exponent - self.lowest] if inside else np.zeros(len(self.borders), int)

    def _below(self, exponent):
        return int(self.counts[: max(0, exponent - self.lowest)].sum())


def total_of(histograms: Iterable[Histogram]) -> Histogram:
    """The histogram of all numbers together."""
    return sum(histograms, start=Histogram())


# ---- counting -----------------------------------------------------------------------------------


def count(x: np.ndarray, format: Format) -> tuple[np.ndarray, float, float]:
    """Counts (parts bins + 3) of the numbers of x: of each bin's parts, then of zeros, Inf and
    NaN. And the smallest and largest finite magnitude other than 0, or 0, 0."""
    compiles = format.bytes < 8 and x.size > 0 and cpu.can_compile()
    counts, ends = np.zeros(number_of_classes(format), np.int64), [(0, 0)]
    for block in blocks(x, whole=compiles):
        bits = block.view(UNSIGNED[x.itemsize])
        compiled = compiled_count(bits, format) if compiles else None
        more, low, high = compiled or counted(bits, format)
        counts += more
        ends.append((low, high))
    low = min((low for low, _ in ends if low), default=0)
    edges = np.array([low, max(high for _, high in ends)], UNSIGNED[x.itemsize]).view(format.stored)
    return counts, float(edges[0]), float(edges[1])


def blocks(x: np.ndarray, whole: bool) -> Iterator[np.ndarray]:
    """The elements in any order, as contiguous arrays of one dimension, of which all but a whole
    array are small: no copy of a large one is made."""
    if x.flags.forc and x.dtype.isnative:  # what nditer would copy, block by block
        flat = x.reshape(-1, order="C" if x.flags.c_contiguous else "F")
        size = max(1, flat.size if whole else BLOCK)
        yield from (flat[start : start + size] for start in range(0, flat.size, size))
        return
    settings: dict[str, Any] = {"op_dtypes": x.dtype.newbyteorder("="), "casting": "equiv"}
    flags: Any = ["external_loop", "buffered", "zerosize_ok"]
    with np.nditer(x, flags, buffersize=BLOCK, **settings) as buffers:
        yield from (np.ascontiguousarray(block) for block in buffers)


def compiled_count(bits: np.ndarray, format: Format) -> tuple[np.ndarray, int, int] | None:
    """What `counted` returns, compiled; None for subnormal numbers of float32, which are few."""
    compiled = import_module("minifp.scope.histogram_numba")
    if format == HALF:
        return compiled.of_halves(bits, of_halves(), number_of_classes(format))
    raw, low, high = compiled.of_singles(bits)
    if low and low < 2**format.mantissa_bits:
        return None
    counts = np.zeros(number_of_classes(format), np.int64)
    counts[PARTS * format.mantissa_bits : -OTHERS] = raw[1:-1].reshape(-1)
    counts[-OTHERS:] = raw[0].sum(), raw[-1, POWER], raw[-1, 1:].sum()
    return counts, low, high


def counted(bits: np.ndarray, format: Format) -> tuple[np.ndarray, int, int]:
    """The reference: counts, and the magnitudes as bits."""
    magnitudes = bits & bits.dtype.type(2 ** (8 * format.bytes - 1) - 1)
    if format == HALF:
        classes = of_halves()[bits]
    else:
        classes = classes_of(magnitudes, format)
    counts = np.bincount(classes, minlength=number_of_classes(format)).astype(np.int64)
    infinity = (2**format.exponent_bits - 1) << format.mantissa_bits
    finite = magnitudes[(magnitudes > 0) & (magnitudes < infinity)]
    return counts, *((int(finite.min()), int(finite.max())) if finite.size else (0, 0))


def number_of_classes(format: Format) -> int:
    """Of each bin all parts, and three more."""
    return PARTS * (format.mantissa_bits + 2**format.exponent_bits - 2) + OTHERS


def classes_of(magnitudes: np.ndarray, format: Format) -> np.ndarray:
    """For each number, given as bits without sign, where it is counted."""
    m, last = format.mantissa_bits, 2**format.exponent_bits - 1
    magnitudes = magnitudes.astype(np.int64)
    exponents, fractions = magnitudes >> m, magnitudes & (2**m - 1)
    # Of a subnormal number the first bit that is set is what is implied of the others.
    lengths = np.frexp(fractions.astype(np.float64))[1].astype(np.int64)
    small = exponents == 0
    bins = np.where(small, lengths - 1, m + exponents - 1)
    normalised = np.where(small, (fractions << (m + 1 - lengths)) & (2**m - 1), fractions)
    parts = sum((normalised >= least).astype(int) for least in thresholds(m))
    others = PARTS * (m + last - 1)
    classes = np.where(magnitudes == 0, others, PARTS * bins + parts)
    return np.where(exponents == last, others + 1 + (fractions > 0), classes)


@cache
def of_halves() -> np.ndarray:
    """The class of each of the 65,536 halves, signs included, two bytes each."""
    magnitudes = np.arange(65536, dtype=np.uint32) & 0x7FFF
    return classes_of(magnitudes, HALF).astype(np.uint16)
