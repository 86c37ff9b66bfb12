"""One mixed step, decided on the host: on the CPU, and on a GPU where only the host knows the rule.

Gradients are divided by S in float32, as part of the update; where one is Inf or NaN, no weight is
changed (Micikevicius et al. 2018, arXiv:1710.03740, sections 3.1 and 3.2; to skip the step and to
adapt S by it is NVIDIA's, as in Apex). step_cuda.py does the same in the GPU's memory.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minifp.autograd.gradient_clip import clip_factor
from minifp.autograd.gradients import name_of
from minifp.autograd.tape import Tensor
from minifp.numerics.formats import as_native
from minifp.optim.block import Gradients
from minifp.runtime.device import moved
from minifp.training.fault_search import diagnose
from minifp.training.patience import check_patience
from minifp.training.step_result import StepResult


class HostStep:
    """What a MixedOptimizer (the owner) asks in a step, in the order of these methods.

    seed: what gradients are multiplied by. gradients: of each optimizer, those of its blocks.
    updates: of each optimizer, whether it updates its weights. factor: what gradients are
    multiplied by in the update: 1/seed, and less to clip; None where no optimizer updates.
    """

    factor: float | None = None
    culprits: tuple = ()
    diagnosis: Any = None

    def __init__(self, owner: Any, seed: Any, gradients: list[list[Gradients]]) -> None:
        self.owner, self.gradients, self.inverse = owner, gradients, 1 / seed

    def unscale_and_check(self) -> None:
        """See whether all gradients are finite: their squares are summed in float64, unscaled after
        that, and the sum is finite if and only if they are."""
        squares = [sum([block.squared_norm() for block in blocks]) for blocks in self.gradients]
        finite = [math.isfinite(s) for s in squares]
        self.all_finite = all(finite)
        self.norm = self._norm(squares) if self.all_finite else math.nan
        self.updates = self._updates(finite)
        if any(self.updates):
            clips = self.owner.clip_norm is not None
            self.factor = self.inverse * (self._clipping(squares) if clips else 1.0)
        self.scale_before = self.owner.scale
        if self.all_finite:
            self.owner.look_for_largest()
        else:
            self._explain()

    def update_or_skip(self) -> None:
        """Update the weights of each optimizer, or change nothing and drop its gradients."""
        for o, goes_on, blocks in zip(self.owner.optimizers, self.updates, self.gradients):
            o.count_attempt()
            if not goes_on:
                o.zero_grad()
            elif any(block.there_are_any() for block in blocks):
                o.apply(self.factor, blocks)

    def adapt_scale(self) -> None:
        """Let S shrink where a gradient was not finite, and else grow as its rule says."""
        scale = self.owner.loss_scale
        if getattr(scale, "reads_largest", False):
            scale.update(self.all_finite, self.owner.largest)
        else:
            scale.update(self.all_finite)

    def result(self) -> StepResult:
        """What the step did."""
        stepped = all(self.updates)
        return StepResult(
            stepped=stepped,
            reason=None if stepped else self._reason(),
            scale_before=self.scale_before,
            scale_after=self.owner.loss_scale.value,
            grad_norm=self.norm,
            parameters=self.culprits,
            each=tuple(self.updates),
            diagnosis=self.diagnosis,
        )

    def check_patience(self, result: StepResult, losses: Sequence) -> None:
        """Raise TrainingError after too many skipped steps in a row."""
        if not self.all_finite:
            check_patience(self.owner.loss_scale, result, losses)

    # ---- parts of these ----

    def _updates(self, finite):
        if not self.owner.skip_nonfinite:
            return [True] * len(finite)
        return finite if self.owner.skip == "each" else [self.all_finite] * len(finite)

    def _norm(self, squares):
        return math.sqrt(sum(squares)) * self.inverse

    def _clipping(self, squares):
        norm = self._norm([s for s, goes_on in zip(squares, self.updates) if goes_on])
        return clip_factor(norm, self.owner.clip_norm)

    def _explain(self):
        """Name the gradients that are not finite, and where that arose: while all weights are those
        of backward, so that it can be done again."""
        owner = self.owner
        self.culprits = not_finite(owner.parameters)
        if owner.diagnose and not all(self.updates):
            self.diagnosis = diagnose(owner.backwards, self.scale_before, owner.dial)

    def _reason(self):
        because = f": {self.diagnosis}" if self.diagnosis else ""
        return f"the gradient of {', '.join(self.culprits)} is not finite{because}"


def not_finite(parameters: Sequence[Tensor]) -> tuple[str, ...]:
    """The names of parameters whose gradients are not finite."""
    return tuple([name_of(p, i) for i, p in enumerate(parameters) if not _is_finite(p.grad)])


def _is_finite(gradient):
    return gradient is None or bool(np.isfinite(as_native(moved(gradient.array, "cpu"))).all())
