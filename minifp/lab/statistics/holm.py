"""Several claims at once: p values adjusted so that any false one among them has a chance of 5%.

Source: Holm 1979.
"""

from collections.abc import Sequence


def holm(p: Sequence[float]) -> list[float]:
    """The adjusted p of each claim: the smallest times how many there are, the next times one less,
    ..., none smaller than one before it."""
    adjusted, largest = [0.0] * len(p), 0.0
    for rank, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = largest
    return adjusted
