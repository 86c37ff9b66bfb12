"""What a MixedOptimizer's steps have in the GPU's memory: the scale, its counters, and steps.

Nothing in a step waits for the host, or is waited for. What came of it is read when somebody asks.
The host's own numbers are taken up when they were changed since, and brought up to date (`settle`)
when they are asked for.
"""

from typing import Any

import numpy as np

from minifp.autograd.gradients import name_of
from minifp.numerics import kernels
from minifp.optim.block import Block
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import is_on_device, to_device, to_host, zeros
from minifp.runtime.cuda.capturing import beside_the_step
from minifp.training.gather_cuda import Gathered
from minifp.training.loss_scale import (
    DynamicLossScale,
    LogNormalLossScale,
    NoLossScale,
    StaticLossScale,
)
from minifp.training.patience import check_patience
from minifp.training.seed_cuda import Seed
from minifp.training.step_result import PendingResult
from minifp.training.update_cuda import BlockUpdate, are_alike, can_update

# Places of numbers in `state`: see step.cu. Those of each optimizer are EACH, from FIRST on.
SCALE, GOOD, SKIPPED, OBSERVED, MEAN, VARIANCE, LIMIT, ATTEMPTS, BEFORE, NORM = range(10)
FIRST, EACH = 11, 4
# Of loss scales, where step.cu has the rule: what those that have it call these numbers.
ADAPTED = {
    **{"good_steps": GOOD, "observed": OBSERVED},
    **{"mean": MEAN, "variance": VARIANCE, "limit": LIMIT},
}
KNOWN_SCALES = StaticLossScale, DynamicLossScale, LogNormalLossScale, NoLossScale


