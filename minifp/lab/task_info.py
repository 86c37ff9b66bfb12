"""What results say about their task: what a Task says of itself that is not a function."""

from collections.abc import Sequence
from dataclasses import dataclass, fields


@dataclass(frozen=True)
class MetricInfo:
    """A metric without its function. margin: None where it is only reported; relative: see
    Metric."""

    name: str
    unit: str
    goal: str
    margin: float | None
    relative: bool = False

    @property
    def difference_unit(self) -> str:
        """The unit of a difference: percentages differ by points."""
        return unit_of_difference(self.unit, self.relative)


@dataclass(frozen=True)
class TaskInfo:
    """The fields of Task that are not functions, and how many test examples there are.

    metrics: the further ones, beside the primary.
    """

    name: str
    description: str
    metric_name: str
    metric_unit: str
    goal: str
    margin: float
    batch_size: int
    epochs: int
    steps: int | None
    clip_norm: float | None
    metrics: Sequence[MetricInfo] = ()
    loss_margin: float | None = None
    target: float | None = None
    test_examples: int | None = None
    relative: bool = False
    average: float | None = None
    decides: str | None = None

    def __post_init__(self):
        read = [MetricInfo(**m) if isinstance(m, dict) else m for m in self.metrics]
        object.__setattr__(self, "metrics", tuple(read))

    @classmethod
    def of(cls, task, test_set) -> "TaskInfo":
        """That of a Task and its test set."""
        own = {f.name: getattr(task, f.name) for f in fields(cls) if hasattr(task, f.name)}
        further = [MetricInfo(m.name, m.unit, m.goal, m.margin, m.relative) for m in task.metrics]
        return cls(**{**own, "metrics": further}, test_examples=len(test_set))

    @property
    def decider(self) -> str:
        """The name of the score that was declared to decide."""
        return self.decides or self.metric_name

    @property
    def primary(self) -> MetricInfo:
        """The first metric, which decides where no other score was declared to."""
        how = self.metric_unit, self.goal, self.margin, self.relative
        return MetricInfo(self.metric_name, *how)

    @property
    def difference_unit(self) -> str:
        """The unit of a difference of the metric."""
        return self.primary.difference_unit


def unit_of_difference(unit: str, relative: bool) -> str:
    """The unit of a difference of two values of this unit."""
    return "%" if relative else "points" if unit == "%" else unit


def dial_note(dial: int) -> str:
    """The sentence that goes with every figure that a dial other than 0 has touched."""
    return (
        f"Exponent dial k = {dial}: during the backward pass all gradients are multiplied by "
        f"2^{-dial}, and the update divides it out again. In float32 this changes nothing. In "
        f"float16, gradients become as small as for a loss averaged over {2.0**dial:,g} times as "
        "many terms, as in large models."
    )
