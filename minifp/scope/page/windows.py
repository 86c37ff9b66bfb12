"""What a format can hold, in words and as the page's script reads it."""

import math
from bisect import bisect_left, bisect_right

from minifp.numerics.number_format import Format
from minifp.report.words import superscript
from minifp.scope.borders import are_counted, kept_from, normal_from, too_large_from


def in_words(format: Format) -> str:
    """A format and what it holds: float16: 2⁻²⁴ to 65504."""
    smallest = superscript(round(math.log2(format.smallest_subnormal)))
    return f"{format.name}: {smallest} to {format.max:.6g}"


def in_format(format: Format, borders: tuple) -> str:
    """Where numbers are stored, and whether histograms whose parts end at these borders count all
    that is lost there."""
    said = f"in {format.name}"
    return said if are_counted(format, borders) else f"{said} (lost: at least)"


def as_data(format: Format, borders: tuple) -> dict:
    """What it loses, by exponents and by the parts of such histograms; see data.py."""
    low, over = kept_from(format), too_large_from(format)
    return {
        "kept": [low.exponent, bisect_right(borders, low.place) - 1],
        "over": [over.exponent, bisect_left(borders, over.place)],
        "normal": normal_from(format).exponent,
        "max": math.log2(format.max),
        "said": in_format(format, borders),
    }
