"""What a comparison says of its task, and of each of its precisions."""

from dataclasses import dataclass, field

from minifp.lab.statistics.paired import Paired


@dataclass(frozen=True)
class TaskInfo:
    """What results say about their task: the fields of Task that are not functions."""

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

    @property
    def difference_unit(self) -> str:
        """The unit of a difference of the metric: percentages differ by points."""
        return "points" if self.metric_unit == "%" else self.metric_unit


@dataclass
class Row:
    """One precision in the table of a comparison.

    n: runs; diverged: how many of them did not finish. mean, sd: of the metric over those that
    finished. difference, low, high: from the baseline, paired by seed, and its 90% interval; pairs:
    how many. verdict: see `minifp.lab.statistics.paired`; "DIVERGED" if a run did not finish where
    the baseline's did. needed: seeds, about, where it is "INCONCLUSIVE", or at least for a verdict.
    too_coarse: whether the metric is that of the baseline to the last bit in every pair, though
    losses differ. skipped, final_scale: means. bytes: held at the peak of a step, by kind. What
    does not apply is None.
    """

    precision: str
    n: int = 0
    diverged: int = 0
    mean: float | None = None
    sd: float | None = None
    pairs: int = 0
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str | None = None
    needed: int | None = None
    too_coarse: bool = False
    paired: Paired | None = None
    skipped: float | None = None
    final_scale: float | None = None
    bytes: dict[str, int] = field(default_factory=dict)
    seconds_per_step: float | None = None


def dial_note(dial: int) -> str:
    """The sentence that goes with every figure that a dial other than 0 has touched."""
    return (
        f"Exponent dial k = {dial}: during the backward pass all gradients are multiplied by "
        f"2^{-dial}, and the update divides it out again. In float32 this changes nothing; in "
        f"float16 they are as small as those of a loss that is a mean over {2.0**dial:,g} times as "
        "many terms, as in large models."
    )
