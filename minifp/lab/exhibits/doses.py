"""A claim that something does nothing, tested at several doses of it: the response to each.

For each dose: how many steps were skipped, and the difference of the metric from float32, paired by
seed. Over all doses a slope: for each seed, the least-squares slope of the difference against the
share of skipped steps; then the mean of these slopes, with its interval.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from minifp.lab.conclusions.claims import LEVEL, claims_of
from minifp.lab.conclusions.rows import Row
from minifp.lab.conclusions.scores import ended
from minifp.lab.exhibits.failures import failures
from minifp.lab.statistics.moments import mean
from minifp.lab.statistics.paired import DIFFERENT, DIVERGED, EQUIVALENT, Difference, differ_by
from minifp.report import words


@dataclass(frozen=True)
class Response:
    """One dose. share: of the steps that were skipped, over all runs; low, high: over seeds.
    failures: how many runs came to nothing, by how."""

    dose: float
    row: Row
    share: float | None
    low: float | None
    high: float | None
    failures: Counter = field(default_factory=Counter)

    @property
    def power(self) -> float:
        """log2 of the dose."""
        return math.log2(self.dose)


def responses(exhibit, comparison) -> list[Response]:
    """One for each dose, the smallest first."""
    rows = {row.precision: row for row in comparison.rows()}
    each = []
    for arm, dose in sorted(exhibit.doses.items(), key=lambda pair: pair[1]):
        shares = [run.skipped / run.steps for run in comparison.runs_of(arm) if run.steps]
        share, low, high = (of(shares) if shares else None for of in (mean, min, max))
        each.append(Response(dose, rows[arm], share, low, high, failures(comparison, arm)))
    return each


def slope(exhibit, comparison) -> Difference | None:
    """How the difference grows with the percentage of skipped steps: points for each, over seeds;
    None where fewer than two seeds have all doses, or all skip as many."""
    base = {run.seed: run for run in comparison.runs_of(comparison.baseline) if ended(run)}
    slopes = []
    for seed in base:
        runs = [r for arm in exhibit.doses for r in comparison.runs_of(arm) if r.seed == seed]
        if len(runs) < len(exhibit.doses) or not all(map(ended, runs)):
            continue
        shares = [100 * run.skipped / run.steps for run in runs]
        if max(shares) > min(shares):
            differences = [run.metric - base[seed].metric for run in runs]
            slopes.append(float(np.polyfit(shares, differences, 1)[0]))
    return differ_by(slopes, [0.0] * len(slopes)) if len(slopes) > 1 else None


def finding(exhibit, comparison) -> str:
    """What follows for the claim."""
    trained = [r for r in responses(exhibit, comparison) if r.row.n]
    if not trained:
        return "nothing was trained yet"
    against = [r for r in trained if r.row.verdict in (DIFFERENT, DIVERGED)]
    if against:
        return (
            f"not as claimed at {named(exhibit, against)}: the {comparison.task.metric_name} is "
            "not float32's"
        )
    undecided = [r for r in trained if r.row.verdict != EQUIVALENT]
    if undecided:
        needed = max((r.row.needed for r in undecided if r.row.needed), default=0)
        seeds = f": about {needed} seeds would decide" if needed else ""
        if any(r.row.verdict is None for r in undecided):
            seeds = f": at least {needed} seeds are needed"
        return f"undecided at {named(exhibit, undecided)}{seeds}"
    shares = [percent(r.share) for r in (trained[-1], trained[0])]
    idle = [r for r in trained if not r.share]
    less = f"; no step was skipped at {named(exhibit, idle)}, which tests nothing" if idle else ""
    return (
        f"as claimed, at {named(exhibit, trained)}, where {shares[0]} to {shares[1]} of the steps "
        f"are skipped, the {comparison.task.metric_name} is float32's within the margin"
        f"{together(comparison)}{less}"
    )


def named(exhibit, some) -> str:
    """Doses in words."""
    doses = [f"{r.dose:,g}" for r in some]
    return f"{words.plural(len(doses), exhibit.dose).partition(' ')[2]} {words.listed(doses)}"


def together(comparison) -> str:
    """Whether all verdicts hold as one claim too."""
    adjusted = [c.holm_of_verdict for c in claims_of(comparison) if c.decides and c.verdict]
    if len(adjusted) < 2:
        return ""
    holds = all(p is not None and p <= LEVEL for p in adjusted)
    return f", {'also' if holds else 'but not'} for all of them together (Holm)"


def slope_text(exhibit, comparison) -> str:
    """The slope in words; empty where there is none."""
    d, task = slope(exhibit, comparison), comparison.task
    if d is None:
        return ""
    places = words.decimals(task.margin) + 1
    low, high = words.signed(d.low, places), words.signed(d.high, places)
    return (
        f"for each percent of steps that is skipped the {task.metric_name} changes by "
        f"{words.signed(d.mean, places)} {task.difference_unit} [{low}, {high}] "
        f"(least squares over all doses, {words.plural(d.n, 'seed')}, 90% interval)."
    )


def percent(share) -> str:
    """A share of steps in percent."""
    return "-" if share is None else f"{words.three_digits(100 * share)}%"
