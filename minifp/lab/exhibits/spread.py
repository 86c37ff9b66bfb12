"""Whether runs end within the range of float32's own: of claims that are about its spread."""

import math

from minifp.lab.exhibits.finding import called
from minifp.lab.page.captions import metric_places
from minifp.report import words


def within(comparison, arm) -> int | None:
    """How many runs of an arm end within the range of the baseline's; None where that has fewer
    than two ends."""
    ends = ends_of(comparison, comparison.baseline)
    if len(ends) < 2:
        return None
    return sum(min(ends) <= end <= max(ends) for end in ends_of(comparison, arm))


def ends_of(comparison, arm) -> list[float]:
    """The metric at the end of each run of an arm; NaN of what came to nothing is none."""
    ends = [run.metric for run in comparison.runs_of(arm) if run.metric is not None]
    return [end for end in ends if not math.isnan(end)]


def note(exhibit, comparison) -> str:
    """How many runs of each arm end there, in words; empty where there is no range."""
    ends, task = ends_of(comparison, comparison.baseline), comparison.task
    counts = {arm: within(comparison, arm) for arm in exhibit.tested}
    if None in counts.values() or not any(map(comparison.runs_of, counts)):
        return ""
    places = metric_places(task)
    told = [
        f"{count} of {len(comparison.runs_of(arm))} with {called(arm)}"
        for arm, count in counts.items()
    ]
    return (
        f"{exhibit.title}: float32's runs end at a {task.metric_name} from "
        f"{words.fixed(min(ends), places)} to {words.fixed(max(ends), places)}; within that "
        f"range end {words.listed(told)}."
    )
