"""Exhibits over constant loss scales: a cliff, a flat floor, a wall.

Below the floor gradients are flushed to zero, above it they overflow and all steps are skipped
(Micikevicius et al. 2018, section 3.2).
"""

from minifp.lab.exhibits.doses import Response, responses
from minifp.report import words


def places(exhibit, comparison) -> list[Response]:
    """One for each loss scale that has runs, the smallest first."""
    return [r for r in responses(exhibit, comparison) if r.share is not None]


def floor(scales: list[Response]) -> list[Response]:
    """The longest stretch of scales at which no run came to nothing."""
    stretches: list[list[Response]] = [[]]
    for place in scales:
        if place.failures:
            stretches.append([])
        else:
            stretches[-1].append(place)
    return max(stretches, key=len)


def finding(exhibit, comparison) -> str:
    """Where the floor is, and what happens beside it."""
    scales = places(exhibit, comparison)
    if not scales:
        return "nothing was trained yet"
    flat = floor(scales)
    if not flat:
        return "no loss scale that was tried is good"
    low, high = (words.power_text(place.power) for place in (flat[0], flat[-1]))
    which = f"every S from {low} to {high}" if len(flat) > 1 else f"of the tried, S = {low}"
    lowest = min(p.row.mean for p in flat if p.row.mean is not None)
    task, digits = comparison.task, words.decimals(comparison.task.margin)
    text = (
        f"{which} trains, to {task.metric_name} of at least "
        f"{words.fixed(lowest, digits)} {task.metric_unit}".rstrip()
    )
    beside = [("below", [p for p in scales if p.power < flat[0].power])]
    beside.append(("above", [p for p in scales if p.power > flat[-1].power]))
    for where, there in beside:
        hows = dict.fromkeys(how for place in there for how in place.failures)
        text += f"; {where}: {words.listed(list(hows))}" if hows else ""
    return text
