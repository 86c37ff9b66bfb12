"""Which technique does what: one precision with each of its techniques taken away, in every
combination, and the effect of each with an interval."""

from minifp.lab.ablation.ablating import Ablation, ablate
from minifp.lab.ablation.effects import Effect

__all__ = ["Ablation", "Effect", "ablate"]
