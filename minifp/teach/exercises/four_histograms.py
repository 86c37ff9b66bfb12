"""Lesson 4: where numbers lie, and what a loss scale moves."""

import math

import numpy as np

from minifp.scope.observed import GRADIENTS, KINDS
from minifp.teach.exercise import exercise, random_of

LESSON = "04-four-histograms"
MAX = 65504.0  # the largest float16 number
CASES = 60
LAST = 40  # log2 of the largest loss scale


def gradients(random: np.random.Generator) -> np.ndarray:
    """Gradients as networks have them: log-normal, some exactly zero, float32 (n)."""
    n = int(random.integers(50, 400))
    g = random.choice([-1, 1], n) * 2.0 ** random.normal(random.uniform(-34, -8), 4, n)
    return np.where(random.random(n) < random.choice([0, 0.3, 0.67]), 0, g).astype(np.float32)


@exercise(LESSON)
def scale_for(answer):
    """A function from max |g| to the largest power of two S with S max |g| <= 65504."""
    random = random_of("scale_for")
    exact = [MAX / 2.0**k for k in range(0, 48, 3)]  # where S max |g| is 65504 itself
    nexts = [math.nextafter(x, math.inf) for x in exact]
    powers = [2.0**k for k in range(-30, 16, 5)]
    drawn = (2.0 ** random.uniform(-30, 15.9, CASES)).tolist()
    for largest in (*drawn, *powers, *exact, *nexts):
        said = answer(largest)
        problem = not_the_largest(said, largest)
        if problem:
            return f"max |g| = {largest!r}: you say {said!r}, {problem}"
    return None


def not_the_largest(said, largest: float) -> str:
    """What is wrong with a loss scale; "" if nothing is."""
    if not isinstance(said, (int, float, np.number)) or not said > 0:
        return "which is no positive number"
    if math.frexp(said)[0] != 0.5:
        return "which is no power of two, and would round every gradient"
    if said * largest > MAX:
        return f"and S max |g| = {said * largest:,.7g} is above 65504"
    if 2 * said * largest <= MAX:
        return f"but 2 S does not overflow either: 2 S max |g| = {2 * said * largest:,.7g}"
    return ""


def error_of(g: np.ndarray, S: float) -> float:
    """How far float16(g S) / S is from g, relative to the length of g."""
    g = g.astype(np.float64)
    stored = (g * S).astype(np.float16).astype(np.float64) / S
    return float(np.linalg.norm(stored - g) / np.linalg.norm(g))


def smallest_of(g: np.ndarray, tolerance: float) -> float | None:
    """The smallest S that is within the tolerance, None if none is."""
    scales = (2.0**k for k in range(LAST + 1))
    return next((S for S in scales if error_of(g, S) <= tolerance), None)


@exercise(LESSON)
def smallest_harmless(answer):
    """A function from gradients, float32 (n), and a tolerance to the smallest S within it."""
    random = random_of("smallest_harmless")
    wrong, first = 0, None
    cases = [(gradients(random), float(random.choice([0.3, 0.05, 0.01]))) for _ in range(CASES)]
    cases.append((np.array([3e-9, 3001], np.float32), 1e-5))  # none: rounding alone is more
    cases.append((np.array([1e-9, 60000], np.float32), 0.01))  # the small one does not matter
    cases.append((np.array([0, 0, 2e-8], np.float32), 0.05))
    for g, tolerance in cases:
        said, right = answer(g.copy(), tolerance), smallest_of(g, tolerance)
        if said != right:
            wrong, first = wrong + 1, first or (g, tolerance, said, right)
    if first is None:
        return None
    g, tolerance, said, right = first
    return (
        f"{wrong} of {len(cases)} arrays are wrong. The first has {len(g)} gradients, the largest "
        f"{np.abs(g).max():.3g}, tolerance {tolerance}: you say {said!r}{off(g, said)}, and it is "
        f"{right!r}{off(g, right)}"
    )


def off(g, S) -> str:
    """How far a loss scale is off, in brackets; "" for none."""
    is_number = isinstance(S, (int, float, np.number)) and S > 0
    return f" (off by {error_of(g, float(S)):.2%})" if is_number else ""


@exercise(LESSON)
def shares(answer):
    """A function from gradients, float32 (n), to the shares of zeros, of those that become zero in
    float16, and of those that are subnormal in it."""
    random = random_of("shares")
    edges = [2.0**-24, 2.0**-25, np.nextafter(np.float32(2.0**-25), np.float32(1)), 2.0**-14, 1.0]
    below = np.nextafter(np.float32(2.0**-14), np.float32(0))
    cases = [np.array([0, *edges, below, *(-np.array(edges))], np.float32)]
    cases += [np.zeros(5, np.float32), np.array([0] * 67 + [1.0] * 33, np.float32)]
    cases += [gradients(random) for _ in range(CASES)]
    for g in cases:
        said, right = tuple(answer(g.copy())), true_shares(g)
        if len(said) != 3:
            return f"it returns {len(said)} numbers, and three are asked for"
        for name, a, b in zip(("exactly zero", "zero in float16 only", "subnormal"), said, right):
            if not abs(float(a) - b) < 1e-6:
                return (
                    f"of an array with {len(g)} numbers, of which {np.mean(g == 0):.0%} are exact "
                    f"zeros, you say {float(a):.4f} are {name}, and it is {b:.4f}"
                )
    return None


def true_shares(g: np.ndarray) -> tuple[float, float, float]:
    """By the codes of float16: 0 is zero, and codes from 1 to 1023 are subnormal."""
    codes = g.astype(np.float16).view(np.uint16) & 0x7FFF
    zero = g == 0
    subnormal = (codes > 0) & (codes < 1024)
    return tuple(float(x.mean()) for x in (zero, (codes == 0) & ~zero, subnormal))  # type: ignore[return-value]


@exercise(LESSON)
def multiplied(answer):
    """Which of the four kinds have the factor S."""
    if not isinstance(answer, (set, frozenset, list, tuple)):
        return f"{answer!r} is no set of names, such as {{'weights', 'activations'}}"
    said = set(answer)
    if unknown := sorted(map(str, said - {*KINDS})):
        return f"there is no kind {', '.join(unknown)}: there are {', '.join(KINDS)}"
    if extra := [kind for kind in KINDS if kind in said and kind not in GRADIENTS]:
        return f"{extra[0]}: computed before the loss, so that S does not move them"
    if missing := [kind for kind in GRADIENTS if kind not in said]:
        return f"one kind is missing: S moves {missing[0]} too" if said else "none is named"
    return None
