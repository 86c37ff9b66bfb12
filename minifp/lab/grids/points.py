"""What became of one arm in one cell: its metric over seeds, and how far it is from float32."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from minifp.lab.conclusions.scores import ended
from minifp.lab.grids.grid import Grid
from minifp.lab.page.curves import FEWEST_SEEDS
from minifp.lab.statistics.distributions import t_quantile
from minifp.lab.statistics.moments import deviation, mean
from minifp.lab.statistics.paired import CONFIDENCE


@dataclass(frozen=True)
class Point:
    """One arm of one cell.

    settings: of the cell, and the switches that the arm has; precision: what it is made of, arm:
    its text. n: runs that are there; diverged: how many of them did not finish. mean, sd: of the
    metric over those that finished; low, high: its interval, or below FEWEST_SEEDS their range.
    difference, and its interval, and verdict: from the cell's baseline, as in a comparison. What
    does not apply is None.
    """

    settings: dict[str, Any]
    precision: str
    arm: str
    cell: str
    n: int
    diverged: int
    mean: float | None
    sd: float | None
    low: float | None
    high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    verdict: str | None


def points_of(grid: Grid, comparisons) -> list[Point]:
    """All points, cell by cell."""
    points = []
    for cell, comparison in zip(grid.cells(), comparisons):
        rows = {row.precision: row for row in comparison.rows()}
        for arm, made_of in grid.arms().items():
            values = [r.metric for r in comparison.runs_of(arm) if ended(r)]
            row, (low, high) = rows[arm], interval(values)
            for precision, switches in made_of:
                who = {**cell.settings, **switches}, precision, arm, cell.name
                apart = row.difference, row.low, row.high, row.verdict
                own = row.n, row.diverged, row.mean, row.sd
                points.append(Point(*who, *own, low, high, *apart))
    return points


def interval(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Of a mean, by Student's t; the range where there are few values."""
    if not values:
        return None, None
    if len(values) < FEWEST_SEEDS:
        return min(values), max(values)
    error = deviation(values) / math.sqrt(len(values))
    half = error * t_quantile((1 + CONFIDENCE) / 2, len(values) - 1)
    return mean(values) - half, mean(values) + half
