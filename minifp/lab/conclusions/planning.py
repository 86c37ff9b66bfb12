"""How many seeds it takes to show equivalence at a margin, from the runs that there are."""

from dataclasses import dataclass

from minifp.lab.arms import is_control
from minifp.lab.conclusions.claims import claims_of
from minifp.lab.statistics.paired import LEAST_PAIRS
from minifp.lab.statistics.power import LEVEL, POWER, deviation_limits, seeds_needed, tost_power

POINTS = 24  # of a curve, about


@dataclass(frozen=True)
class Need:
    """Of one arm, in the score that decides on it.

    sd: of the differences of `pairs`. seeds: how many give the power that was asked for, if truly
    there is no difference and sd is the true one; at_best, at_worst: with the ends of its 80%
    interval. now: the power of the pairs that there are, or of three. level: of the tests.
    """

    arm: str
    score: str
    unit: str
    margin: float
    pairs: int
    sd: float
    seeds: int
    at_best: int
    at_worst: int
    now: float
    level: float


def needs_of(comparison, power: float = POWER) -> list[Need]:
    """One for each arm with at least two pairs, controls left out. Each is to hold together with
    the others: at the level of the first step of Holm's correction."""
    needs = []
    claims = [c for c in claims_of(comparison) if c.decides and not is_control(c.arm)]
    claims = [c for c in claims if c.score.margin is not None]
    differences = [(c, c.paired) for c in claims if c.paired is not None]
    level = LEVEL / max(1, len(differences))
    for c, difference in differences:
        sd, margin = difference.sd, c.score.scaled_margin
        low, high = deviation_limits(sd, c.pairs)
        needs.append(
            Need(
                arm=c.arm,
                score=c.score.name,
                unit=c.score.difference_unit + " of the logarithm" * c.score.relative,
                margin=margin,
                pairs=c.pairs,
                sd=sd,
                seeds=at_least(sd, margin, power, level),
                at_best=at_least(low, margin, power, level),
                at_worst=at_least(high, margin, power, level),
                now=tost_power(max(c.pairs, LEAST_PAIRS), sd, margin, level=level),
                level=level,
            )
        )
    return needs


def at_least(sd, margin, power, level) -> int:
    """The seeds that are needed, and never fewer than a verdict needs."""
    return max(LEAST_PAIRS, seeds_needed(sd, margin, power, level))


def counts(needs) -> list[int]:
    """The numbers of seeds at which a curve of all of them is drawn."""
    top = max([8, *(min(2 * n.seeds, 400) for n in needs)])
    steps = (round(i * (top - LEAST_PAIRS) / POINTS) for i in range(POINTS + 1))
    return sorted({LEAST_PAIRS + step for step in steps})


def curve(need: Need, seeds) -> list[float]:
    """The power with each number of seeds."""
    return [tost_power(n, need.sd, need.margin, level=need.level) for n in seeds]
