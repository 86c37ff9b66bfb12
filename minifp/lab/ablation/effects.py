"""What a technique does: the metric with it minus the metric without it, paired by seed.

Of k techniques all 2^k combinations are trained (a full factorial design: Box, Hunter and Hunter,
Statistics for Experimenters, chapter 5), so that the effect of each can be asked in three ways:

    together   with all others present: what is lost if it alone is taken away
    alone      with all others missing: what it brings by itself
    average    over all combinations of the others: the main effect of the design

A run that diverged is counted, and never averaged: a seed counts for an average only where all of
its runs finished, so that every number is of the same combinations.
"""

from dataclasses import dataclass

from minifp.lab.statistics.moments import mean
from minifp.lab.statistics.paired import DIVERGED, LEAST_PAIRS, Paired, compare_paired

TOGETHER, ALONE, AVERAGE = "together", "alone", "average"
WAYS = (TOGETHER, ALONE, AVERAGE)


@dataclass(frozen=True)
class Effect:
    """One technique, asked in one of WAYS.

    mean, low, high: of (with it minus without it) over seeds, in the metric's unit, and its 90%
    interval; None where no pair, or only one, finished. pairs: seeds behind it. failed_with,
    failed_without: how many runs, of `runs` on each side, did not finish. verdict: EQUIVALENT where
    the effect is within the margin, DIFFERENT where it is beyond, INCONCLUSIVE, DIVERGED where runs
    without it failed and with it did not, or None below three pairs.
    """

    factor: str
    way: str
    runs: int
    failed_with: int
    failed_without: int
    pairs: int
    mean: float | None
    low: float | None
    high: float | None
    verdict: str | None


def effect(factor: str, way: str, pairs: list[list[tuple]], margin: float) -> Effect:
    """The Effect of a technique from runs in pairs.

    pairs: for each seed, (Run with it, Run without it) of every combination of the others that is
    looked at.
    """
    both = [pair for seed in pairs for pair in seed]
    failed = [sum(not _ended(pair[side]) for pair in both) for side in (0, 1)]
    whole = [seed for seed in pairs if seed and all(map(_ended, sum(seed, ())))]
    there, missing = ([mean([p[side].metric for p in seed]) for seed in whole] for side in (0, 1))
    paired: Paired | None = compare_paired(there, missing, margin) if len(whole) > 1 else None
    verdict = paired.verdict if paired is not None and len(whole) >= LEAST_PAIRS else None
    if failed[1] > failed[0]:
        verdict = DIVERGED
    single = there[0] - missing[0] if len(whole) == 1 else None
    return Effect(
        factor, way, len(both), failed[0], failed[1], len(whole),
        mean=paired.mean if paired else single,
        low=paired.low if paired else None,
        high=paired.high if paired else None,
        verdict=verdict,
    )  # fmt: skip


def contexts(cells: dict[tuple, str], index: int, way: str) -> list[tuple[str, str]]:
    """(precision with factor `index`, precision without it) in each combination looked at."""
    found = []
    for present, text in cells.items():
        others = present[:index] + present[index + 1 :]
        looked_at = {TOGETHER: all(others), ALONE: not any(others), AVERAGE: True}[way]
        if present[index] and looked_at:
            found.append((text, cells[(*present[:index], False, *present[index + 1 :])]))
    return found


def _ended(run) -> bool:
    return run.finished and run.metric is not None
