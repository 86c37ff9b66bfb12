"""A number of bytes as people write it."""

import re

from minifp.errors import ArgumentError

UNITS = {
    **{"b": 1, "": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12},
    **{"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40},
}


def as_bytes(size) -> int:
    """The bytes of "2GB" (10^9 each), "512 MiB" (2^20 each), or of a number of them.

    Raises ArgumentError for anything else.
    """
    match = re.fullmatch(r"(\d*\.?\d+(?:e\d+)?) *([kmgt]?i?b|)", str(size).strip().lower())
    count = 0 if match is None or isinstance(size, bool) else float(match[1]) * UNITS[match[2]]
    if not count >= 1:
        raise ArgumentError(f"memory={size!r}: expected bytes with a unit, such as 2GB or 1.5GiB")
    return int(count)
