"""What a technique does: the metric with it minus the metric without it, paired by seed.

Of k techniques all 2^k combinations are trained (a full factorial design: Box, Hunter and Hunter,
Statistics for Experimenters, chapter 5), so that the effect of each can be asked in three ways:

    together   with all others present: what is lost if it alone is taken away
    alone      with all others missing: what it brings by itself
    average    over all combinations of the others: the main effect of the design

A run that diverged is counted, and never averaged: a seed counts for an average only where all of
its runs finished, so that every number is of the same combinations. An effect is a claim like those
of arms, judged by the same function; the p values of all effects are adjusted together.
"""

import math
from dataclasses import dataclass, replace

from minifp.lab.conclusions.claims import Claim, adjusted, nothing_told, tested
from minifp.lab.conclusions.scores import Score, ended
from minifp.lab.statistics.moments import mean
from minifp.lab.statistics.paired import DIVERGED

TOGETHER, ALONE, AVERAGE = "together", "alone", "average"
WAYS = (TOGETHER, ALONE, AVERAGE)


@dataclass(frozen=True)
class Effect:
    """One technique, asked in one of WAYS.

    failed_with, failed_without: how many runs, of `runs` on each side, did not finish. claim: of
    (with it minus without it) over the seeds with which all runs finished.
    """

    factor: str
    way: str
    runs: int
    failed_with: int
    failed_without: int
    claim: Claim

    @property
    def verdict(self) -> str | None:
        """The claim's; DIVERGED where runs without it failed and with it did not."""
        return DIVERGED if self.failed_without > self.failed_with else self.claim.verdict

    def told(self) -> dict:
        """As plain numbers and texts, for results."""
        own = {k: v for k, v in vars(self).items() if k != "claim"}
        c = self.claim
        numbers = {"pairs": c.pairs, "mean": c.difference, "low": c.low, "high": c.high}
        judged = {"verdict": self.verdict, "weak": c.is_weak, "holm": c.holm_of_verdict}
        return {**own, **numbers, **judged, "coarse": c.coarse}


def effect(
    factor: str, way: str, pairs: list[list[tuple]], score: Score, coarse: str = ""
) -> Effect:
    """The Effect of a technique from runs in pairs.

    pairs: for each seed, (Run with it, Run without it) of every combination of the others that is
    looked at. coarse: why the score cannot decide, in words.
    """
    both = [pair for seed in pairs for pair in seed]
    failed, lost = (sum(not ended(pair[side]) for pair in both) for side in (0, 1))
    whole = [seed for seed in pairs if seed and all(map(ended, sum(seed, ())))]
    sides = [tuple(averaged(score, [p[side] for p in seed]) for side in (0, 1)) for seed in whole]
    coarse = coarse or nothing_told(score, sum(whole, []), len(whole))
    claim = Claim(factor, "", score, pairs=len(whole), coarse=coarse, decides=True)
    may_claim = all(ended(one) == ended(other) for one, other in both)
    return Effect(factor, way, len(both), failed, lost, tested(claim, sides, may_claim))


def averaged(score: Score, runs: list) -> float:
    """The mean of a score over runs; of a relative one the geometric mean."""
    values = [score.of(run) for run in runs]
    if not score.relative or min(values) <= 0:
        return mean(values)
    return math.exp(mean([math.log(value) for value in values]))


def together(effects: list[Effect]) -> list[Effect]:
    """The same, adjusted together."""
    claims = adjusted([effect.claim for effect in effects])
    return [replace(effect, claim=claim) for effect, claim in zip(effects, claims)]


def contexts(cells: dict[tuple, str], index: int, way: str) -> list[tuple[str, str]]:
    """(precision with factor `index`, precision without it) in each combination looked at."""
    pairs = []
    for present, text in cells.items():
        others = present[:index] + present[index + 1 :]
        looked_at = {TOGETHER: all(others), ALONE: not any(others), AVERAGE: True}[way]
        if present[index] and looked_at:
            pairs.append((text, cells[(*present[:index], False, *present[index + 1 :])]))
    return pairs
