"""Lesson 12: what follows from many runs of several tasks."""

import math
from itertools import product

import numpy as np

from minifp.teach.exercise import exercise, random_of

LESSON = "12-gallery"
TECHNIQUES = ("master weights", "loss scaling", "float32 sums")
CLOSE = 1e-9  # relative to metrics of some tens: roundings of float64
MARGIN = 1.0


def tables(seed: int, failing: float = 0.0) -> list[dict]:
    """Metrics of all combinations of the three techniques, by whether each is there; with a chance
    of NaN, for a run that failed."""
    rng = random_of(seed)
    keys = list(product((True, False), repeat=3))
    combinations = []
    for _ in range(12):
        metrics = 90 + rng.choice([0.1, 2.0], 8) * rng.normal(size=8)
        metrics[1:][rng.random(7) < failing] = math.nan  # never that of all three
        combinations.append({key: float(m) for key, m in zip(keys, metrics)})
    return combinations


@exercise(LESSON)
def within_spread(answer):
    """Of results of runs and of float32's, lists with NaN for what failed, how many of the former
    lie within the range of the latter."""
    rng, nan = random_of(5), math.nan
    cases = [([1.0, 2.0], [1.0, 3.0]), ([2.0, 0.0], [3.0, 1.0]), ([nan, 2.0], [1.0, 3.0])]
    cases += [([2.0, 9.0], [nan, 1.0, 3.0]), ([2.0, 9.0], [1.0, 3.0, nan])]
    cases += [(rng.normal(size=n).tolist(), rng.normal(size=3).tolist()) for n in range(3, 30)]
    for values, baseline in cases:
        ends = [b for b in baseline if not math.isnan(b)]
        right = sum(min(ends) <= v <= max(ends) for v in values)
        result = answer(list(values), list(baseline))
        if result != right:
            lists = [", ".join(f"{v:.3g}" for v in x) for x in (values, baseline)]
            return f"of {lists[0]}, beside float32's {lists[1]}, {right} are within, not {result}"
    return None


@exercise(LESSON)
def main_effects(answer):
    """Of the metric of each combination, by (masters, scaling, sums), the average effects of the
    three techniques."""
    for cells in tables(6):
        result = list(answer(dict(cells)))
        if len(result) != 3:
            return f"it returns {len(result)} numbers, expected 3"
        for i, technique in enumerate(TECHNIQUES):
            there = np.mean([m for key, m in cells.items() if key[i]])
            right = there - np.mean([m for key, m in cells.items() if not key[i]])
            if not abs(result[i] - right) <= CLOSE * 100:
                metrics = ", ".join(f"{m:.2f}" for m in cells.values())
                return (
                    f"with the metrics {metrics} (from all three there to none, the last changing "
                    f"fastest), {technique} give {right:+.4f} on average, not {result[i]:+.4f}"
                )
    return None


@exercise(LESSON)
def needed(answer):
    """Of the accuracy of each combination, by (masters, scaling, sums), and a margin, the set of
    names of TECHNIQUES that cannot be taken away alone; NaN is a run that failed."""
    for cells in [*tables(7), *tables(8, failing=0.4)]:
        whole, right = cells[True, True, True], set()
        for i, technique in enumerate(TECHNIQUES):
            left = cells[tuple(j != i for j in range(3))]
            right |= {technique} if not left >= whole - MARGIN else set()
        result = set(answer(dict(cells), MARGIN))
        if result != right:
            alone = {t: cells[tuple(j != i for j in range(3))] for i, t in enumerate(TECHNIQUES)}
            results = ", ".join(f"{m:.2f} without {t}" for t, m in alone.items())
            return (
                f"with all three the accuracy is {whole:.2f}, and {results}: at a margin of "
                f"{MARGIN:g}, needed are {sorted(right) or 'none'}, not {sorted(result) or 'none'}"
            )
    return None
