"""A line for each arm: how it ended, the verdict, and what it cost."""

from dataclasses import dataclass, field
from statistics import median

from minifp.lab.arms import is_control, partner
from minifp.lab.conclusions.claims import Claim, claims_of, lost_of
from minifp.lab.conclusions.courses import improvement
from minifp.lab.conclusions.scores import ended
from minifp.lab.statistics.moments import deviation, mean
from minifp.lab.statistics.paired import DIVERGED, Difference
from minifp.lab.statistics.proportion import clopper_pearson


@dataclass
class Row:
    """One arm in the table of a comparison.

    n: runs; diverged: how many of them did not finish; diverged_interval: in which their true share
    lies (95%). mean, sd: of the metric over those that finished. against: what it is held against:
    the baseline, and for a control what it disturbs. difference, low, high: from that, paired by
    seed, and its 90% interval; pairs: how many. verdict: see `minifp.lab.statistics.paired`;
    "DIVERGED" if a run did not finish where the baseline's did; None for a control. decided_by: the
    score whose verdict it is. weak: whether it rests on fewer than five pairs. coarse: why the one
    that was declared to decide cannot, in words. needed: seeds, about, where it is "INCONCLUSIVE",
    or at least for a verdict. improving: by how much the metric still became better over the last
    quarter of the steps. skipped, final_scale: means. bytes: held at the peak of a step, by kind.
    What does not apply is None.
    """

    precision: str
    is_control: bool = False
    against: str | None = None
    n: int = 0
    diverged: int = 0
    diverged_interval: tuple[float, float] | None = None
    mean: float | None = None
    sd: float | None = None
    pairs: int = 0
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str | None = None
    decided_by: str = ""
    weak: bool = False
    coarse: str = ""
    needed: int | None = None
    paired: Difference | None = None
    improving: float | None = None
    skipped: float | None = None
    final_scale: float | None = None
    bytes: dict[str, int] = field(default_factory=dict)
    seconds_per_step: float | None = None


def rows_of(comparison) -> list[Row]:
    """One for each arm, in order."""
    claims = claims_of(comparison)
    return [
        row_of(comparison, arm, [c for c in claims if c.arm == arm])
        for arm in comparison.precisions
    ]


def row_of(comparison, arm, claims: list[Claim]) -> Row:
    """That of one arm, whose claims these are."""
    runs, against = comparison.runs_of(arm), partner(arm, comparison.baseline)
    row = Row(arm, is_control(arm), against)
    if not runs:
        return row
    values = [r.metric for r in runs if ended(r)]
    timed = [r.seconds_per_step for r in runs if r.seconds_per_step is not None]
    row.n, row.diverged = len(runs), len(runs) - len(values)
    row.diverged_interval = clopper_pearson(row.diverged, row.n)
    row.mean = mean(values) if values else None
    row.sd = deviation(values) if len(values) > 1 else None
    row.improving = improvement(comparison, arm)
    row.skipped = mean([r.skipped for r in runs])
    row.final_scale = mean([r.final_scale for r in runs])
    row.bytes = runs[0].bytes
    row.seconds_per_step = median(timed) if timed else None
    if claims:
        judge(comparison, row, claims)
    return row


def judge(comparison, row, claims) -> None:
    """Give a row its difference and its verdict."""
    first = claims[0]
    decides = next((c for c in claims if c.decides), first)
    declared = next((c for c in claims if c.score.name == comparison.task.decider), first)
    row.pairs, row.difference = first.pairs, first.difference
    row.low, row.high, row.paired, row.coarse = first.low, first.high, first.paired, declared.coarse
    if row.is_control:
        return
    row.verdict, row.needed = decides.verdict if decides.decides else None, decides.needed
    row.decided_by, row.weak = decides.score.name, decides.is_weak
    finished = sum(map(ended, comparison.runs_of(row.against)))
    if lost_of(comparison, row.precision) and finished > 1:
        row.verdict, row.needed, row.weak = DIVERGED, None, False
