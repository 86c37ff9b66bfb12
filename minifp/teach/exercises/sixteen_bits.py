"""Lesson 1: what float16 can say."""

import numpy as np

from minifp.teach.exercise import exercise

LESSON = "01-sixteen-bits"
INF_CODE = 0x7C00  # of float16


def halves_and_midpoints() -> np.ndarray:
    """All finite float16 numbers, the midpoints between neighbours, and the float32 numbers next to
    each of these, in float32: what any rounding to float16 is decided by."""
    halves = np.arange(INF_CODE, dtype=np.uint16).view(np.float16).astype(np.float32)
    nexts = np.append(halves[1:], np.float32(65536))  # as far away as if there were one more
    middle = (halves + nexts) / 2
    at = np.concatenate([halves, middle])
    around = [np.nextafter(at, np.float32(np.inf)), np.nextafter(at, np.float32(-np.inf))]
    positive = np.unique(np.concatenate([at, *around]))
    positive = positive[positive >= 0]
    return np.concatenate([positive, -positive])


@exercise(
    LESSON,
    "Round to float16, to nearest, ties to even",
    hints=(
        "Numbers of one binade (from 2^e to 2^(e+1)) lie 2^(e-10) apart: divide by that, round to "
        "a whole number, multiply again. np.frexp finds e.",
        "np.rint rounds ties to even. Below 2^-14 the distance stays 2^-24: the exponent that you "
        "divide by has a smallest value.",
        "What rounds to 65536 or more has no place: it is Inf. So are Inf and larger numbers "
        "before rounding; NaN stays NaN, and the sign of zero stays as it is.",
    ),
)
def round_f16(answer):
    """A function from float32 numbers, an array (n), to the nearest float16 numbers, in float32."""
    x = np.append(halves_and_midpoints(), [np.inf, -np.inf, np.nan]).astype(np.float32)
    right = x.astype(np.float16).astype(np.float32)
    given = np.asarray(answer(x.copy()), np.float32)
    if given.shape != x.shape:
        return f"it returns an array of shape {given.shape} for one of shape {x.shape}"
    wrong = (given.view(np.uint32) != right.view(np.uint32)) & ~(np.isnan(given) & np.isnan(right))
    if not wrong.any():
        return None
    first = np.flatnonzero(wrong)[np.argmin(np.abs(x[wrong]))]
    return (
        f"{wrong.sum():,} of {len(x):,} numbers are wrong (all 65,536 halves, all midpoints, and "
        f"their neighbours). The smallest: {x[first]} became {given[first]}, and should be "
        f"{right[first]}"
    )


@exercise(
    LESSON,
    "What float16 stores as zero",
    hints=(
        "The smallest float16 above zero is 2^-24. Is everything below that nearer to zero?",
        "A number is rounded to its nearest neighbour: where is the middle between 0 and 2^-24?",
        "The middle itself is a tie, and goes to the even one of the two: zero. Give the middle.",
    ),
)
def zero_up_to(answer):
    """The largest number that becomes zero."""
    if answer == 2.0**-25:
        return None
    stored = float(np.float16(answer))
    if stored:
        return f"{answer!r} is stored as {stored!r}, not as zero"
    above = float(np.nextafter(answer, 1.0))
    return f"{answer!r} does become zero, but so does {above!r}, which is larger"
