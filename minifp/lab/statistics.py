"""Whether two precisions end at the same place: paired differences, an interval, and a verdict.

Runs of two precisions with the same seed start from the same weights and see the same batches, so
they are compared pair by pair. With n differences d of mean D and deviation s, the 90% interval is
D +- t(0.95, n - 1) s / sqrt(n). Against a margin m that was fixed before training:

    EQUIVALENT     the whole interval lies inside [-m, m]: both one-sided tests reject at 5% (TOST)
    DIFFERENT      the whole interval lies outside it: the difference is larger than the margin
    INCONCLUSIVE   neither: more seeds are needed, about (1.645 + 1.282)^2 s^2 / m^2 of them for an
                   80% chance of EQUIVALENT where there is truly no difference

Below three pairs there is no verdict: a deviation of two is a guess, and two agree by chance.
"No significant difference" is never taken for "the same": with few seeds everything passes that.
Sources: Schuirmann 1987 (TOST); Abramowitz and Stegun 26.7.3-4 (Student's t).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from minifp.errors import ArgumentError

EQUIVALENT, DIFFERENT, INCONCLUSIVE, DIVERGED = (
    "EQUIVALENT",
    "DIFFERENT",
    "INCONCLUSIVE",
    "DIVERGED",
)

CONFIDENCE = 0.90  # of the interval; its ends are then the two one-sided tests at 5%
NORMAL_95, NORMAL_90 = 1.645, 1.282  # quantiles of the normal distribution, for planning
LEAST_PAIRS = 3  # for a verdict
ROUNDING = 1e-14  # relative: a mean difference below it is what subtraction left
MOST_FLIPS = 16  # seeds up to which every combination of signs is tried


@dataclass(frozen=True)
class Paired:
    """The paired comparison of two samples; see the module for its terms."""

    n: int
    mean: float
    sd: float
    low: float
    high: float
    p_low: float  # of "the difference is below -margin"
    p_high: float  # of "the difference is above +margin"
    sign_flip_p: float  # of "no difference", by flipping signs; never below 2^(1-n)
    pairing_gain: float  # how many times fewer seeds pairing needs than independent runs would
    verdict: str | None  # None for fewer than LEAST_PAIRS
    needed: int | None  # seeds in all, when INCONCLUSIVE or too few for a verdict


def mean(values: Sequence[float]) -> float:
    """The mean of at least one number."""
    return math.fsum(values) / len(values)


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample of at least two, with n - 1; 0 where all are equal."""
    if min(values) == max(values):
        return 0.0
    center = mean(values)
    return math.sqrt(math.fsum((v - center) ** 2 for v in values) / (len(values) - 1))


def t_cdf(t: float, df: int) -> float:
    """The chance that Student's t with `df` degrees of freedom lies below t."""
    angle = math.atan(t / math.sqrt(df))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = total = cosine if df % 2 else 1.0
    for k in range(2 + df % 2, df, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    if df % 2:
        inside = 2 / math.pi * (angle + (sine * total if df > 1 else 0.0))
    else:
        inside = sine * total
    return 0.5 + inside / 2


def t_quantile(p: float, df: int) -> float:
    """The number below which Student's t lies with chance p, for p in (0.5, 1)."""
    low, high = 0.0, 1.0
    while t_cdf(high, df) < p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        if t_cdf(middle, df) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def compare_paired(values: Sequence[float], baseline: Sequence[float], margin: float) -> Paired:
    """Compare `values` with `baseline`, pair by pair, in units of the metric.

    Raises ArgumentError for fewer than two pairs: from one pair nothing follows.
    """
    if len(values) != len(baseline) or len(values) < 2:
        raise ArgumentError(
            f"compare_paired: got {len(values)} values and {len(baseline)} of the baseline, "
            "expected the same number of each, at least 2: train more seeds"
        )
    differences = [v - b for v, b in zip(values, baseline)]
    n, center, sd = len(differences), mean(differences), deviation(differences)
    if abs(center) < ROUNDING * max(map(abs, values)):
        center = 0.0
    error = sd / math.sqrt(n)
    half = t_quantile((1 + CONFIDENCE) / 2, n - 1) * error
    verdict = judge(center - half, center + half, margin) if n >= LEAST_PAIRS else None
    return Paired(
        n=n,
        mean=center,
        sd=sd,
        low=center - half,
        high=center + half,
        p_low=one_sided(center + margin, error, n - 1),
        p_high=one_sided(margin - center, error, n - 1),
        sign_flip_p=sign_flip_p(differences),
        pairing_gain=pairing_gain(values, baseline, sd),
        verdict=verdict,
        needed={INCONCLUSIVE: max(seeds_needed(sd, margin), n + 1), None: LEAST_PAIRS}.get(verdict),
    )


def judge(low: float, high: float, margin: float) -> str:
    """The verdict on an interval of differences."""
    if -margin < low and high < margin:
        return EQUIVALENT
    if high < -margin or low > margin:
        return DIFFERENT
    return INCONCLUSIVE


def one_sided(distance: float, error: float, df: int) -> float:
    """The p-value of "the true distance is not positive", also where the error is 0."""
    if error == 0:
        return 0.0 if distance > 0 else 1.0
    return 1 - t_cdf(distance / error, df)


def seeds_needed(sd: float, margin: float) -> int:
    """About how many paired seeds show equivalence with 80% power, if there is no difference."""
    return max(2, math.ceil(((NORMAL_95 + NORMAL_90) * sd / margin) ** 2))


def pairing_gain(values: Sequence[float], baseline: Sequence[float], sd: float) -> float:
    """The variance of unpaired differences over that of paired ones; below 1 pairing lost."""
    unpaired = deviation(values) ** 2 + deviation(baseline) ** 2
    if sd == 0:
        return math.inf if unpaired > 0 else 1.0
    return unpaired / sd**2


def sign_flip_p(differences: Sequence[float]) -> float:
    """The share of sign combinations whose mean is at least as far from 0 as the one seen.

    It assumes no distribution. Up to MOST_FLIPS differences every combination is tried; beyond,
    the first MOST_FLIPS blocks of differences flip together.
    """
    count = min(MOST_FLIPS, len(differences))
    blocks = [math.fsum(differences[i::count]) for i in range(count)]
    seen = abs(math.fsum(blocks)) * (1 - 1e-12)  # rounding must not separate equal sums
    totals = (
        abs(math.fsum(s * b for s, b in zip(signs, blocks)))
        for signs in product((1, -1), repeat=len(blocks))
    )
    return sum(total >= seen for total in totals) / 2 ** len(blocks)
