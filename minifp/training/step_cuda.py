"""One mixed step, decided in the GPU's memory: nothing in it waits for the host, or is waited for.

The same as step_host.py: gather the gradients in one array and see whether they are finite
(gather.cu), decide and adapt the scale (step.cu), and for each block of parameters compute the
rule's numbers (numbers.cu) and update (update.cu).
"""

from collections.abc import Sequence

import numpy as np

from minifp.optim.block import Gradients
from minifp.runtime.cuda.source import THREADS, Text
from minifp.training.loss_scale import DynamicLossScale, LogNormalLossScale, StaticLossScale
from minifp.training.step_memory import Outcome, StepMemory
from minifp.training.step_result import PendingResult, StepResult

STEP = Text(__name__, "step.cu")


class DeviceStep:
    """What a MixedOptimizer asks in a step, in the order of these methods: see HostStep.

    memory: of its steps. gradients: of each optimizer, those of its blocks.
    """

    factor = None  # what gradients are multiplied by is known to the GPU only

    def __init__(self, memory: StepMemory, gradients: list[list[Gradients]]) -> None:
        self.memory, self.gradients = memory, gradients
        self.flats: list = []

    def unscale_and_check(self) -> None:
        """Gather all gradients, and sum their squares for each optimizer."""
        memory, first = self.memory, 0
        memory.begin_step()
        memory.flags.fill(0)
        for n, blocks in enumerate(self.gradients):
            gathered = memory.gathered_of(n, blocks)
            gathered.take(blocks, memory.flags[first:], memory.flags[-1:])
            parts = gathered.squares
            self._launch("total", THREADS, parts, parts.size, memory.state, np.int32(n))
            self.flats.append(gathered.flats)
            first += sum(len(block.arrays) for block in blocks)

    def update_or_skip(self) -> None:
        """Decide, which adapts the scale too, and update the weights of each optimizer that is to:
        the kernels of the others leave everything as it is."""
        self._decide()
        memory = self.memory
        for n, (o, blocks) in enumerate(zip(memory.owner.optimizers, self.gradients)):
            for k, (block, gradients) in enumerate(zip(o.blocks, blocks)):
                update, base = memory.update_of(n, k, block), memory.bases[n][k]
                update.launch(memory.state, n, base, self.flats[n][k])
                gradients.consume()

    def adapt_scale(self) -> None:
        """Take note that S is another, which is in the GPU's memory; and of what the step did."""
        self.outcome = self.memory.seed.source = Outcome(self.memory)
        self.memory.finish()

    def result(self) -> StepResult:
        """What the step did, read when somebody asks."""
        return PendingResult(self.outcome)

    def check_patience(self, result: StepResult, losses: Sequence) -> None:
        """Raise TrainingError after too many skipped steps in a row; looks now and then."""
        self.memory.losses = [loss.detach() for loss in losses]
        self.memory.check_patience()

    def _decide(self):
        owner, memory = self.memory.owner, self.memory
        rule, numbers = rule_of(owner.loss_scale)
        switches = owner.skip == "together", not owner.skip_nonfinite
        self._launch(
            *("decide", 1, memory.state, np.int32(len(owner.optimizers))),
            *(np.float64(memory.dial), np.float64(owner.clip_norm or 0.0)),
            *(*map(np.int32, switches), memory.flags[-1:]),
            *(np.int32(rule), *map(np.float64, numbers)),
        )

    def _launch(self, kernel, threads, *arguments):
        STEP(THREADS=THREADS).launch(kernel, 1, threads, *arguments)


def rule_of(scale: StaticLossScale) -> tuple[int, list[float]]:
    """How step.cu adapts a loss scale: the rule's number there, and its seven numbers."""
    if isinstance(scale, DynamicLossScale):
        intervals: list[float] = [scale.growth_interval, scale.backoff_interval, 0.0]
        numbers = [scale.growth_factor, scale.backoff_factor, *intervals]
        return 1, [*numbers, scale.min_scale, scale.max_scale]
    if isinstance(scale, LogNormalLossScale):
        numbers = [scale.beta1, scale.beta2, scale.deviations, scale.limit_interval, scale.cutoff]
        return 2, [*numbers, scale.min_scale, scale.max_scale]
    return 0, [0.0] * 7
