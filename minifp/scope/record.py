"""What was seen of a training run, as its pages and texts read it; see findings.py."""

import math
from dataclasses import dataclass, field
from typing import Any

from minifp.checks import check_choice, check_range
from minifp.scope.advice import TOLERANCE, Advice, advise
from minifp.scope.histogram import Histogram, total_of
from minifp.scope.observed import GRADIENTS, KINDS, ObservedStep
from minifp.training.diagnosis import BACKWARD, FORWARD


@dataclass(eq=False)  # one is itself alone: lists of observers are searched for it
class Record:
    """What was seen of a training run.

    about: of the model, the precision and the optimizer, as texts. steps: those that were looked
    at. scales, skipped: of every step, the loss scale before it and whether it was skipped.
    diagnoses: of skipped steps, {"step", "phase", "operation", "module", "line", "persists",
    "text"}. warnings: misuse that was seen, as texts.
    details: of one step, what was asked for: see details.py.
    """

    about: dict[str, Any] = field(default_factory=dict)
    steps: list[ObservedStep] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    skipped: list[bool] = field(default_factory=list)
    diagnoses: list[dict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    _advised: tuple | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def count(self) -> int:
        """How many steps were made."""
        return len(self.scales)

    def layers(self, kind: str) -> list[str]:
        """The layers of one of KINDS, in the order in which they were first seen. Raises
        ArgumentError for no such kind, as `total` does."""
        check_choice("kind", kind, KINDS)
        return list(dict.fromkeys(name for step in self.steps for name in step.histograms[kind]))

    def total(self, kind: str, layer: str | None = None) -> Histogram:
        """The histogram of one layer, or of all, over all steps, as numbers were stored."""
        check_choice("kind", kind, KINDS)
        found = (step.histograms[kind] for step in self.steps)
        return total_of(h for of in found for name, h in of.items() if layer in (None, name))

    def advice(self, tolerance: float = TOLERANCE) -> Advice:
        """Advice on the loss scale. tolerance: see advice.advise. Raises ArgumentError for one that
        is not between 0 and 1."""
        check_range("tolerance", tolerance, high=1.0)
        key = len(self.steps), self.count, tolerance
        if self._advised is None or self._advised[0] != key:
            known = {d["step"]: d for d in self.diagnoses}
            faults = {n for n, d in known.items() if d["persists"]}  # of no loss scale's making
            failed = [
                scale
                for n, (scale, skipped) in enumerate(zip(self.scales, self.skipped), 1)
                if skipped and n not in faults
            ]
            broken = {n for n in faults if known[n]["phase"] in (FORWARD, BACKWARD)}
            steps = [step for step in self.steps if step.step not in broken]
            self._advised = key, advise(steps, tolerance, min(failed, default=math.inf))
        return self._advised[1]


def unscaled(step: ObservedStep, kind: str) -> int:
    """What to subtract from a stored exponent to have the number's own."""
    return step.shift if kind in GRADIENTS else 0
