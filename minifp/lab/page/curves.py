"""What is drawn, as numbers: histories of runs lined up by step, their means and their bands."""

import math
from dataclasses import dataclass

import numpy as np

from minifp.lab.statistics.distributions import t_quantile
from minifp.lab.statistics.paired import CONFIDENCE

WINDOWS = 100  # a mean line has at most this many points, each the mean of a window of steps
COLUMNS = 350  # a thin line keeps the lowest and the highest point of each of this many columns
FEWEST_SEEDS = 5  # for an interval, which is wide and means little for fewer: they show their range


@dataclass(frozen=True)
class Band:
    """A mean over seeds, with its interval or their range."""

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


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


def lost_at(run) -> float | None:
    """The first step whose loss is Inf or NaN; None if there is no such step."""
    steps, loss = series(run, "loss")
    bad = np.flatnonzero(np.isnan(loss))
    return float(steps[bad[0]]) if bad.size else None


def window_of(comparison) -> int:
    """How many steps one point of a mean line stands for."""
    longest = max((len(r.history.get("step", ())) for r in comparison.runs), default=0)
    return max(1, math.ceil(longest / WINDOWS))


def windowed(steps, values, width) -> tuple[np.ndarray, np.ndarray]:
    """Means of `width` steps in a row, at the middle of the steps. A rest is left out."""
    if width == 1:
        return steps, values
    n = len(values) // width * width
    return tuple(a[:n].reshape(-1, width).mean(1) for a in (steps, values))


def without_gaps(steps, values) -> tuple:
    """With a value at every step: the last one before, where a step has none (it was skipped)."""
    known = np.where(np.isnan(values), -1, np.arange(len(values)))
    last = np.maximum.accumulate(known)
    return steps, np.where(last < 0, math.nan, values[last])


def band(lines) -> Band:
    """The mean of several seeds' (x, values), with its interval or their range.

    It ends where the first seed ends: a mean of survivors would flatter.
    """
    n = min((len(x) for x, _ in lines), default=0)
    if n == 0:
        return Band(*np.zeros((4, 0)))
    table = np.array([values[:n] for _, values in lines])
    mean, low, high = table.mean(0), table.min(0), table.max(0)
    if len(lines) >= FEWEST_SEEDS:
        error = table.std(0, ddof=1) / math.sqrt(len(lines))
        half = error * t_quantile((1 + CONFIDENCE) / 2, len(lines) - 1)
        low, high = mean - half, mean + half
    return Band(lines[0][0][:n], mean, low, high)


def thinned(x, y) -> tuple:
    """The same picture from fewer points: of each column of pixels its lowest and highest value."""
    if len(x) <= 3 * COLUMNS:
        return x, y
    keep = {0, len(x) - 1}
    for part in np.array_split(np.arange(len(x)), COLUMNS):
        values = y[part]
        missing = np.flatnonzero(np.isnan(values))
        keep.update(part[missing[:1]])
        if len(missing) < len(part):
            keep.update((part[np.nanargmin(values)], part[np.nanargmax(values)]))
    index = sorted(keep)
    return x[index], y[index]


def limits(comparison, key="loss") -> tuple:
    """(low, high, top of the picture) of the mean lines of one column.

    A diverging run may go to 1e30, and the others must still be seen: above twice what the baseline
    and every run's first steps reach, a line leaves the picture at the top.
    """
    width = window_of(comparison)
    lines = []
    for run in comparison.runs:
        _, values = windowed(*series(run, key), width)
        lines.append((run.precision == comparison.baseline, values[~np.isnan(values)]))
    lines = [(is_baseline, values) for is_baseline, values in lines if values.size]
    if not lines:
        return 0.0, 1.0, 1.0
    usual = max(values.max() if is_baseline else values[:3].max() for is_baseline, values in lines)
    highest = max(values.max() for _, values in lines)
    return float(min(v.min() for _, v in lines)), float(highest), float(min(highest, 2 * usual))
