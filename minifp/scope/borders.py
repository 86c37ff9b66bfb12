"""Where a format's losses begin: what it rounds to 0, and what is too large for it.

A border is (exponent, fraction, exclusive): numbers reach it that are at least fraction 2^exponent
or, where the border itself is not among them, that are larger. Rounding to nearest, ties to even,
the borders of a format with m mantissa bits are half a gap from its numbers:

    to 0        above half of the smallest number; without subnormal ones from where a number is
                rounded up to the smallest normal one, (2 - 2^-m) 2^-b
    too large   max + gap / 2, which itself is rounded up where max is odd: 65520 of float16, but
                not 464 of float8_e4m3fn, whose largest number, 448, is even

A loss scale moves borders by whole powers of two, so that their places within one stay, and those
of all formats with names are few: BORDERS. A histogram counts what lies between two of them.
"""

import math
from functools import cache
from typing import NamedTuple

from minifp.numerics.number_format import FORMATS, Format


class Border(NamedTuple):
    """See the module. fraction: from 1 to below 2."""

    exponent: int
    fraction: float
    exclusive: bool

    @property
    def place(self) -> tuple[float, bool]:
        """Where it lies in its power of two; places are in the order of what reaches them."""
        return self.fraction, self.exclusive

    def is_reached(self, magnitude: float, shift: int = 0) -> bool:
        """Whether a positive number times 2^shift reaches it."""
        fraction, exponent = math.frexp(magnitude)
        place, least = (exponent - 1 + shift, 2 * fraction), self[:2]
        return place > least if self.exclusive else place >= least


@cache
def kept_from(format: Format) -> Border:
    """What reaches it is not rounded to 0."""
    if format.subnormals or not format.mantissa_bits:
        return Border(math.frexp(format.smallest_subnormal)[1] - 2, 1.0, True)
    return Border(-format.bias, 2 - format.eps, False)


@cache
def normal_from(format: Format) -> Border:
    """What reaches it has the full mantissa."""
    return Border(1 - format.bias, 1.0, False)


def is_short(format: Format) -> bool:
    """Whether numbers are flushed in it that float32 holds with all digits."""
    return format.smallest_normal > FORMATS["float32"].smallest_normal


def are_counted(format: Format, places: tuple = ()) -> bool:
    """Whether histograms whose parts end at these places (or BORDERS) count exactly what a format
    loses."""
    ends = {kept_from(format).place, too_large_from(format).place}
    return ends <= {*(places or BORDERS)}


@cache
def too_large_from(format: Format) -> Border:
    """What reaches it becomes Inf, NaN or the largest number, as the format does."""
    fraction, exponent = math.frexp(format.max)
    is_even = format.mantissa_bits > 0 and format.largest_code % 2 == 0
    return Border(exponent - 1, 2 * fraction + format.eps / 2, is_even)


def places() -> tuple[tuple[float, bool], ...]:
    """Those of the formats with names that are narrower than float32, the power itself first."""
    narrow = [f for f in FORMATS.values() if f.bits < 32]
    ends = {ask(f).place for f in narrow for ask in (kept_from, normal_from, too_large_from)}
    return tuple(sorted(ends))


BORDERS = places()
PARTS = len(BORDERS)


def thresholds(mantissa_bits: int) -> list[int]:
    """For each part but the first, the least mantissa that reaches its border."""
    scaled = [((fraction - 1) * 2**mantissa_bits, over) for fraction, over in BORDERS[1:]]
    return [math.floor(least) + 1 if over else math.ceil(least) for least, over in scaled]
