"""What was seen of one training step."""

import math
from collections import Counter
from dataclasses import dataclass, field

from minifp.numerics.number_format import FORMATS, Format, format_named
from minifp.scope.histogram import Histogram, total_of
from minifp.scope.updates import Updates

WEIGHTS, ACTIVATIONS = "weights", "activations"
ACTIVATION_GRADIENTS, WEIGHT_GRADIENTS = "activation gradients", "weight gradients"
KINDS = (WEIGHTS, ACTIVATIONS, ACTIVATION_GRADIENTS, WEIGHT_GRADIENTS)
GRADIENTS = (ACTIVATION_GRADIENTS, WEIGHT_GRADIENTS)
SINGLE = FORMATS["float32"]


@dataclass
class ObservedStep:
    """One step: where its numbers lie, and what became of its updates.

    step: its number, from 1 on, since the microscope was set up. stepped, reason: as StepResult has
    them. scale: the loss scale in its gradients. dial: the exponent dial. histograms: by kind (of
    KINDS) and layer: the path of a module, or the name of a parameter; of numbers as they are
    stored, so gradients are still multiplied. formats: likewise, the name of the narrowest format
    in which some of them are stored. updates: by the name of a parameter. rates: the learning rate
    of each group.
    """

    step: int
    stepped: bool = True
    reason: str | None = None
    scale: float = 1.0
    dial: int = 0
    grad_norm: float = math.nan
    histograms: dict[str, dict[str, Histogram]] = field(
        default_factory=lambda: {kind: {} for kind in KINDS}
    )
    formats: dict[str, dict[str, str]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    updates: dict[str, Updates] = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)

    @property
    def shift(self) -> int:
        """log2 of the loss scale, to the nearest whole number. An exponent dial stays in what is
        then called unscaled: it stands for a loss that is a mean over more terms."""
        return round(math.log2(self.scale))

    def scale_of(self, kind: str) -> float:
        """By what numbers of a kind are multiplied."""
        return self.scale if kind in GRADIENTS else 1.0

    def add(self, kind: str, layer: str, histogram: Histogram, format: Format = SINGLE) -> None:
        """Count the numbers of one more array of a layer, stored in a format."""
        layers, formats = self.histograms[kind], self.formats[kind]
        layers[layer] = layers[layer] + histogram if layer in layers else histogram
        both = format, self.format_of(kind, layer)
        formats[layer] = min(both, key=lambda f: f.bits).name

    def format_of(self, kind: str, layer: str) -> Format:
        """The narrowest format in which numbers of a layer are stored; float32 for none."""
        return format_named(self.formats[kind].get(layer, SINGLE.name)) or SINGLE

    def narrow(self, kinds: tuple[str, ...]) -> Counter[str]:
        """How many numbers of some kinds are stored in each format of fewer bits than float32."""
        counts: Counter[str] = Counter()
        for kind in kinds:
            for layer, h in self.histograms[kind].items():
                format = self.format_of(kind, layer)
                if format.bits < SINGLE.bits:
                    counts[format.name] += h.total
        return counts

    def total(self, kind: str) -> Histogram:
        """The histogram of all layers together."""
        return total_of(self.histograms[kind].values())
