"""Whether training had converged when it ended."""

from minifp.lab.conclusions.scores import ended, points, primary
from minifp.lab.statistics.moments import mean

LAST = 0.25  # of the steps, over which the metric should not improve any more
FEWEST = 3  # evaluations of a run, from which this can be seen


def improvement(comparison, arm) -> float | None:
    """By how much the metric became better over the last quarter of the steps, as a mean of runs.

    None where runs have too few evaluations.
    """
    score = primary(comparison)
    gains = [gain(points(run), score) for run in comparison.runs_of(arm) if ended(run)]
    known = [g for g in gains if g is not None]
    return mean(known) if known else None


def gain(course, score) -> float | None:
    """The same of one run's (step, metric) points."""
    known = [(step, value) for step, value in course if value is not None]
    if len(known) < FEWEST:
        return None
    end, last = known[-1]
    before = [value for step, value in known[:-1] if step <= (1 - LAST) * end]
    if not before:
        return None
    return score.between(last, before[-1]) * (1 if score.goal == "max" else -1)


def not_converged(comparison) -> dict[str, float]:
    """The arms whose metric still became better by more than the margin, and by how much."""
    gains = {arm: improvement(comparison, arm) for arm in comparison.precisions}
    margin = comparison.task.margin
    return {arm: g for arm, g in gains.items() if g is not None and g > margin}
