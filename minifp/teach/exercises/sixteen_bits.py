"""Lesson 1: what float16 can say."""

import numpy as np

from minifp.teach.counterexample import counterexample
from minifp.teach.exercise import exercise

LESSON = "01-sixteen-bits"
INF_CODE = 0x7C00  # of float16


def halves() -> np.ndarray:
    """All finite float16 numbers that are not negative, in float32, in order."""
    return np.arange(INF_CODE, dtype=np.uint16).view(np.float16).astype(np.float32)


def halves_and_midpoints() -> np.ndarray:
    """All finite float16 numbers, the midpoints between neighbours, and the float32 numbers next to
    each of these, in float32: what any rounding to float16 is decided by."""
    nexts = np.append(halves()[1:], np.float32(65536))  # as far away as if there were one more
    at = np.concatenate([halves(), (halves() + nexts) / 2])
    around = [np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf))]
    positive = np.unique(np.concatenate([at, *around]))
    positive = positive[positive >= 0]
    return np.concatenate([positive, -positive])


@exercise(LESSON)
def round_f16(answer):
    """A function from float32 numbers, an array (n), to the nearest float16 numbers, in float32."""
    x = np.append(halves_and_midpoints(), [np.inf, -np.inf, np.nan]).astype(np.float32)
    right = x.astype(np.float16).astype(np.float32)
    tried = "all 65,536 halves, all midpoints, and their neighbours"
    return counterexample(x, answer(x.copy()), right, tried)


@exercise(LESSON)
def zero_up_to(answer):
    """The largest number that becomes zero."""
    if answer == 2.0**-25:
        return None
    stored = float(np.float16(answer))
    if stored:
        return f"{answer!r} is stored as {stored!r}, not as zero"
    above = float(np.nextafter(answer, 1.0))
    return f"{answer!r} does become zero, but so does {above!r}, which is larger"


@exercise(LESSON)
def gap_above(answer):
    """A function from float16 numbers that are not negative, in float32 (n), to how far the next
    larger one is."""
    x = halves()[:-1]
    tried = "all finite float16 numbers that are not negative, but the largest"
    return counterexample(x, answer(x.copy()), np.diff(halves()), tried)


@exercise(LESSON)
def below_normal(answer):
    """How many positive float16 numbers are smaller than 2^-14."""
    count = int(np.sum((halves() > 0) & (halves() < 2.0**-14)))
    if answer == count:
        return None
    if answer == 0:
        return "0 is what that sentence says, but 2^-15 is one: float16 stores it exactly"
    way = "fewer" if answer > count else "more"
    return f"there are {way} than {answer!r}: count the multiples of 2^-24 between 0 and 2^-14"
