"""Whether a difference is special, or what any perturbation does.

Controls disturb the baseline in ways that cannot matter (arms.py), and what they do to a run is how
far apart equally good runs end. An arm is held against them in two ways. By its final score: in
each seed, the arm's difference from the baseline and the controls' stand side by side, and were the
arm one more control, any of them might as well have been its own (permutation.one_of_them_p). And
step by step, by the distances of weights, outputs and predictions from the baseline's.

`@repeat` disturbs nothing: where it differs in any bit, the machine does not repeat its results.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from minifp.lab.arms import is_control, partner, split
from minifp.lab.conclusions.claims import LEVEL, lost_of, pairs_of
from minifp.lab.conclusions.scores import primary
from minifp.lab.statistics.holm import holm
from minifp.lab.statistics.moments import mean
from minifp.lab.statistics.permutation import one_of_them_p

KINDS = ("weights", "outputs", "predictions")
REPEAT = "repeat"


@dataclass(frozen=True)
class Band:
    """One kind of distance over the steps: an arm's, and the controls' beside it.

    arm, low, high: at each of `steps`; the arm's median over seeds, and the lowest and the highest
    of the controls' medians. inside_from: the step from which on the arm is no farther than the
    farthest control; None where it still is at the last. ends: of the arm and of each control, the
    median at the last step.
    """

    kind: str
    steps: list[int]
    arm: list[float]
    low: list[float]
    high: list[float]
    ends: dict[str, float]

    @property
    def inside_from(self) -> int | None:
        """See the class."""
        far = [s for s, a, h in zip(self.steps, self.arm, self.high) if not a <= h]
        later = [s for s in self.steps if not far or s > far[-1]]
        return later[0] if later else None


@dataclass(frozen=True)
class Moved:
    """How far one arm ends from what it is held against, over the seeds of an Answer.

    mean: of the differences of the final score; size: of their sizes, without signs.
    """

    arm: str
    mean: float
    size: float


@dataclass
class Answer:
    """Whether one arm does more to a run than controls do.

    controls: those it is held against. seeds: with which all of them ended. moved: the arm, and
    then each control; empty without such seeds. p: how often one of the controls would look as
    special, adjusted for both ways of being so and for all arms; least_p: the smallest that can
    come out. lost: how many runs diverged where the baseline's did not; controls_lost: of the
    controls.
    """

    arm: str
    controls: list[str]
    seeds: int
    moved: list[Moved] = field(default_factory=list)
    p: float | None = None
    least_p: float = 1.0
    lost: int = 0
    controls_lost: int = 0
    bands: list[Band] = field(default_factory=list)

    @property
    def as_far(self) -> list[str]:
        """The controls that move the score at least as far."""
        return [m.arm for m in self.moved[1:] if m.size >= self.moved[0].size]

    @property
    def special(self) -> bool | None:
        """Whether it is beyond what controls do; False where a control does as much; None where
        neither can be told."""
        if self.lost and not self.controls_lost:
            return True
        if self.p is not None and self.p <= LEVEL:
            return True
        return False if self.as_far else None

    def told(self) -> dict:
        """As plain numbers and texts, for results."""
        bands = [{**vars(band), "inside_from": band.inside_from} for band in self.bands]
        moved = [vars(m) for m in self.moved]
        return {**vars(self), "special": self.special, "moved": moved, "bands": bands}


def answers_of(comparison) -> list[Answer]:
    """One for each arm that is no control and not the baseline, if there are controls."""
    arms = [a for a in comparison.precisions if not is_control(a) and a != comparison.baseline]
    answers = [answer(comparison, arm) for arm in arms if controls_for(comparison, arm)]
    known = {a.arm: a.p for a in answers if a.p is not None}
    together = dict(zip(known, holm([*known.values()])))
    for a in answers:
        a.p, a.least_p = together.get(a.arm), min(1.0, a.least_p * max(1, len(known)))
    return answers


def controls_for(comparison, arm) -> list[str]:
    """The controls that an arm is held against: the baseline's, or else its own."""
    every = [c for c in comparison.precisions if split(c)[1] not in ("", REPEAT)]
    every = [c for c in every if comparison.runs_of(c)]
    of_baseline = [c for c in every if split(c)[0] == comparison.baseline]
    return of_baseline or [c for c in every if split(c)[0] == arm]


