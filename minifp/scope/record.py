"""What was seen of a training run, as its pages and texts read it; see findings.py."""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from minifp.checks import check_choice, check_range
from minifp.numerics.formats import float16, format_of
from minifp.numerics.number_format import Format
from minifp.scope.advice import TOLERANCE, Advice, advise
from minifp.scope.borders import BORDERS
from minifp.scope.histogram import Histogram, total_of
from minifp.scope.observed import GRADIENTS, KINDS, ObservedStep
from minifp.training.diagnosis import BACKWARD, FORWARD

FORMAT_IN_PRODUCTS = "gradients in products"  # in `about`
WHAT_IF = ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")  # of which all runs are asked


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
    _advice: tuple | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def count(self) -> int:
        """How many steps were made."""
        return len(self.scales)

    @property
    def borders(self) -> tuple:
        """Those of the parts in which its histograms count."""
        kinds = (step.histograms[kind] for step in self.steps for kind in KINDS)
        histograms = (h for layers in kinds for h in layers.values())
        return next((h.borders for h in histograms), BORDERS)

    def layers(self, kind: str) -> list[str]:
        """The layers of one of KINDS, in the order in which they were first seen. Raises
        ArgumentError for no such kind, as `total` does."""
        check_choice("kind", kind, KINDS)
        return list(dict.fromkeys(name for step in self.steps for name in step.histograms[kind]))

    def total(self, kind: str, layer: str | None = None) -> Histogram:
        """The histogram of one layer, or of all, over all steps, as numbers were stored."""
        check_choice("kind", kind, KINDS)
        histograms = (step.histograms[kind] for step in self.steps)
        return total_of(h for of in histograms for name, h in of.items() if layer in (None, name))

    def format_of(self, *kinds: str) -> Format:
        """The format in which most numbers of some of KINDS were stored in less than float32, or
        float16, in which they might have been."""
        counts = sum((step.narrow(kinds) for step in self.steps), start=Counter())
        return format_of(max(counts, key=lambda name: counts[name], default=float16.name))

    @property
    def gradients_in(self) -> Format:
        """The format whose range decides over gradients: that in which they enter products, if
        they do without a scale of their own, or else in which they are stored."""
        return format_of(self.about.get(FORMAT_IN_PRODUCTS) or self.format_of(*GRADIENTS))

    @property
    def formats(self) -> list[Format]:
        """Those in which one may want to store: WHAT_IF, and others that the run has."""
        own = sum((step.narrow(KINDS) for step in self.steps), start=Counter())
        names = (*WHAT_IF, *own, self.gradients_in.name)
        return [format_of(name) for name in dict.fromkeys(names)]

    @property
    def alone(self) -> list[str]:
        """The formats in which weights might be kept alone, by name."""
        updates = (u for step in self.steps for u in step.updates.values())
        return list(dict.fromkeys(name for u in updates for name in u.alone))

    def advice(self, tolerance: float = TOLERANCE, format: Any = None) -> Advice:
        """Advice on the loss scale. tolerance: see advice.advise. format: in which gradients are
        to be stored, by name; by default as in the run: see `gradients_in`. Raises ArgumentError
        for a tolerance that is not between 0 and 1, and PrecisionError for no format."""
        check_range("tolerance", tolerance, high=1.0)
        meant = self.gradients_in if format is None else format_of(format)
        counts = len(self.steps), self.count
        if self._advice is None or self._advice[0] != counts:
            self._advice = counts, {}
        advice_by_question, key = self._advice[1], (tolerance, meant)
        if key not in advice_by_question:
            diagnoses = {d["step"]: d for d in self.diagnoses}
            faults = {n for n, d in diagnoses.items() if d["persists"]}  # of no loss scale's making
            failed = [
                scale
                for n, (scale, skipped) in enumerate(zip(self.scales, self.skipped), 1)
                if skipped and n not in faults
            ]
            broken = {n for n in faults if diagnoses[n]["phase"] in (FORWARD, BACKWARD)}
            steps = [step for step in self.steps if step.step not in broken]
            too_large = min(failed, default=math.inf)
            advice_by_question[key] = advise(steps, tolerance, too_large, meant)
        return advice_by_question[key]


def unscaled(step: ObservedStep, kind: str) -> int:
    """What to subtract from a stored exponent to have the number's own."""
    return step.shift if kind in GRADIENTS else 0
