"""What a verdict on an arm costs: the seconds until a look, over the chance of a verdict there.

The chance is by the differences that there are (statistics/looks.py), at the level of the next step
of Holm's correction; the seconds are by how long finished runs of each arm took.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from minifp.lab.arms import is_control, split
from minifp.lab.conclusions.claims import Claim, in_order, lost_of
from minifp.lab.conclusions.sentences import holds_together
from minifp.lab.statistics.distributions import t_quantile
from minifp.lab.statistics.looks import chance_at, outlook
from minifp.lab.statistics.moments import mean
from minifp.lab.statistics.paired import DIFFERENT, EQUIVALENT, LEAST_PAIRS
from minifp.lab.statistics.power import LEVEL, POWER
from minifp.lab.workers.progress import spoken
from minifp.report import words

MOST = 10_000  # pairs, beyond which no price is named
FUTILE = 0.1  # chance of a verdict within what is left, below which nothing more is spent


@dataclass(frozen=True)
class Way:
    """To train an arm until it has so many pairs. seconds: that this takes; chance: of a verdict
    then."""

    pairs: int
    seconds: float
    chance: float

    @property
    def price(self) -> float:
        """Seconds for a verdict."""
        return self.seconds / self.chance if self.chance else math.inf


@dataclass(frozen=True)
class Line:
    """What is open: whether an arm differs from the baseline.

    ways: to each later look, and beyond the last one. pairs: the runs until the next look; none
    where no seeds are left for it. is_weak: whether there is a verdict, of few pairs.
    """

    comparison: Any
    arm: str
    ways: list[Way]
    pairs: list[tuple[str, int]]
    is_weak: bool = False

    def chance(self, left: float) -> float:
        """Of a verdict within so many seconds."""
        return max((way.chance for way in self.ways if way.seconds <= left), default=0.0)

    @property
    def best(self) -> Way:
        """That of the least price."""
        return min(self.ways, key=lambda way: way.price)


def affordable(lines: list[Line], left: float) -> list[Line]:
    """Those that may well be decided in the seconds left: what is cheapest first, and what would
    only be made firmer last."""
    able = [line for line in lines if line.pairs and line.chance(left) >= FUTILE]
    return sorted(able, key=lambda line: (line.is_weak, line.best.price))


def lines_of(comparison, decisive: Mapping[str, Claim], lanes: int = 1) -> list[Line]:
    """Those of a comparison with a budget. decisive: what decides on each arm, adjusted; lanes:
    runs at a time."""
    lines, decided = [], sum(map(is_decided, decisive.values()))
    for arm in comparison.precisions:
        claim = decisive.get(arm)
        if is_control(arm) or arm == comparison.baseline or is_settled(comparison, arm, claim):
            continue
        family = max(1, claim.together - decided) if claim else 1
        lines.append(line_of(comparison, arm, claim, LEVEL / family, lanes))
    return lines


def is_settled(comparison, arm: str, claim: Claim | None) -> bool:
    """Whether its verdict stands, or none can come: runs diverged, or nothing decides."""
    if lost_of(comparison, arm):
        return True
    if claim is None:
        return len(in_order(comparison, arm)) >= LEAST_PAIRS
    return claim.score.margin is None or (is_decided(claim) and not claim.is_weak)


def is_decided(claim: Claim | None) -> bool:
    """Whether it has a verdict that holds together with the others."""
    return claim is not None and claim.verdict in (EQUIVALENT, DIFFERENT) and holds_together(claim)


def line_of(comparison, arm: str, claim: Claim | None, level: float, lanes: int) -> Line:
    """That of one arm, with the baseline and the controls of both. level: of its tests."""
    both = comparison.baseline, arm
    together = [*both]
    together += [a for a in comparison.precisions if is_control(a) and split(a)[0] in together]
    looks, have, done = comparison.budget.looks, len(in_order(comparison, arm)), comparison.done()
    rounds = [[(a, s) for a in together if (a, s) not in done] for s in comparison.budget.seeds]
    rounds = [runs for runs in rounds if {*both} & {a for a, _ in runs}]
    chances = [(n, 1.0) for n in looks if n > have]  # as nothing is known yet
    if claim is not None and claim.paired is not None:
        chances = outlook(claim.paired, claim.score.scaled_margin, looks, level)
    takes = {a: seconds_of(comparison, a) / lanes for a in together}
    whole = [sum(takes[a] for a, _ in runs) for runs in rounds]
    ways = [
        Way(n, sum(whole[: n - have]) + max(0, n - have - len(whole)) * sum(takes.values()), chance)
        for n, chance in chances
    ]
    count = next((n - have for n in looks if n > have), len(rounds) + 1)
    if not {*together} <= {run.precision for run in comparison.runs}:
        count = 1  # which shows how long each takes
    pairs = sum(rounds[:count], []) if count <= len(rounds) else []
    return Line(comparison, arm, ways, pairs, is_decided(claim))


def seconds_of(comparison, arm: str, clock: str = "seconds") -> float:
    """How long a run of an arm takes, by those that there are, of all arms if there is none.
    clock: "seconds", or "processor_seconds" of a core."""
    taken = [getattr(run, clock) for run in comparison.runs_of(arm) or comparison.runs]
    return mean(taken) if taken else 0.0


def price_notes(comparison, decisive: Mapping[str, Claim]) -> list[str]:
    """What a verdict costs where the budget has not brought one."""
    if comparison.budget is None or not comparison.runs:
        return []
    lines = lines_of(comparison, decisive)
    return [price_note(comparison, line) for line in lines if not line.is_weak]


def price_note(comparison, line: Line) -> str:
    """That of one arm, with a budget."""
    best, costs = line.best, f"{spoken(line.best.price)} more on this machine"
    at, limit = words.plural(best.pairs, "seed"), spoken(comparison.budget.seconds)
    said = f"a verdict costs about {costs}, and is {best.chance:.0%} likely at {at}"
    if len(in_order(comparison, line.arm)) < 2:
        said = f"the first look, at {at}, takes about {costs}"
    return f"{line.arm} is not decided within the budget of {limit}: {said}."


# ---- without a budget ---------------------------------------------------------------------------

HEAD = ("arm", "pairs", "seeds for a verdict", "core hours more")


def price_rows(comparison, decisive: Mapping[str, Claim]) -> list[list[str]]:
    """Cells under HEAD for each arm that has no verdict, or none that holds together with the
    others: the seeds with which one is as likely as POWER, by the differences that there are, and
    how long the runs take that are missing. The level is Holm's for all verdicts of the claim, less
    those that stand in this comparison: where others stand too, fewer seeds are enough."""
    decided, rows = sum(map(is_decided, decisive.values())), []
    for arm, claim in decisive.items():
        if not is_open(comparison, arm, claim):
            continue
        level = LEVEL / max(1, claim.together - decided)
        count, hours = seeds_to_decide(claim.paired, claim.score.scaled_margin, level), "-"
        if count is not None:
            each = [
                seconds_of(comparison, a, "processor_seconds") for a in (comparison.baseline, arm)
            ]
            hours = f"{(count - claim.pairs) * sum(each) / 3600:,.1f}"
        seeds = f"more than {MOST:,}" if count is None else f"{count:,}"
        rows.append([arm, str(claim.pairs), seeds, hours])
    return rows


def is_open(comparison, arm: str, claim: Claim) -> bool:
    """Whether more seeds could bring a verdict on an arm, or make one hold."""
    if claim.paired is None or claim.score.margin is None or lost_of(comparison, arm):
        return False
    return not is_control(arm) and not is_decided(claim)


def seeds_to_decide(d, margin: float, level: float) -> int | None:
    """Pairs from which on one look brings a verdict with a chance of POWER; None where MOST are not
    enough. In steps of a tenth. d: a Difference; level: of its tests."""
    n = d.n + 1
    while n <= MOST:
        half = t_quantile(1 - level, n - 1) * d.sd / math.sqrt(n)
        if chance_at(d, margin, n, half) >= POWER:
            return n
        n += max(1, n // 10)
    return None