def answer(comparison, arm) -> Answer:
    """That of one arm, its p not yet adjusted for others."""
    controls = controls_for(comparison, arm)
    differences = {a: differences_of(comparison, a) for a in (arm, *controls)}
    seeds = sorted(set.intersection(*(set(d) for d in differences.values())))
    result = Answer(
        arm,
        controls,
        len(seeds),
        lost=lost_of(comparison, arm),
        controls_lost=sum(lost_of(comparison, c) for c in controls),
        bands=bands_of(comparison, arm, controls),
    )
    if not seeds:
        return result
    rows = [[d[s] for d in differences.values()] for s in seeds]
    for name, column in zip(differences, zip(*rows)):
        in_unit, size = primary(comparison).shown, mean([abs(d) for d in column])
        result.moved.append(Moved(name, in_unit(mean(column)), in_unit(size)))
    result.p = min(1.0, 2 * min(one_of_them_p(rows)))
    result.least_p = min(1.0, 2 * (1 + (len(rows[0]) == 2)) / len(rows[0]) ** len(rows))
    return result


def differences_of(comparison, arm) -> dict[int, float]:
    """By seed, the primary score's difference, on its scale, from what the arm is held against."""
    score, pairs = primary(comparison), pairs_of(comparison, arm)
    differences = {a.seed: score.scaled(score.of(a)) - score.scaled(score.of(b)) for a, b in pairs}
    return {seed: d for seed, d in differences.items() if math.isfinite(d)}


# ---- over the steps ------------------------------------------------------------------------------


def bands_of(comparison, arm, controls) -> list[Band]:
    """A Band for each kind of distance that was noted of the arm and of a control."""
    bands = []
    for kind in KINDS:
        medians = {a: median_course(comparison, a, kind) for a in (arm, *controls)}
        ours, theirs = medians[arm], [m for c in controls if (m := medians[c])]
        steps = sorted(set(ours).intersection(*theirs)) if theirs else []
        if steps:
            low = [min(m[s] for m in theirs) for s in steps]
            high = [max(m[s] for m in theirs) for s in steps]
            ends = {a: m[steps[-1]] for a, m in medians.items() if m}
            bands.append(Band(kind, steps, [ours[s] for s in steps], low, high, ends))
    return bands


def median_course(comparison, arm, kind) -> dict[int, float]:
    """The median over seeds at each step that all noted."""
    runs = [d for d in comparison.distances() if d.precision == arm]
    runs = [d for d in runs if getattr(d, kind) is not None]
    if not runs:
        return {}
    courses = [dict(zip(d.steps.tolist(), getattr(d, kind).tolist())) for d in runs]
    steps = sorted(set.intersection(*(set(c) for c in courses)))
    return {s: float(np.median([c[s] for c in courses])) for s in steps}


# ---- what must be exactly zero -------------------------------------------------------------------


def unrepeatable(comparison) -> list[str]:
    """What was not the same when it was done again, in words; nothing where all was."""
    texts = []
    for arm in comparison.precisions:
        if split(arm)[1] == REPEAT:
            others = {r.seed: r for r in comparison.runs_of(partner(arm, comparison.baseline))}
            for run in comparison.runs_of(arm):
                differs = run.seed in others and first_difference(run, others[run.seed])
                if differs:
                    texts.append(f"{arm}, seed {run.seed}: {differs}")
    return texts


def first_difference(run, other) -> str:
    """Where two runs that should be one differ first, in words; empty where they do not."""
    for name, column in run.history.items():
        theirs = other.history.get(name, [])
        for step, (a, b) in enumerate(zip(column, theirs), 1):
            if a != b and not (is_nan(a) and is_nan(b)):
                return f"{name} differs at step {step}, {a!r} and {b!r}"
        if len(column) != len(theirs):
            return f"{len(column)} steps and {len(theirs)}"
    if [e[1:] for e in run.evaluations] != [e[1:] for e in other.evaluations]:
        return "evaluations differ"
    noted = run.snapshots.keys() & other.snapshots.keys()
    if any(not np.array_equal(run.snapshots[k], other.snapshots[k], equal_nan=True) for k in noted):
        return "weights or outputs differ"
    return ""


def is_nan(value) -> bool:
    """Whether it is the number that is not equal to itself."""
    return isinstance(value, float) and math.isnan(value)
