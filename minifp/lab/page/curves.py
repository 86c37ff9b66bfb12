"""What is drawn, as numbers: histories of runs lined up by step."""

import math

import numpy as np

from minifp.report.line_drawing import windowed

WINDOWS = 100  # a mean line has at most this many points, each the mean of a window of steps
FEWEST_EVALUATIONS = 2  # of the metric, for a line over the steps
FEWEST_SEEDS = 5  # for an interval, which is wide and means little for fewer: they show their range


def series(run, key) -> tuple[np.ndarray, np.ndarray]:
    """(steps, values) of a run's history as float64; what is not a finite number is NaN."""
    values = np.array([math.nan if v is None else v for v in run.history.get(key, ())], np.float64)
    values[~np.isfinite(values)] = math.nan
    return np.asarray(run.history.get("step", ()), np.float64)[: len(values)], values


def evaluations(run, column=1) -> tuple:
    """(steps, values) of a run's evaluations; column 1 is the metric, 2 the test loss."""
    rows = [(e[0], math.nan if e[column] is None else e[column]) for e in run.evaluations]
    table = np.array(rows, np.float64).reshape(-1, 2)
    table[~np.isfinite(table[:, 1]), 1] = math.nan
    return table[:, 0], table[:, 1]


def measured(run, name) -> tuple:
    """(steps, values) of a further metric, by its name, or of what averaged weights reach."""
    values = run.metrics.get(name, ())
    rows = [(e[0], math.nan if v is None else v) for e, v in zip(run.evaluations, values)]
    return tuple(np.array(rows, np.float64).reshape(-1, 2).T)


def has_course(comparison) -> bool:
    """Whether the metric was measured often enough for a line."""
    steps = {evaluation[0] for run in comparison.runs for evaluation in run.evaluations}
    return len(steps) >= FEWEST_EVALUATIONS


def is_scaled(run) -> bool:
    """Whether a run has a loss scale or skipped anything: whether there is something to draw."""
    return bool(run.skipped) or any(s not in (None, 1, 1.0) for s in run.history.get("scale", ()))


def lost_at(run) -> float | None:
    """The first step whose loss is Inf or NaN; None if there is no such step."""
    steps, loss = series(run, "loss")
    bad = np.flatnonzero(np.isnan(loss))
    return float(steps[bad[0]]) if bad.size else None


def window_of(comparison) -> int:
    """How many steps one point of a mean line stands for."""
    longest = max((len(r.history.get("step", ())) for r in comparison.runs), default=0)
    return max(1, math.ceil(longest / WINDOWS))


def without_gaps(steps, values) -> tuple:
    """With a value at every step: the last one before, where a step has none (it was skipped)."""
    known = np.where(np.isnan(values), -1, np.arange(len(values)))
    last = np.maximum.accumulate(known)
    return steps, np.where(last < 0, math.nan, values[last])


def fall(comparison) -> float:
    """How many times its lowest the baseline's highest mean loss is."""
    width = window_of(comparison)
    runs = comparison.runs_of(comparison.baseline)
    means = [windowed(*series(run, "loss"), width)[1] for run in runs]
    values = np.concatenate([np.zeros(0), *means])
    values = values[np.isfinite(values)]
    return float(values.max() / values.min()) if values.size and values.min() > 0 else 1.0
