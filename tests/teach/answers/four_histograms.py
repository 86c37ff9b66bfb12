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


def saves_all(g, S, tolerance):
    """Hardly any number is lost, whether that matters or not."""
    return np.mean((g != 0) & (stored(g, S) == 0)) <= tolerance


def in_float16(g, S, tolerance):
    """What was saved is lost again."""
    return is_near(g, recovered(g, S, np.float16), tolerance)


def one_by_one(g, S, tolerance):
    """As if each number had to be right."""
    g = g[g != 0].astype(np.float64)
    return np.all(np.abs(recovered(g, S) - g) <= tolerance * np.abs(g))


smallest_harmless = first_power(is_harmless)


def shares(g):
    """By what is stored."""
    stored = np.abs(g.astype(np.float16)).astype(np.float64)
    zero, flushed = g == 0, (g != 0) & (stored == 0)
    return zero.mean(), flushed.mean(), ((stored > 0) & (stored < 2**-14)).mean()


def all_zeros_are_lost(g):
    """Counts zeros twice."""
    zero, _, subnormal = shares(g)
    return zero, (g.astype(np.float16) == 0).mean(), subnormal


def below_the_smallest(g):
    """Takes 2^-24 for the border."""
    zero, _, subnormal = shares(g)
    return zero, ((g != 0) & (np.abs(g) < 2.0**-24)).mean(), subnormal


def without_signs(g):
    """Forgets that gradients have signs."""
    zero, flushed, _ = shares(g)
    return zero, flushed, ((g != 0) & (g < 2.0**-14)).mean() - flushed


ANSWERS = {
    "scale_for": Answers(
        (scale_for, doubles),
        (lambda largest: 65504 / largest, "no power of two"),
        (lambda largest: 2.0 ** round(math.log2(65504 / largest)), "is above 65504"),
        (lambda largest: 2.0 ** (math.frexp(65536 / largest)[1] - 1), "is above 65504"),
        (lambda largest: 2.0 ** (math.floor(math.log2(65504 / largest)) - 1), "2 S does not"),
        (lambda largest: max(1.0, scale_for(largest / 2)), "is above 65504"),
    ),
    "smallest_harmless": Answers(
        (smallest_harmless,),
        (first_power(saves_all), "arrays are wrong"),
        (first_power(in_float16), "arrays are wrong"),
        (first_power(one_by_one), "arrays are wrong"),
        (lambda g, tolerance: scale_for(np.abs(g).max()), "arrays are wrong"),
        (lambda g, tolerance: smallest_harmless(g, tolerance) or 1.0, "1 of 63 arrays"),
    ),
    "shares": Answers(
        (shares,),
        (all_zeros_are_lost, "are zero in float16 only"),
        (below_the_smallest, "are zero in float16 only"),
        (without_signs, "are subnormal"),
        (lambda g: shares(g)[:2], "three are asked for"),
    ),
    "multiplied": Answers(
        ({"activation gradients", "weight gradients"},),
        ({"activations"}, "computed before the loss"),
        ({"activation gradients"}, "S moves weight gradients too"),
        ({"gradients"}, "there is no kind gradients"),
        ("activations", "no set of names"),
    ),
}
