"""What was seen of one training step."""

import math
from dataclasses import dataclass, field

from minifp.scope.histogram import Histogram, total_of
from minifp.scope.updates import Updates

WEIGHTS, ACTIVATIONS = "weights", "activations"
ACTIVATION_GRADIENTS, WEIGHT_GRADIENTS = "activation gradients", "weight gradients"
KINDS = (WEIGHTS, ACTIVATIONS, ACTIVATION_GRADIENTS, WEIGHT_GRADIENTS)
GRADIENTS = (ACTIVATION_GRADIENTS, WEIGHT_GRADIENTS)


@dataclass
class ObservedStep:
    """One step: where its numbers lie, and what became of its updates.

    step: its number, from 1 on, since the microscope was set up. stepped, reason: as StepResult has
    them. scale: the loss scale in its gradients. dial: the exponent dial. histograms: by kind (of
    KINDS) and layer: the path of a module, or the name of a parameter; of numbers as they are
    stored, so gradients are still multiplied. updates: by the name of a parameter. rates: the
    learning rate of each group.
    """

    step: int
    stepped: bool = True
    reason: str | None = None
    scale: float = 1.0
    dial: int = 0
    in_half: bool = False
    grad_norm: float = math.nan
    histograms: dict[str, dict[str, Histogram]] = field(
        default_factory=lambda: {kind: {} for kind in KINDS}
    )
    updates: dict[str, Updates] = field(default_factory=dict)
    rates: list[float] = field(default_factory=list)

    @property
    def shift(self) -> int:
        """log2 of the loss scale, to the nearest whole number. An exponent dial stays in what is
        then called unscaled: it stands for a loss that is a mean over more terms."""
        return round(math.log2(self.scale))

    def add(self, kind: str, layer: str, histogram: Histogram) -> None:
        """Count the numbers of one more array of a layer."""
        layers = self.histograms[kind]
        layers[layer] = layers[layer] + histogram if layer in layers else histogram

    def total(self, kind: str) -> Histogram:
        """The histogram of all layers together."""
        return total_of(self.histograms[kind].values())
