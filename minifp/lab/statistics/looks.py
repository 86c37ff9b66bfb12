"""Verdicts at looks that were planned: intervals that hold at all of them together.

Who looks at the 90% interval after 3, 4, 6, 8, ... pairs, and stops where it decides, is wrong more
often than 5%: chance has several tries. So at look k the interval is D +- c_k s / sqrt(n), wider
than with one look. c_k is such that a one-sided t test against it, made at all looks, rejects what
is true in 5% of all experiments. What all looks have in common is the interval that is reported,
and it is judged as always. Stopping early for any other reason makes no error likelier.

How much of the 5% is spent up to each look is a function of the share of pairs that was fixed
before. c_k is exact for differences that are normal, of unknown deviation. The t of n pairs,
n = 2, 3, ..., is a Markov chain: with the angle a, tan a = t / sqrt(n - 1), the n differences as a
vector stand at the angle 90 degrees - a to (1, ..., 1), and without the last one of n + 1 they are

    tan a' = (sqrt(n) tan a + sin b) / (sqrt(n + 1) cos b)

with b of a density as that of a, cos^(n-2). So the chance that no bound was crossed before, given
a, follows from look to look by one integral. Sources: Lan and DeMets 1983 (spending); Jennison and
Turnbull 1989 and 1991 (repeated intervals; exact t), 1993 (for equivalence).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import Chebyshev
from numpy.polynomial.chebyshev import chebfit, chebpts1, chebval

from minifp.errors import ArgumentError
from minifp.lab.statistics.distributions import normal, quantile, t_cdf
from minifp.lab.statistics.moments import deviation, mean
from minifp.lab.statistics.paired import (
    INCONCLUSIVE,
    LEAST_PAIRS,
    Difference,
    Paired,
    compare_paired,
    judge,
)
from minifp.lab.statistics.power import LEVEL, POWER, tost_power

FIRST = (LEAST_PAIRS, 4, 6)  # pairs at the first looks; from there on twice as many as two before
NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
DEGREE = 64  # of the polynomials that stand for a chance as a function of the angle
FINE = 2001  # angles at which such a chance is summed
FAR = 9.0  # standard deviations beyond which nothing is expected
# Normal quantiles of levels: where bounds are computed, and between these by a polynomial.
KNOTS, SCALES = 3 + 3 * chebpts1(17), np.linspace(0, 6, 481)
BEYOND = 12  # times that looks are doubled, to tell what it would take


def planned_looks(most: int) -> tuple[int, ...]:
    """After how many pairs to look, up to `most`, which is the last look: 3, 4, 6, 8, 12, 16, ...

    Raises ArgumentError for fewer than a verdict needs.
    """
    if most < LEAST_PAIRS:
        raise ArgumentError(f"seeds: {most}, expected at least {LEAST_PAIRS}, as a verdict needs")
    looks = [*FIRST]
    while looks[-1] < most:
        looks.append(2 * looks[-2])
    return (*(n for n in looks if n < most), most)


def spent(looks: Sequence[int], level: float) -> list[float]:
    """How much of a level all looks up to each may use (Pocock's function of Lan and DeMets)."""
    return [level * math.log1p((math.e - 1) * n / looks[-1]) for n in looks]


@lru_cache(maxsize=1024)
def bounds(looks: tuple[int, ...], level: float = LEVEL) -> tuple[float, ...]:
    """c_k: what t is beyond at some look with the chance `level`, if nothing is there to find."""
    limits, n, before = [], looks[0], 0.0
    cut, inside = math.pi / 2, Chebyshev([1.0], [-widest(n), widest(n)])
    for look, until in zip(looks, spent(looks, level)):
        while n < look:
            inside, n, cut = one_more(inside, n, cut), n + 1, math.pi / 2
        cut = crossed(inside, n, until - before)
        limits.append(math.sqrt(n - 1) * math.tan(cut))
        before = until
    return tuple(limits)


def widest(n: int) -> float:
    """The angle of n pairs beyond which nothing is expected."""
    return min(math.pi / 2, FAR / math.sqrt(max(1, n - 2)))


def density(n: int, angle):
    """That of the angle of n pairs."""
    whole = math.lgamma((n - 1) / 2) - math.lgamma(n / 2) + math.log(math.pi) / 2
    return np.cos(angle) ** (n - 2) * math.exp(-whole)


def crossed(inside: Chebyshev, n: int, level: float) -> float:
    """The angle of n pairs that is exceeded with this chance, and no bound before it. inside: the
    chance that none was, by the angle."""
    (low, high), turn = inside.domain, np.linspace(-1, 1, FINE) * math.pi / 2
    angles = (low + high) / 2 + (high - low) / 2 * np.sin(turn)
    height = density(n, angles) * np.maximum(inside(angles), 0)
    slices = (height[1:] + height[:-1]) / 2 * np.diff(angles)
    above = np.cumsum(slices[::-1]) + 1e-300
    return float(np.interp(math.log(level), np.log(above), angles[-2::-1]))


def one_more(inside: Chebyshev, n: int, cut: float) -> Chebyshev:
    """`inside` of n + 1 pairs from that of n, whose angle was not beyond `cut`."""
    edge, root, far = math.sqrt(n + 1) * math.tan(cut), math.sqrt(n), widest(n)
    turn, reach = math.atan2(1, edge), math.hypot(1, edge)  # edge cos b - sin b = reach cos(b+turn)

    def chance(angles):
        start = root * np.tan(angles)[:, None]
        half = np.arccos(np.clip(start / reach, -1, 1))
        low, high = (np.clip(end - turn, -far, far) for end in (-half, half))
        b = low + (high - low) / 2 * (1 + NODES)
        before = np.arctan((start + np.sin(b)) / (math.sqrt(n + 1) * np.cos(b)))
        height = density(n, b) * inside(np.clip(before, *inside.domain))
        height *= before <= inside.domain[1]
        return ((high - low) / 2 * WEIGHTS * height).sum(1)

    last = min(widest(n + 1), math.atan(reach / root))  # beyond which it must have been beyond
    return Chebyshev.interpolate(chance, DEGREE, [-widest(n + 1), last])


# ---- a verdict ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class AtLooks(Paired):
    """The same of the pairs of the last look that was made, by the intervals of all looks.

    low, high: what these have in common. p values: the least level of the whole plan at which some
    look until now rejects. looks: that are planned; made: how many were; decided: the first that
    gave the verdict, from 1; None where none did.
    """

    p_within: float
    looks: tuple[int, ...]
    made: int
    decided: int | None

    @property
    def p_different(self) -> float:
        """Of "the difference is within the margin": small where it is DIFFERENT."""
        return self.p_within


def compare_at_looks(
    values: Sequence[float], baseline: Sequence[float], margin: float, looks: tuple[int, ...]
) -> Paired:
    """`compare_paired`, where looks are planned by these; without a verdict before the first."""
    if not looks or len(values) < looks[0]:
        return compare_paired(values, baseline, margin)
    return _at_looks(tuple(values), tuple(baseline), margin, looks)


@lru_cache(maxsize=512)
def _at_looks(values, baseline, margin, looks):
    done = sum(n <= len(values) for n in looks)
    low, high, decided, tests = -math.inf, math.inf, None, []
    for k, (n, c) in enumerate(zip(looks[:done], bounds(looks)), 1):
        differences = [v - b for v, b in zip(values[:n], baseline)]
        center, error = mean(differences), deviation(differences) / math.sqrt(n)
        ends = max(low, center - c * error), min(high, center + c * error)
        low, high = ends if ends[0] <= ends[1] else (low, high)
        if decided is None:
            verdict = judge(low, high, margin)
            decided = None if verdict == INCONCLUSIVE else k
        past = center + margin, margin - center, center - margin, -margin - center
        tests.append([p / error if error else math.copysign(math.inf, p) for p in past])
    last = compare_paired(values[:n], baseline[:n], margin)
    p_low, p_high, *p_within = (least_level(test, looks) for test in zip(*tests))
    ways = outlook(last, margin, looks)
    needed = None if decided else min(ways, key=lambda way: (way[0] - last.n) / way[1])[0]
    of_all = {"low": low, "high": high, "p_low": p_low, "p_high": p_high, "verdict": verdict}
    of_all |= {"needed": needed, "p_within": min(p_within)}
    return AtLooks(**{**vars(last), **of_all}, looks=looks, made=done, decided=decided)


def least_level(test: Sequence[float], looks: tuple[int, ...]) -> float:
    """At which level a one-sided test would have rejected by now, of its t at each look."""
    scales = [np.interp(math.asinh(t), b, SCALES, left=-1) for t, b in zip(test, tabled(looks))]
    return 1.0 if max(scales) < 0 else 1 - normal.cdf(max(scales))


@lru_cache(maxsize=32)
def tabled(looks: tuple[int, ...]) -> np.ndarray:
    """The bounds of each look at the levels of SCALES, as hyperbolic arcsines, which are smooth."""
    at = [np.arcsinh(bounds(looks, normal.cdf(-scale))) for scale in KNOTS]
    return chebval(SCALES / 3 - 1, chebfit(KNOTS / 3 - 1, at, len(KNOTS) - 1))


# ---- what it takes ------------------------------------------------------------------------------


def outlook(
    d: Difference, margin: float, looks: tuple[int, ...], level: float = LEVEL
) -> list[tuple[int, float]]:
    """(pairs, chance of a verdict there) of each look that is left, and of more than are planned.

    From d of at least two pairs, and no other knowledge of the true difference: the mean of n
    pairs, less that of d, over d.sd sqrt(1 / d.n - 1 / n), is as Student's t.
    """
    cs = bounds(looks, level)
    later = [(n, c) for n, c in zip(looks, cs) if n > d.n]
    later += [(looks[-1] * 2**k, cs[-1]) for k in range(1, BEYOND)]
    return [(n, chance_at(d, margin, n, c * d.sd / math.sqrt(n))) for n, c in later]


def chance_at(d: Difference, margin: float, n: int, half: float) -> float:
    """The chance of a verdict from n pairs, by an interval of this half width."""
    spread = d.sd * math.sqrt(1 / d.n - 1 / n)
    if not spread:
        return 1.0
    inner, outer = (
        [t_cdf((e - d.mean) / spread, d.n - 1) for e in (-m, m)]
        for m in (margin - half, margin + half)
    )
    return max(0.0, inner[1] - inner[0]) + outer[0] + 1 - outer[1]


def decisive_spread(n: int, c: float) -> float:
    """The deviation of differences, in margins, up to which n pairs with the bound c show
    equivalence with a chance of POWER, if there is truly no difference."""
    level = 1 - t_cdf(c, n - 1)
    return quantile(lambda sd: 1 - tost_power(n, sd, 1.0, level=level), 1 - POWER)
