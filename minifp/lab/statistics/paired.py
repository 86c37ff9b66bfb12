"""Whether two precisions end at the same place: paired differences, an interval, and a verdict.

Runs of two precisions with the same seed start from the same weights and see the same batches, so
they are compared pair by pair. With n differences d of mean D and deviation s, the 90% interval is
D +- t(0.95, n - 1) s / sqrt(n). Against a margin m that was fixed before training:

    EQUIVALENT     the whole interval lies inside [-m, m]: both one-sided tests reject at 5% (TOST)
    DIFFERENT      the whole interval lies outside it: the difference is larger than the margin
    INCONCLUSIVE   neither: more seeds are needed, as many as give an 80% chance of EQUIVALENT where
                   there is truly no difference (power.py)

Below three pairs there is no verdict: a deviation of two is a guess, and two agree by chance.
"No significant difference" is never taken for "the same": with few seeds everything passes that.
From six pairs on, a test that only flips signs can say that there is a difference. One far pair
widens the interval and not that test: so where both disagree about 0, that is told.
Not being worse by more than the margin (non-inferiority) is one of the two tests alone, at 5%.
Sources: Schuirmann 1987 (TOST); Piaggio and others 2012 (non-inferiority).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from minifp.errors import ArgumentError
from minifp.lab.statistics.bootstrap import bca_interval
from minifp.lab.statistics.distributions import t_cdf, t_quantile
from minifp.lab.statistics.moments import deviation, mean
from minifp.lab.statistics.permutation import sign_flip_p
from minifp.lab.statistics.power import seeds_needed

EQUIVALENT, DIFFERENT, INCONCLUSIVE, DIVERGED = (
    "EQUIVALENT",
    "DIFFERENT",
    "INCONCLUSIVE",
    "DIVERGED",
)

CONFIDENCE = 0.90  # of the interval; its ends are then the two one-sided tests at 5%
LEAST_PAIRS = 3  # for a verdict
WEAK_PAIRS = 5  # below which a verdict is called weak
FLIP_PAIRS, FLIP_LEVEL = 6, 0.05  # from which on the sign-flip p can be below its level: 2/2^6
ROUNDING = 1e-14  # relative: a mean difference below it is what subtraction left


@dataclass(frozen=True)
class Difference:
    """How far a sample lies from its baseline, pair by pair; see the module for its terms."""

    n: int
    mean: float
    sd: float
    low: float
    high: float
    sign_flip_p: float  # of "no difference", by flipping signs; never below 2^(1-n)
    bootstrap: tuple[float, float]  # the same interval without a normal distribution
    pairing_gain: float  # how many times fewer seeds pairing needs than independent runs would


@dataclass(frozen=True)
class Paired(Difference):
    """The same held against a margin."""

    p_low: float  # of "the difference is below -margin"
    p_high: float  # of "the difference is above +margin"
    verdict: str | None  # None for fewer than LEAST_PAIRS
    needed: int | None  # seeds in all, when INCONCLUSIVE or too few for a verdict

    @property
    def p_equivalent(self) -> float:
        """Of "the difference is larger than the margin": small where it is EQUIVALENT."""
        return max(self.p_low, self.p_high)

    @property
    def p_different(self) -> float:
        """Of "the difference is within the margin": small where it is DIFFERENT."""
        return 1 - max(self.p_low, self.p_high)

    @property
    def is_contradicted(self) -> bool:
        """Whether the sign-flip p says otherwise: that there is a difference, where nothing is
        decided and the interval has 0 in it; or that there may be none, where it is DIFFERENT."""
        finds = self.sign_flip_p <= FLIP_LEVEL
        open_to_all = self.verdict == INCONCLUSIVE and self.low <= 0 <= self.high
        against = open_to_all if finds else self.verdict == DIFFERENT
        return against and self.n >= FLIP_PAIRS

    def p_not_worse(self, goal: str) -> float:
        """Of "worse by more than the margin": small where it is not (non-inferiority).

        goal: whether "max" or "min" of the metric is better.
        """
        return self.p_low if goal == "max" else self.p_high


def differ_by(values: Sequence[float], baseline: Sequence[float]) -> Difference:
    """How far `values` lie from `baseline`, pair by pair, in their unit.

    Raises ArgumentError for fewer than two pairs: from one pair nothing follows.
    """
    if len(values) != len(baseline) or len(values) < 2:
        raise ArgumentError(
            f"compare_paired: got {len(values)} values and {len(baseline)} of the baseline, "
            "expected equally many, at least 2: train more seeds"
        )
    return _differ_by(tuple(values), tuple(baseline))


@lru_cache(maxsize=512)  # a page and a table ask for the same again and again
def _differ_by(values, baseline):
    differences = [v - b for v, b in zip(values, baseline)]
    n, center, sd = len(differences), mean(differences), deviation(differences)
    if abs(center) < ROUNDING * max(map(abs, values)):
        center = 0.0
    half = t_quantile((1 + CONFIDENCE) / 2, n - 1) * sd / math.sqrt(n)
    return Difference(
        n=n,
        mean=center,
        sd=sd,
        low=center - half,
        high=center + half,
        sign_flip_p=sign_flip_p(differences),
        bootstrap=bca_interval(differences, CONFIDENCE),
        pairing_gain=pairing_gain(values, baseline, sd),
    )


def compare_paired(values: Sequence[float], baseline: Sequence[float], margin: float) -> Paired:
    """Compare `values` with `baseline`, pair by pair, in units of the metric.

    Raises ArgumentError for fewer than two pairs.
    """
    d = differ_by(values, baseline)
    error = d.sd / math.sqrt(d.n)
    verdict = judge(d.low, d.high, margin) if d.n >= LEAST_PAIRS else None
    needed = LEAST_PAIRS if verdict is None else None
    if verdict == INCONCLUSIVE:
        needed = max(seeds_needed(d.sd, margin), d.n + 1)
    return Paired(
        **vars(d),
        p_low=one_sided(d.mean + margin, error, d.n - 1),
        p_high=one_sided(margin - d.mean, error, d.n - 1),
        verdict=verdict,
        needed=needed,
    )


def judge(low: float, high: float, margin: float) -> str:
    """The verdict on an interval of differences."""
    if -margin < low and high < margin:
        return EQUIVALENT
    return DIFFERENT if high < -margin or low > margin else INCONCLUSIVE


def one_sided(distance: float, error: float, df: int) -> float:
    """The p-value of "the true distance is not positive", also where the error is 0."""
    if error == 0:
        return 0.0 if distance > 0 else 1.0
    return 1 - t_cdf(distance / error, df)


def pairing_gain(values: Sequence[float], baseline: Sequence[float], sd: float) -> float:
    """The variance of unpaired differences over that of paired ones; below 1 pairing lost."""
    unpaired = deviation(values) ** 2 + deviation(baseline) ** 2
    if sd == 0:
        return math.inf if unpaired > 0 else 1.0
    return unpaired / sd**2
