"""What a run is judged by: numbers of one run, each with the margin and direction that it has.

Of a relative one the ratio of two runs is tested: the differences of 100 times its logarithm, which
is what `scaled` makes of a value and `shown` turns back into percent.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from minifp.lab.conclusions.loss_margin import LossMargin, loss_margin_of
from minifp.lab.metrics import AVERAGED, TEST_LOSS
from minifp.lab.statistics import course
from minifp.lab.task_info import unit_of_difference


@dataclass(frozen=True)
class Score:
    """A number of a run.

    kind: "metric", "loss", "steps" or "area". margin: None where a difference is only reported.
    note: where the margin comes from, if it was not given. of(run): None where the run has none.
    relative: see Metric.
    """

    name: str
    kind: str
    unit: str
    goal: str
    margin: float | None
    of: Callable
    note: str = ""
    relative: bool = False

    @property
    def difference_unit(self) -> str:
        """The unit of a difference: percentages differ by points."""
        return unit_of_difference(self.unit, self.relative)

    def scaled(self, value: float) -> float:
        """A value on the scale on which differences are tested; NaN of what has no ratio."""
        if not self.relative:
            return value
        return 100 * math.log(value) if value > 0 else math.nan

    def shown(self, difference: float) -> float:
        """A difference on that scale in `difference_unit`."""
        return 100 * math.expm1(difference / 100) if self.relative else difference

    def between(self, value: float, other: float) -> float:
        """How far a value is from another one, in `difference_unit`."""
        return self.shown(self.scaled(value) - self.scaled(other))

    @property
    def scaled_margin(self) -> float:
        """The margin on that scale."""
        margin = self.margin or math.nan
        return 100 * math.log1p(margin / 100) if self.relative else margin


def ended(run) -> bool:
    """Whether a run trained to its end, with a metric."""
    return run.finished and run.metric is not None


def primary(comparison) -> Score:
    """The final metric that decides."""
    task = comparison.task
    unit, goal = task.metric_unit, task.goal
    of, relative = (lambda run: run.metric), task.relative
    return Score(task.metric_name, "metric", unit, goal, task.margin, of, relative=relative)


def scores_of(comparison) -> list[Score]:
    """All scores, the primary first, and those of averaged weights after those of weights."""
    task = comparison.task
    scores = [primary(comparison)]
    for m in task.metrics:
        of = partial(last, m.name)
        scores.append(Score(m.name, "metric", m.unit, m.goal, m.margin, of, relative=m.relative))
    if has_loss(comparison):
        margin, note = loss_margin(comparison)
        scores.append(Score(TEST_LOSS, "loss", "", "min", margin, test_loss, note))
    names = [AVERAGED + score.name for score in scores]
    scores += [replace(s, name=n, of=partial(last, n)) for s, n in zip(scores, names)]
    if task.target is not None:
        name = f"steps to {task.metric_name} {task.target:g}{task.metric_unit and ' '}"
        steps = partial(steps_to_target, task.target, task.goal)
        scores.append(Score(f"{name}{task.metric_unit}", "steps", "steps", "min", None, steps))
    name = f"mean {task.metric_name} over training"
    scores.append(Score(name, "area", task.metric_unit, task.goal, None, area))
    return [s for s in scores if any(s.of(run) is not None for run in comparison.runs)]


def has_loss(comparison) -> bool:
    """Whether there is a test loss that is not the metric itself."""
    pairs = [(e[1], e[2]) for run in comparison.runs for e in run.evaluations]
    return any(loss is not None and loss != metric for metric, loss in pairs)


def loss_margin(comparison) -> tuple[float | None, str]:
    """The margin of the test loss, and what it follows from, in words; none where the baseline's
    runs give none and the task has none."""
    task, base = comparison.task, comparison.baseline
    measured = measured_margin(comparison)
    margin = measured.value if task.loss_margin is None else task.loss_margin
    if margin is None:
        return None, ""
    source = "is the task's" if task.loss_margin is not None else "follows from these runs"
    parts = []
    if measured.apart is not None:
        step = f"{task.margin:g} {task.difference_unit}".rstrip()
        where = f"where its {task.metric_name} was last {step} worse"
        parts.append(f"{measured.apart:.2g} than {where}")
    if measured.half is not None:
        parts.append(f"{measured.half:.2g} than at half of the steps, of which a tenth counts")
    lower = f": at its end {base}'s {TEST_LOSS} is lower by {', and by '.join(parts)}"
    return margin, f"the {TEST_LOSS}'s margin of {margin:.2g} {source}{lower if parts else ''}"


def measured_margin(comparison) -> LossMargin:
    """What the baseline's runs say of the margin of the test loss."""
    runs = [run for run in comparison.runs_of(comparison.baseline) if ended(run)]
    return margin_of(primary(comparison), [run.evaluations for run in runs])


def margin_of(score: Score, courses: list) -> LossMargin:
    """The same of a metric, from what (step, metric, test loss) were at each run's evaluations."""
    sign = -1 if score.goal == "max" else 1
    return loss_margin_of(courses, lambda a, b: sign * score.between(a, b), score.margin or 0.0)


# ---- of one run ----------------------------------------------------------------------------------


def last(name, run) -> float | None:
    """The final value of a further metric."""
    values = run.metrics.get(name) or [None]
    return values[-1]


def test_loss(run) -> float | None:
    """The final test loss."""
    return run.evaluations[-1][2] if run.evaluations else None


def points(run) -> list[tuple]:
    """(step, metric) of each evaluation."""
    return [(e[0], e[1]) for e in run.evaluations]


def steps_to_target(target, goal, run) -> float | None:
    """After how many steps the metric was first as good as the target."""
    return course.steps_to_target(points(run), target, goal)


def area(run) -> float | None:
    """The mean of the metric over the steps from the first to the last evaluation."""
    return course.area_under_curve(points(run))
