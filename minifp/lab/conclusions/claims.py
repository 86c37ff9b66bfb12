"""Each arm's difference in each score from what it is held against, with its tests.

Where several claims are made, their p values are adjusted together (Holm), so that any false one
among them has a chance of 5%: those that decide on the arms, which were declared before, and those
of other scores together with all. The claims of equivalence are one family, those of a difference
another, those of not being worse a third. Controls make no claims.
"""

import math
from dataclasses import dataclass, field, replace
from itertools import takewhile

from minifp.lab.arms import is_control, partner
from minifp.lab.conclusions import resolution
from minifp.lab.conclusions.scores import Score, ended, primary, scores_of
from minifp.lab.metrics import TEST_LOSS
from minifp.lab.statistics.course import olympic_mean
from minifp.lab.statistics.holm import holm
from minifp.lab.statistics.looks import compare_at_looks
from minifp.lab.statistics.moments import deviation, mean
from minifp.lab.statistics.paired import (
    DIFFERENT,
    EQUIVALENT,
    LEAST_PAIRS,
    WEAK_PAIRS,
    Difference,
    Paired,
    differ_by,
)

LEVEL = 0.05  # of each test
TOLD = ("pairs", "mean", "sd", "reached", "average", "difference", "low", "high")


@dataclass(frozen=True)
class Claim:
    """One arm, one score.

    mean, sd: of the runs that finished. reached, average: of steps to a target, how many runs came
    there, and the mean as MLPerf takes it. difference: of pairs, from `against`; low, high: its 90%
    interval; paired: all of its statistics, on the score's scale, with p values where there is a
    margin. verdict: None
    for a control, below three pairs, without a margin, where the score is too coarse for it, and
    where runs diverged. coarse: why it is, in words. holm: p values adjusted for all claims, by the
    names of the raw ones; together: how many these are. decides: whether the arm's verdict is this
    one.
    """

    arm: str
    against: str
    score: Score = field(repr=False)
    pairs: int
    mean: float | None = None
    sd: float | None = None
    reached: int | None = None
    average: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    paired: Difference | None = None
    verdict: str | None = None
    needed: int | None = None
    coarse: str = ""
    decides: bool = False
    holm: dict[str, float] = field(default_factory=dict)
    together: int = 0

    @property
    def is_weak(self) -> bool:
        """Whether the verdict is of so few pairs that little can rest on it."""
        return self.verdict in (EQUIVALENT, DIFFERENT) and self.pairs < WEAK_PAIRS

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many pairs verdicts are read; none where that was not planned, or not yet."""
        return getattr(self.paired, "looks", ())

    @property
    def contradicted_by(self) -> float | None:
        """The sign-flip p, where it speaks against the verdict."""
        d = self.paired if self.verdict else None
        return d.sign_flip_p if isinstance(d, Paired) and d.is_contradicted else None

    @property
    def p(self) -> dict[str, float]:
        """The p values of the three claims that could be made."""
        d = self.paired
        if not isinstance(d, Paired):
            return {}
        p = {"equivalent": d.p_equivalent, "different": d.p_different}
        return {**p, "not_worse": d.p_not_worse(self.score.goal)}

    @property
    def holm_of_verdict(self) -> float | None:
        """The adjusted p of what the verdict claims; None where it claims nothing."""
        named = {EQUIVALENT: "equivalent", DIFFERENT: "different"}.get(self.verdict or "")
        return self.holm.get(named) if named else None

    def told(self) -> dict:
        """As plain numbers and texts, for results."""
        s, d = self.score, self.paired
        beside = () if d is None else ("sd", "sign_flip_p", "bootstrap", "pairing_gain")
        return {
            "arm": self.arm,
            "against": self.against,
            "score": s.name,
            **{k: getattr(s, k) for k in ("kind", "unit", "goal", "margin")},
            "margin_note": s.note,
            "relative": s.relative,
            **{k: getattr(self, k) for k in TOLD},
            **{"difference_sd" if k == "sd" else k: getattr(d, k) for k in beside},
            **({} if d is None else {"bootstrap": [*map(s.shown, d.bootstrap)]}),
            **{f"p_{name}": p for name, p in self.p.items()},
            **{f"holm_{name}": p for name, p in self.holm.items()},
            **{k: getattr(self, k) for k in ("verdict", "needed", "coarse", "decides")},
            "weak": self.is_weak,
            **({k: getattr(d, k) for k in ("looks", "made", "decided")} if self.looks else {}),
        }


def claims_of(comparison) -> list[Claim]:
    """Those of all arms but the baseline, in order, one for each score."""
    arms = [a for a in comparison.precisions if partner(a, comparison.baseline) is not None]
    scores = scores_of(comparison)
    coarse = {arm: coarse_for(comparison, arm, scores) for arm in arms}
    claims = [claim(comparison, arm, s, coarse[arm]) for arm in arms for s in scores]
    return adjusted(claims)


def decisive_of(comparison) -> dict[str, Claim]:
    """What decides on each arm, by its text."""
    return {c.arm: c for c in claims_of(comparison) if c.decides}


def coarse_for(comparison, arm, scores: list[Score]) -> str:
    """Why the score that was declared cannot decide on an arm, in words; empty where it can."""
    score = next((s for s in scores if s.name == comparison.task.decider), None)
    if is_control(arm) or score is None or score.kind != "metric":
        return ""
    both = pairs_of(comparison, arm)
    return nothing_told(score, both, len(both)) or resolution.too_coarse(comparison, score)


def nothing_told(score: Score, both: list[tuple], pairs: int) -> str:
    """Why a metric cannot decide where it is the same in (run, run), of so many pairs."""
    if pairs < LEAST_PAIRS or not resolution.tells_nothing(both, score):
        return ""
    return f"{score.name} is exactly the same in all {pairs} pairs, where losses are not"


def pairs_of(comparison, arm) -> list[tuple]:
    """(run, the run it is held against) for each seed with which both ended."""
    others = comparison.runs_of(partner(arm, comparison.baseline))
    base = {run.seed: run for run in others if ended(run)}
    runs = comparison.runs_of(arm)
    return [(run, base[run.seed]) for run in runs if ended(run) and run.seed in base]


def in_order(comparison, arm) -> list[tuple]:
    """`pairs_of`; where looks are planned, only of their seeds, up to the first that is not done:
    so that each look is at the same pairs in whatever order runs come home."""
    both, budget = pairs_of(comparison, arm), comparison.budget
    if budget is None:
        return both
    done, base = comparison.done(), partner(arm, comparison.baseline)
    whole = [*takewhile(lambda s: {(arm, s), (base, s)} <= done, budget.seeds)]
    return [pair for pair in both if pair[0].seed in whole]


def metric_differences(comparison, arm) -> list[float]:
    """By how much the metric of each pair differs, on the scale on which it is compared."""
    between = primary(comparison).between
    return [between(run.metric, other.metric) for run, other in pairs_of(comparison, arm)]


def lost_of(comparison, arm) -> int:
    """How many runs of an arm did not end where what they are held against did."""
    base = {r.seed for r in comparison.runs_of(partner(arm, comparison.baseline)) if ended(r)}
    return sum(not ended(r) for r in comparison.runs_of(arm) if r.seed in base)


def claim(comparison, arm, score, coarse) -> Claim:
    """That of one arm and score. coarse: why the one that was declared cannot decide."""
    values = [v for v in map(score.of, filter(ended, comparison.runs_of(arm))) if v is not None]
    both = [(score.of(a), score.of(b)) for a, b in in_order(comparison, arm)]
    both = [(a, b) for a, b in both if a is not None and b is not None]
    bare = Claim(
        arm,
        partner(arm, comparison.baseline) or "",
        score,
        pairs=len(both),
        mean=mean(values) if values else None,
        sd=deviation(values) if len(values) > 1 else None,
        **(arrivals(comparison.runs_of(arm), score) if score.kind == "steps" else {}),
    )
    is_declared = score.name == comparison.task.decider
    reason = coarse if is_declared else resolution.too_coarse(comparison, score)
    decides = score.name == TEST_LOSS and score.margin is not None if coarse else is_declared
    may_claim = not is_control(arm) and not lost_of(comparison, arm)
    bare = replace(bare, coarse=reason, decides=decides and not is_control(arm))
    budget = comparison.budget
    return tested(bare, both, may_claim, budget.looks if budget else ())


def tested(
    bare: Claim, both: list[tuple], may_claim: bool = True, looks: tuple[int, ...] = ()
) -> Claim:
    """The claim with what follows from pairs of (value, the one it is held against): here alone do
    numbers become a verdict. may_claim: False of a control, and where runs were lost. looks: after
    how many pairs verdicts are read, where that was planned."""
    score = bare.score
    scaled = [tuple(map(score.scaled, pair)) for pair in both]
    if any(math.isnan(end) for pair in scaled for end in pair) and score.relative:
        lowest = min(map(min, both))
        return replace(bare, coarse=f"{score.name} is {lowest:g} in a run, which has no ratio")
    if len(both) == 1:
        return replace(bare, difference=score.between(*both[0]), needed=LEAST_PAIRS)
    if not both:
        return bare
    ours, theirs = zip(*scaled)
    if score.margin is None:
        return with_numbers(bare, differ_by(ours, theirs))
    p = compare_at_looks(ours, theirs, score.scaled_margin, looks)
    bare = replace(with_numbers(bare, p), pairs=p.n)
    if not may_claim or bare.coarse:
        return bare
    return replace(bare, verdict=p.verdict, needed=p.needed)


def with_numbers(bare: Claim, d: Difference) -> Claim:
    """The claim with a difference and its interval."""
    difference, low, high = map(bare.score.shown, (d.mean, d.low, d.high))
    return replace(bare, difference=difference, low=low, high=high, paired=d)


def arrivals(runs, score) -> dict:
    """How many runs reached a target, and the mean of the steps that it took them."""
    steps = [score.of(run) if ended(run) else None for run in runs]
    return {"reached": len(steps) - steps.count(None), "average": olympic_mean(steps)}


def adjusted(claims) -> list[Claim]:
    """The same with p values adjusted: of those that decide together, as they were declared to;
    of those that stand beside them, together with all that have a verdict."""
    results = list(claims)
    with_verdict = [i for i, c in enumerate(claims) if c.verdict is not None]
    for family in (with_verdict, [i for i in with_verdict if claims[i].decides]):
        families = {
            name: holm([claims[i].p[name] for i in family])
            for name in ("equivalent", "different", "not_worse")
        }
        for place, i in enumerate(family):
            own = {name: p[place] for name, p in families.items()}
            results[i] = replace(results[i], holm=own, together=len(family))
    return results
