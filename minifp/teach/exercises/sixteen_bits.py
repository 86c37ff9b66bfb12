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


@exercise(
    LESSON,
    "Round to float16, to nearest, ties to even",
    hints=(
        "From 2^e to 2^(e+1) the [gap](glossary.md#gap) is 2^(e-10): divide by it, round to a "
        "whole number, and multiply again. np.frexp has fractions from 1/2 to 1: it gives e + 1.",
        "np.rint rounds ties to even. Below 2^-14 the gap stays 2^-24, so the power of two that "
        "you divide by has a smallest value.",
        "Numbers that round to 65536 or more do not fit: they become Inf, with their sign. NaN "
        "stays NaN, and zero keeps its sign.",
    ),
)
def round_f16(answer):
    """A function from float32 numbers, an array (n), to the nearest float16 numbers, in float32."""
    x = np.append(halves_and_midpoints(), [np.inf, -np.inf, np.nan]).astype(np.float32)
    right = x.astype(np.float16).astype(np.float32)
    tried = "all 65,536 halves, all midpoints, and their neighbours"
    return counterexample(x, answer(x.copy()), right, tried)


@exercise(
    LESSON,
    "What float16 stores as zero",
    hints=(
        "The smallest float16 number above zero is 2^-24. Is everything below it nearer to zero?",
        "A number is rounded to its nearest neighbour. Where is the middle between 0 and 2^-24?",
        "The middle itself is a [tie](glossary.md#rounding), and goes to the one whose last bit is "
        "0: to zero. Give the middle.",
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


@exercise(
    LESSON,
    "The gap above a float16 number",
    hints=(
        "Between two powers of two all gaps are alike: 1, 1.001 and 1.999 have the same gap above "
        "them.",
        "From 2^e to 2^(e+1) there are 1,024 numbers, 2^(e-10) apart. np.frexp gives an exponent, "
        "but for a fraction from 1/2 to 1.",
        "np.frexp(2048.0) is (0.5, 12): its second number minus 11 is the exponent of the gap. "
        "Zero and the [subnormal numbers](glossary.md#subnormal-number) lie 2^-24 apart, and no "
        "gap is smaller.",
    ),
)
def gap_above(answer):
    """A function from float16 numbers that are not negative, in float32 (n), to how far the next
    larger one is."""
    x = halves()[:-1]
    tried = "all finite float16 numbers that are not negative, but the largest"
    return counterexample(x, answer(x.copy()), np.diff(halves()), tried)


@exercise(
    LESSON,
    "Numbers below the smallest normal one",
    hints=(
        "6.1e-5 is 2^-14. Below it the exponent field is 0, and the fraction counts how many times "
        "2^-24 the number is.",
        "The fraction has ten bits. How many patterns do they have, and which of them stand for a "
        "positive number?",
        "All but one: the pattern of ten zeros is the number zero.",
    ),
)
def below_normal(answer):
    """How many positive float16 numbers are smaller than 2^-14."""
    count = int(np.sum((halves() > 0) & (halves() < 2.0**-14)))
    if answer == count:
        return None
    if answer == 0:
        return "0 is what that sentence says, but 2^-15 is one: float16 stores it exactly"
    way = "fewer" if answer > count else "more"
    return f"there are {way} than {answer!r}: count the multiples of 2^-24 between 0 and 2^-14"
