"""What a margin of the test loss follows from: the courses of the baseline's own runs.

Two checkpoints of the baseline whose metrics are as far apart as its margin (a point of accuracy)
count as equal. So may test losses that are no farther apart than theirs. And what counts as nothing
must be little beside what training does: at most a tenth of what the loss falls by over the second
half of the steps. The smaller of both is the margin, rounded down to two digits.

Both are read off the mean course of all seeds, between evaluations along straight lines, so that
whoever has the evaluations finds the same: `python scripts/loss_margins.py FOLDER`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from minifp.lab.statistics.moments import mean

SHARE = 0.1  # of what the second half of training does
Course = Sequence[tuple]  # (step, metric, test loss) of each evaluation of a run


@dataclass(frozen=True)
class LossMargin:
    """apart: how much lower the test loss is at the end than where the metric was last worse by its
    margin; None where it never was. half: than at half of the steps. value: the margin that
    follows; None where the loss does not fall over such a stretch. metric: how much better the
    metric itself is at the end than at half of the steps, on the scale of its margin."""

    apart: float | None = None
    half: float | None = None
    metric: float | None = None

    @property
    def value(self) -> float | None:
        """See the class."""
        known = [] if self.apart is None else [self.apart]
        known += [] if self.half is None else [SHARE * self.half]
        return rounded_down(min(known)) if known and min(known) > 0 else None


def loss_margin_of(courses: Sequence[Course], worse_by: Callable, margin: float) -> LossMargin:
    """That of runs of one precision. worse_by(metric, at the end): by how much the first is worse,
    on the scale of `margin`. Evaluations count that all runs have, with a metric. A task without a
    test loss has but the metric's own course."""
    points = mean_course(courses)
    if len(points) < 2:
        return LossMargin()
    steps, metrics, losses = zip(*points)
    behind = [worse_by(metric, metrics[-1]) for metric in metrics]
    at, half = last_crossing(steps, behind, margin), max(steps[-1] / 2, steps[0])

    def lost(step):
        fall = math.nan if step is None else np.interp(step, steps, losses) - losses[-1]
        return None if math.isnan(fall) else float(fall)

    return LossMargin(lost(at), lost(half), float(np.interp(half, steps, behind)))


def mean_course(courses: Sequence[Course]) -> list[tuple]:
    """(step, metric, loss) of the mean over runs, at the steps at which all were evaluated; NaN is
    the loss of a task that has none."""
    known = [
        {step: (metric, math.nan if loss is None else loss) for step, metric, loss in course}
        for course in ([e for e in course if e[1] is not None] for course in courses)
    ]
    steps = sorted(set.intersection(*map(set, known))) if known else []
    return [(step, *map(mean, zip(*(k[step] for k in known)))) for step in steps]


def last_crossing(steps, values, level) -> float | None:
    """Where a course last came down to a level, along straight lines; None where it did not."""
    for i in range(len(steps) - 1, 0, -1):
        before, after = values[i - 1], values[i]
        if before >= level > after:
            done = (before - level) / (before - after)
            return steps[i - 1] + done * (steps[i] - steps[i - 1])
    return None


def rounded_down(value: float) -> float:
    """With two digits, and no larger."""
    digit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / digit * (1 + 1e-12)) * digit:.2g}")
