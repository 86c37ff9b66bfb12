"""Of lesson 4."""

import math

import numpy as np
from teach.answers import Answers


def scale_for(largest):
    """By the exponent, exactly."""
    return 2.0 ** (math.frexp(65504 / largest)[1] - 1)


def doubles(largest):
    """Doubles, or halves, as long as it goes."""
    S = 1.0
    while S * largest > 65504:
        S /= 2
    while 2 * S * largest <= 65504:
        S *= 2
    return S


def first_power(is_enough):
    """The first S for which is_enough(g, S, tolerance)."""

    def search(g, tolerance):
        return next((2.0**k for k in range(41) if is_enough(g, 2.0**k, tolerance)), None)

    return search


def stored(g, S):
    return (g.astype(np.float64) * S).astype(np.float16)


def recovered(g, S, format=np.float64):
    """What is left after S was divided out in a format."""
    return (stored(g, S).astype(format) / format(S)).astype(np.float64)


def is_near(g, found, tolerance):
    return np.linalg.norm(found - g) <= tolerance * np.linalg.norm(g.astype(np.float64))


def is_harmless(g, S, tolerance):
    return is_near(g, recovered(g, S), tolerance)


smallest_harmless = first_power(is_harmless)


def shares(g):
    """By what is stored."""
    stored = np.abs(g.astype(np.float16)).astype(np.float64)
    zero, flushed = g == 0, (g != 0) & (stored == 0)
    return zero.mean(), flushed.mean(), ((stored > 0) & (stored < 2**-14)).mean()


def without_signs(g):
    """Forgets that gradients have signs."""
    zero, flushed, _ = shares(g)
    return zero, flushed, ((g != 0) & (g < 2.0**-14)).mean() - flushed


ANSWERS = {
    "scale_for": Answers(
        (scale_for, doubles),
        (lambda largest: 65504 / largest, "no power of two"),
        (lambda largest: 2.0 ** (math.floor(math.log2(65504 / largest)) - 1), "2 S does not"),
        (lambda largest: max(1.0, scale_for(largest / 2)), "is above 65504"),
        known={0: "is above 65504", 1: "is above 65504"},
    ),
    "smallest_harmless": Answers(
        (smallest_harmless,),
        (lambda g, tolerance: smallest_harmless(g, tolerance) or 1.0, "1 of 63 arrays"),
        known=dict.fromkeys(range(4), "arrays are wrong"),
    ),
    "shares": Answers(
        (shares,),
        (without_signs, "are subnormal"),
        (lambda g: shares(g)[:2], "three are asked for"),
        known={0: "are zero in float16 only", 1: "are zero in float16 only"},
    ),
    "multiplied": Answers(
        ({"activation gradients", "weight gradients"},),
        ({"activations"}, "computed before the loss"),
        ({"activation gradients"}, "S moves weight gradients too"),
        ({"gradients"}, "there is no kind gradients"),
        ("activations", "no set of names"),
    ),
}
