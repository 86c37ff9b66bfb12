"""What the course of a run says beside its end: how soon it is good enough, and how good all along.

Source of the way steps to a target are averaged: MLPerf Training, where of several runs the fastest
and the slowest are left out, and one that never arrives counts as the slowest.
"""

import math
from collections.abc import Sequence

from minifp.lab.statistics.moments import mean

Points = Sequence[tuple[float, float | None]]  # (step, value) of each evaluation, in order


def steps_to_target(points: Points, target: float, goal: str) -> float | None:
    """The first step at which a value is at least (goal "max"), or at most, the target."""
    reached = (step for step, v in points if v is not None and is_there(v, target, goal))
    return next(reached, None)


def is_there(value: float, target: float, goal: str) -> bool:
    """Whether a value is as good as the target."""
    return value >= target if goal == "max" else value <= target


def olympic_mean(steps: Sequence[float | None]) -> float | None:
    """The mean without the fastest and the slowest; of fewer than three, of all. None where one
    that never arrived would count."""
    arrived = sorted(math.inf if s is None else s for s in steps)
    counted = arrived[1:-1] if len(arrived) > 2 else arrived
    return mean(counted) if counted and counted[-1] < math.inf else None


def area_under_curve(points: Points) -> float | None:
    """The mean of a value over the steps between its first and last evaluation, by trapezoids.

    None where there are not two, or one is not finite.
    """
    if len(points) < 2 or any(value is None for _, value in points):
        return None
    pairs = list(zip(points, points[1:]))
    area = math.fsum((b - a) * (v + w) / 2 for (a, v), (b, w) in pairs)  # type: ignore[operator]
    return area / (points[-1][0] - points[0][0])