class StepMemory:
    """What a MixedOptimizer (the owner) has in the GPU's memory. state: the numbers in step.cu."""

    def __init__(self, owner: Any) -> None:
        self.owner, self.dial = owner, 2.0**-owner.dial
        self.state = zeros((FIRST + EACH * len(owner.optimizers),), np.float64)
        # Of gradients that are not finite; the last, not a flag, has the bits of the largest one.
        self.flags = zeros((len(owner.parameters) + 1,), np.int32)
        self.known: list | None = None  # of the host's numbers, those that are in `state`
        self.is_ahead, self.since = False, 0  # of the host; steps since it was brought up to date
        self.seed = self._new_seed()
        self.updates: dict[tuple, BlockUpdate] = {}
        self.gathered: dict[tuple, Gathered] = {}
        self.losses: list = []  # of the last step
        self._fits: tuple = None, False
        for o in owner.optimizers:
            o.settle = self.settle

    def _new_seed(self):
        return Seed(self.state, self.dial, self.owner)

    # ---- whether steps can be decided here ----

    def fits(self) -> bool:
        """Whether the rules of the optimizers and of the loss scale are those that there are
        kernels for: looked up anew when something has changed."""
        owner, now = self.owner, self._circumstances()
        if now != self._fits[0]:
            is_known = type(owner.loss_scale) in KNOWN_SCALES
            self._fits = now, is_known and all(map(can_update, owner.optimizers))
        return self._fits[1]

    def _circumstances(self):
        now: list = [type(self.owner.loss_scale), bool(kernels.observers)]
        for block in (block for o in self.owner.optimizers for block in o.blocks):
            if not is_on_device(block.weights.flat):
                block.weights.check_formats()  # which were moved since
            now += [id(block), are_alike(block.steps), *block.state]
        return now

    def takes(self, seed: Any, gradients: list) -> bool:
        """Whether it made the seed, and every parameter has a gradient, alike in a block."""
        return seed is self.seed and all(b.are_alike() for blocks in gradients for b in blocks)

    # ---- what the host knows ----
    #
    # Its numbers are true unless `is_ahead`. They are not changed by steps, so that others than
    # `known` have been set by somebody.

    def _of_host(self):
        scale, optimizers = self.owner.loss_scale, self.owner.optimizers
        adapted = [getattr(scale, name, 0) for name in ADAPTED]
        counts = [o.counted for o in optimizers]
        return [scale.value, scale.skipped_in_a_row, *adapted, *counts, *map(id, optimizers)]

    def take_up(self) -> None:
        """Bring to the device what was changed on the host since, such as by loading a state."""
        now = self._of_host()
        if now == self.known:
            return
        if self.known is not None and now[0] != self.known[0]:
            self.seed.fix(self.known[0])
            self.seed = self._new_seed()
        values = np.zeros(self.state.size)
        values[[SCALE, SKIPPED, *ADAPTED.values()]] = now[: 2 + len(ADAPTED)]
        for n, o in enumerate(self.owner.optimizers):
            values[FIRST + n * EACH + 2] = o.counted[0]
        self.state[...] = to_device(values)
        optimizers = self.owner.optimizers
        self.bases = [[block.steps[0] - o.counted[0] for block in o.blocks] for o in optimizers]
        self.known, self.is_ahead, self.since = now, False, 0

    def settle(self) -> None:
        """Bring the host's numbers up to date. Waits for the device."""
        if not self.is_ahead:
            return
        capturing.refuse("reads an optimizer's loss scale or its number of steps")
        self.is_ahead, self.since = False, 0
        values, scale = to_host(self.state), self.owner.loss_scale
        scale.value, scale.skipped_in_a_row = float(values[SCALE]), int(values[SKIPPED])
        for name, place in ADAPTED.items():
            if hasattr(scale, name):
                setattr(scale, name, type(getattr(scale, name))(values[place]))
        for n, o in enumerate(self.owner.optimizers):
            steps = int(values[FIRST + n * EACH + 2])
            o.counted = steps, o.counted[1] + int(values[ATTEMPTS])
            for block, base in zip(o.blocks, self.bases[n]):
                block.steps[:] = [base + steps] * len(block.steps)
        self.state[ATTEMPTS : ATTEMPTS + 1] = 0
        self.known = self._of_host()

    # ---- what the host does around steps ----

    def begin(self) -> Seed:
        """The seed of a backward pass, after the host's part of the next step."""
        if capturing.now is not None:
            capturing.now.undo[id(self)] = self.owner.zero_grad
        self._prepare_unless_captured()
        return self.seed

    def begin_step(self) -> None:
        """The host's part before a step's kernels; a graph of the step does it every time."""
        if capturing.now is not None:
            capturing.now.before[id(self)], capturing.now.after[id(self)] = self.prepare, self.wait
        self._prepare_unless_captured()

    def _prepare_unless_captured(self):
        if capturing.now is None or not capturing.now.captures:
            self.prepare()

    def prepare(self) -> None:
        """What the host does before a step: bring to the device what was changed."""
        with beside_the_step():
            self.take_up()
            for o in self.owner.optimizers:
                for block in o.blocks:
                    block.weights.take_up_assigned()
            for update in self.updates.values():
                update.refresh()

    def finish(self) -> None:
        """What the host does after a step."""
        self.is_ahead, self.seed = True, self._new_seed()
        self.since += 1

    def wait(self) -> None:
        """After a graph: as after a step, and now and then look whether all steps are skipped."""
        self.finish()
        self.check_patience()

    def check_patience(self) -> None:
        """Look, now and then, whether all steps were skipped. Raises TrainingError after the loss
        scale's `patience` of them in a row."""
        scale = self.owner.loss_scale
        if self.since < scale.patience or not self.owner.skip_nonfinite:
            return
        if capturing.now is None:  # of a step that is looked at or captured: later
            self.settle()
            check_patience(scale, PendingResult(Outcome(self)), self.losses)

    # ---- places of a step ----

    def gathered_of(self, number: int, blocks: list) -> Gathered:
        """Where the gradients of optimizer `number` are gathered."""
        key = number, tuple((a.size, a.dtype) for block in blocks for a in block.arrays)
        if key not in self.gathered:
            self.gathered[key] = Gathered(blocks)
        return self.gathered[key]

    def update_of(self, number: int, k: int, block: Block) -> BlockUpdate:
        """What updates block k of optimizer `number`."""
        update = self.updates.get((number, k))
        if update is None or update.block is not block:
            optimizer = self.owner.optimizers[number]
            update = self.updates[number, k] = BlockUpdate(optimizer, block)
            with beside_the_step():
                update.refresh()
        return update


class Outcome:
    """What a step did, as it is in the GPU's memory: read when it is asked for."""

    def __init__(self, memory: Any) -> None:
        """memory: a StepMemory, or an Outcome to be copied."""
        self.owner, self.state, self.flags = memory.owner, memory.state.copy(), memory.flags.copy()

    def copied(self) -> "Outcome":
        """The same in memory of its own."""
        return Outcome(self)

    @property
    def scale(self) -> float:
        """The loss scale of the gradients that the step used. Waits for the device."""
        return float(to_host(self.state)[BEFORE])

    def read(self) -> dict[str, Any]:
        """The fields of a StepResult. Waits for the device."""
        values, flags = to_host(self.state), to_host(self.flags)
        each = tuple(bool(v) for v in values[FIRST::EACH])
        parameters = zip(self.owner.parameters, flags)
        culprits = tuple(name_of(p, i) for i, (p, flag) in enumerate(parameters) if flag)
        reason = "the gradient of " + ", ".join(culprits) + " is not finite"
        return {
            "stepped": all(each),
            "reason": None if all(each) else reason,
            "scale_before": float(values[BEFORE]),
            "scale_after": float(values[SCALE]),
            "grad_norm": float(values[NORM]),
            "parameters": culprits,
            "each": each,
        }
