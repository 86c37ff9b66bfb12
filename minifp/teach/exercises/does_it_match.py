"""Lesson 11: what may be said of two precisions after so many runs."""

import math

import numpy as np

from minifp.lab.statistics.distributions import normal
from minifp.lab.statistics.moments import deviation
from minifp.lab.statistics.paired import compare_paired, differ_by
from minifp.teach.exercise import exercise, random_of

LESSON = "11-does-it-match"
CLOSE = 1e-6  # of a p value: the tables of t differ in digits behind that
MARGIN = 0.5


def samples(seed: int, n: int, bias: float, shared: float) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies of n runs of a precision and of float32, which have `shared` points of their
    spread in common, and 0.4 points each of their own."""
    rng = random_of(seed)
    both = 96 + shared * rng.normal(size=n)
    return both + bias + 0.4 * rng.normal(size=n), both + 0.4 * rng.normal(size=n)


@exercise(LESSON)
def tost_p(answer):
    """Of paired differences (n) and a margin, the p value of "it is not equivalent"."""
    for seed, (n, bias) in enumerate([(10, 0.0), (10, 0.4), (10, -0.4), (5, 0.1), (24, -0.2)]):
        values, baseline = samples(seed, n, bias, 1.0)
        right = compare_paired(values.tolist(), baseline.tolist(), MARGIN).p_equivalent
        result = float(answer(values - baseline, MARGIN))
        if not abs(result - right) <= CLOSE:
            center = float((values - baseline).mean())
            return (
                f"for {n} differences of mean {center:+.3f} and deviation "
                f"{deviation((values - baseline).tolist()):.3f}, at a margin of {MARGIN}, it is "
                f"{right:.5f}, not {result:.5f}"
            )
    return None


@exercise(LESSON)
def seeds_for(answer):
    """Of the deviation of paired differences and a margin, how many pairs show equivalence in 80%
    of all cases where there is no difference: the normal distribution's answer, rounded up."""
    quantiles = normal.inv_cdf(0.95) + normal.inv_cdf(0.9)
    rng = random_of(4)
    for sd, margin in [(1.72, 1.0), (0.39, 0.5), (0.1, 1.0), *rng.uniform(0.2, 3, (8, 2))]:
        exact = (quantiles * sd / margin) ** 2
        right = max(3, math.ceil(exact))
        allowed = {right, max(3, math.ceil(exact * 1.001))}  # quantiles of three digits will do
        result = answer(float(sd), float(margin))
        if result not in allowed:
            return (
                f"differences with a deviation of {sd:.3g}, a margin of {margin:.3g}: {right} "
                f"pairs are needed, not {result}"
            )
    return None


@exercise(LESSON)
def pairing_gain(answer):
    """Of accuracies of two precisions, seed by seed, how many times fewer seeds pairing needs."""
    for seed, shared in enumerate([1.0, 0.0, 3.0, 0.3]):
        values, baseline = samples(10 + seed, 8, 0.2, shared)
        right = differ_by(values.tolist(), baseline.tolist()).pairing_gain
        result = float(answer(values.copy(), baseline.copy()))
        if not abs(result - right) <= CLOSE * right:
            return (
                f"8 seeds whose runs have a deviation of {values.std(ddof=1):.3f} and "
                f"{baseline.std(ddof=1):.3f}, their differences "
                f"{(values - baseline).std(ddof=1):.3f}: the gain is {right:.4g}, not {result:.4g}"
            )
    return None
