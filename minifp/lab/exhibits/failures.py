"""Runs that came to nothing, and how: they diverged, gave up, or trained and learned nothing."""

import math
from collections import Counter

from minifp.lab.conclusions.scores import ended
from minifp.lab.run import STOPPED
from minifp.report import words

LEARNED = 0.25  # of what the baseline's run of the same seed reaches: below, it learned nothing
NOTHING = "learned nothing"
GAVE_UP = "gave up, as too many steps in a row were skipped"
NOT_FINITE = "diverged (Inf or NaN)"
ROSE = "diverged (the loss rose)"


def failure(run, base) -> str | None:
    """What became of a run beside the baseline's of its seed, if that one ended and more of the
    metric is better; None for a run that learned."""
    if run.status == STOPPED:
        return GAVE_UP
    if not run.finished:
        losses = run.history["loss"][-1:] or [math.nan]
        return ROSE if math.isfinite(losses[0]) and words.is_number(run.metric) else NOT_FINITE
    if base is None or not words.is_number(run.metric):
        return None
    return NOTHING if run.metric < LEARNED * base.metric else None


def failures(comparison, arm) -> Counter:
    """How many runs of an arm came to nothing, by how."""
    is_share = comparison.task.goal == "max"
    base = {r.seed: r for r in comparison.runs_of(comparison.baseline) if is_share and ended(r)}
    each = (failure(run, base.get(run.seed)) for run in comparison.runs_of(arm))
    return Counter(how for how in each if how is not None)


def failures_text(counted: Counter, runs: int) -> str:
    """In words: "2 of 3 learned nothing"."""
    return words.listed([f"{n} of {runs} {how}" for how, n in counted.items()])
