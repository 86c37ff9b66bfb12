"""A MixedOptimizer's step in the GPU's memory: nothing in it waits for the host, or is waited for.

The scale, its counters and the number of steps lie there (see step.cu). A step is: gather the
gradients in one array and look whether they are finite (gather.cu), decide (step.cu), and for each
block of parameters compute the rule's numbers (numbers.cu) and update (update.cu). What came of it
is read when somebody asks. The host's own numbers are taken up when they were changed since, and
brought up to date (`settle`) when they are asked for.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from minifp.autograd.gradient_clip import name_of
from minifp.errors import DeviceError, TrainingError
from minifp.numerics import kernels
from minifp.optim.block_cuda import Numbers, filled
from minifp.optim.optimizer import Optimizer
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import empty, is_on_device, to_device, to_host, zeros
from minifp.runtime.cuda.capturing import beside_the_step
from minifp.runtime.cuda.pointwise import FLOATS
from minifp.runtime.cuda.source import THREADS, TYPES, Text, module_of
from minifp.training.loss_scale import DynamicLossScale, NoLossScale, StaticLossScale
from minifp.training.step_result import PendingResult

GATHER, STEP, SEED = (Text(__name__, f"{name}.cu") for name in ("gather", "step", "seed"))
MOST, CHUNK = 24, 8192  # gradients of one launch; elements of one block
FIRST, EACH = 7, 4  # where the numbers of optimizers begin, and how many there are: see step.cu


class Seed:
    """The seed of backward passes until the next step: S, times the dial, in the GPU's memory."""

    def __init__(self, memory: "StepMemory") -> None:
        self.memory = memory
        self.source: Any = memory.owner  # whose `scale` is S; another once that may have changed

    def __float__(self) -> float:
        self.source = SimpleNamespace(
            scale=self.source.scale
        )  # before steps of the host's change it
        return float(self.source.scale * self.memory.dial)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec)

    def __rtruediv__(self, other: float) -> float:
        return other / float(self)

    def gradient(self, shape: tuple, dtype: Any) -> Any:
        """The first gradient of a backward pass: an array of S."""
        made = empty(shape, dtype)
        given = np.float64(self.memory.dial), made, made.size
        SEED(Y=dtype).launch("seed", 1, THREADS, self.memory.state, *given)
        return made


class StepMemory:
    """What a MixedOptimizer has in the GPU's memory. Raises DeviceError where `fits` is False."""

    def __init__(self, owner: Any) -> None:
        self.owner, self.dial = owner, 2.0**-owner.dial
        self.state = zeros((FIRST + EACH * len(owner.optimizers),), np.float64)
        self.known: list | None = None  # of the host's numbers, those that are in `state`
        self.is_ahead, self.since = False, 0  # of the host; steps since it was brought up to date
        self.seed = Seed(self)
        self.plans: dict = {}
        self.flats: dict = {}
        self.flags = zeros((len(owner.parameters),), np.int32)
        self.losses: list = []  # of the last step

    # ---- what the host knows ----
    #
    # Its numbers are true unless `is_ahead`. They are not changed by steps, so that others than
    # `known` have been set by somebody.

    def _of_host(self):
        scale, optimizers = self.owner.loss_scale, self.owner.optimizers
        good = getattr(scale, "good_steps", 0)
        counts = [o.counted for o in optimizers]
        return [scale.value, good, scale.skipped_in_a_row, *counts, *map(id, optimizers)]

    def take_up(self) -> None:
        """Bring to the device what was changed on the host since, such as by loading a state."""
        now = self._of_host()
        if now == self.known:
            return
        if self.known is not None and now[0] != self.known[0]:
            self.seed.source = SimpleNamespace(scale=self.known[0])
            self.seed = Seed(self)
        values = np.zeros(self.state.size)
        values[:3] = now[:3]
        for n, o in enumerate(self.owner.optimizers):
            values[FIRST + n * EACH + 2] = o.counted[0]
        self.state[...] = to_device(values)
        self.bases = [
            [block.steps[0] - o.counted[0] for block in o.blocks] for o in self.owner.optimizers
        ]
        self.known, self.is_ahead, self.since = now, False, 0

    def settle(self) -> None:
        """Bring the host's numbers up to date. Waits for the device."""
        if not self.is_ahead:
            return
        capturing.refuse("asks an optimizer for its loss scale or its steps")
        self.is_ahead, self.since = False, 0
        values, scale = to_host(self.state), self.owner.loss_scale
        scale.value, scale.skipped_in_a_row = float(values[0]), int(values[2])
        if hasattr(scale, "good_steps"):
            scale.good_steps = int(values[1])
        for n, o in enumerate(self.owner.optimizers):
            steps = int(values[FIRST + n * EACH + 2])
            o.counted = steps, o.counted[1] + int(values[3])
            for block, base in zip(o.blocks, self.bases[n]):
                block.steps[:] = [base + steps] * len(block.steps)
        self.state[3:4] = 0
        self.known = self._of_host()

    # ---- steps ----

    def prepare(self) -> None:
        """What the host does before a step: bring to the device what was changed."""
        with beside_the_step():
            self.take_up()
            for plan in self.plans.values():
                plan.refresh()

    def finish(self) -> None:
        """What the host does after a step."""
        self.is_ahead, self.seed = True, Seed(self)
        self.since += 1

    def begin(self) -> Seed:
        """The seed of a backward pass, after the host's part of the next step."""
        if capturing.now is not None:
            capturing.now.undo[id(self)] = self.owner.zero_grad
        if capturing.now is None or not capturing.now.captures:
            self.prepare()
        return self.seed

    def takes(self, seed: Any, gradients: list) -> bool:
        """Whether it made the seed, and every parameter has a gradient, alike in a block."""
        return seed is self.seed and all(g.are_alike() for found in gradients for g in found)

    def step(self, gradients: list) -> PendingResult:
        """A step with these gradients, a list of each optimizer's `Gradients` of each block."""
        if capturing.now is not None:
            capturing.now.before[id(self)], capturing.now.after[id(self)] = self.prepare, self.wait
        if capturing.now is None or not capturing.now.captures:
            self.prepare()
        self.flags.fill(0)
        owner, first = self.owner, 0
        for n, found in enumerate(gradients):
            parts = self._gather(n, found, first)
            STEP(THREADS=THREADS).launch(
                "total", 1, THREADS, parts, parts.size, self.state, np.int32(n)
            )
            first += sum(len(g.arrays) for g in found)
        self._decide()
        for n, (o, found) in enumerate(zip(owner.optimizers, gradients)):
            for b, (block, g) in enumerate(zip(o.blocks, found)):
                self._update(n, b, o, block)
                g.consume()
        outcome = self.seed.source = Outcome(self)
        self.finish()
        self.losses = [backward.loss.detach() for backward in owner.backwards]
        return PendingResult(outcome)

    def check_patience(self) -> None:
        """Look, now and then, whether all steps were skipped. Raises TrainingError after the loss
        scale's `patience` of them in a row."""
        scale = self.owner.loss_scale
        if self.since < scale.patience or not self.owner.skip_nonfinite:
            return
        if capturing.now is not None:
            return  # a step that is looked at or captured: later
        last = self.last()
        if scale.skipped_in_a_row >= scale.patience:
            given = last["parameters"], last["scale_before"], self.losses
            raise TrainingError(self.owner.advice(*given))

    def last(self) -> dict[str, Any]:
        """What the last step did: the fields of a StepResult. The host is up to date then."""
        self.settle()
        return Outcome(self).read()

    def wait(self) -> None:
        """After a graph: as after a step, and now and then look whether all steps are skipped."""
        self.finish()
        self.check_patience()

    def _gather(self, n, found, first):
        """Gradients of optimizer n in one array for each block; the squares of their chunks."""
        counts = [-(-a.size // CHUNK) for g in found for a in g.arrays]
        key = n, tuple((a.size, a.dtype) for g in found for a in g.arrays)
        if key not in self.flats:
            self.flats[key] = (
                [empty((sum(a.size for a in g.arrays),), g.arrays[0].dtype) for g in found],
                empty((max(1, sum(counts)),), np.float64),
            )
        flats, squares = self.flats[key]
        self.flats[n] = flats
        if not sum(counts):
            squares.fill(0)
        done = 0
        for g, flat in zip(found, flats):
            start, module = 0, gather_of(flat.dtype)
            for k in range(0, len(g.arrays), MOST):
                some = [a if a.flags.c_contiguous else a.copy() for a in g.arrays[k : k + MOST]]
                given, blocks = [], 0
                for i in range(MOST):
                    a = some[i] if i < len(some) else some[0]
                    given += [a, blocks if i < len(some) else 2**40, start, a.size]
                    if i < len(some):
                        blocks += -(-a.size // CHUNK)
                        start += a.size
                if blocks:
                    places = squares[done:], self.flags[first + k :]
                    module.launch("gather", blocks, THREADS, flat, *places, *given)
                done += blocks
            first += len(g.arrays)
        return squares

    def _decide(self):
        owner, scale = self.owner, self.owner.loss_scale
        rule = [1.0, 1.0, 1.0, 0.0, 0.0]
        if isinstance(scale, DynamicLossScale):
            rule = [scale.growth_factor, scale.backoff_factor, scale.growth_interval]
            rule += [scale.min_scale, scale.max_scale]
        switches = owner.skip == "together", not owner.skip_nonfinite
        STEP(THREADS=THREADS).launch(
            *("decide", 1, 1, self.state, np.int32(len(owner.optimizers))),
            *(np.float64(self.dial), np.float64(owner.clip_norm or 0.0)),
            *(*map(np.int32, switches), *map(np.float64, rule)),
        )

    def _update(self, n, b, o, block):
        plan = self.plans.get((n, b))
        if plan is None or plan.block is not block:
            plan = self.plans[n, b] = Plan(o, block)
            with beside_the_step():
                plan.refresh()
        sign = -1 if block.group.get("maximize") else 1
        plan.numbers.launch(self.state, n, plan.settings, self.bases[n][b], sign, plan.control)
        weights = block.weights
        copy = weights.stored if weights.is_master else None
        states = [block.state[name] if name in plan.names else None for name in o.state_names]
        g = self.flats[n][b]
        o.rule.compiled.on_device.in_place(weights.flat, copy, g, states, plan.control)
        weights.written(0, len(block.steps))


def gather_of(dtype):
    """The module of the kernel that gathers gradients of a format."""
    given = "".join(f", const G *x_{k}, size b_{k}, size s_{k}, size n_{k}" for k in range(MOST))
    find = [
        f"if (block >= b_{k}) {{ x = x_{k}; chunk = block - b_{k}; start = s_{k}; n = n_{k}; "
        f"k = {k}; }}"
        for k in range(MOST)
    ]
    text = filled(GATHER.read(), {"POINTERS": given, "FIND": "\n  ".join(find)})
    types = [f"typedef {TYPES[dtype]} G;", f"#define CHUNK {CHUNK}", f"#define THREADS {THREADS}"]
    return module_of("\n".join([*types, text]))


class Plan:
    """What the update of one block needs: its numbers, and the settings they come from."""

    def __init__(self, optimizer, block):
        self.optimizer, self.block = optimizer, block
        self.numbers = Numbers(optimizer.rule.compiled, optimizer.keywords(block.group, {}, 1))
        self.values = np.empty(0)
        self.settings = empty(self.numbers.values(self._given()).shape, np.float64)
        self.control = empty((2 + self.numbers.count,), np.float32)
        self.names = optimizer.needed(block.group)

    def _given(self):
        return self.optimizer.keywords(self.block.group, {}, 1)

    def refresh(self):
        """Bring the group's settings to the device if they have changed, as a learning rate has."""
        values = self.numbers.values(self._given())
        if not np.array_equal(values, self.values):
            self.settings[...] = to_device(values)
            self.values = values


class Outcome:
    """What a step did, as it is in the GPU's memory: read when it is asked for."""

    def __init__(self, memory):
        self.owner, self.state, self.flags = memory.owner, memory.state.copy(), memory.flags.copy()

    def copied(self) -> "Outcome":
        """The same in memory of its own."""
        new = object.__new__(Outcome)
        new.owner, new.state, new.flags = self.owner, self.state.copy(), self.flags.copy()
        return new

    @property
    def scale(self) -> float:
        """The loss scale of the gradients that the step used. Waits for the device."""
        return float(to_host(self.state)[4])

    def read(self) -> dict[str, Any]:
        """The fields of a StepResult. Waits for the device."""
        values, flags = to_host(self.state), to_host(self.flags)
        each = tuple(bool(v) for v in values[FIRST::EACH])
        culprits = tuple(
            name_of(p, i) for i, (p, flag) in enumerate(zip(self.owner.parameters, flags)) if flag
        )
        reason = "the gradient of " + ", ".join(culprits) + " is not finite"
        return {
            "stepped": all(each),
            "reason": None if all(each) else reason,
            "scale_before": float(values[4]),
            "scale_after": float(values[0]),
            "grad_norm": float(values[5]),
            "parameters": culprits,
            "each": each,
        }


def memory_of(owner: Any) -> StepMemory | None:
    """The memory of a MixedOptimizer's steps, made at its first; None where `fits` is False, which
    is asked again when something has changed."""
    key = [type(owner.loss_scale), bool(kernels.observers)]
    for o in owner.optimizers:
        for block in o.blocks:
            if not is_on_device(block.weights.flat):
                block.weights.check_formats()  # which were moved since
            alike = block.steps.count(block.steps[0]) == len(block.steps)
            key += [id(block), alike, *block.state]
    if key != owner._asked:
        if not fits(owner):
            owner._memory_there = None
        elif owner._memory is None:
            owner._memory = owner._memory_there = StepMemory(owner)
            for o in owner.optimizers:
                o.settle = owner._memory.settle
        else:
            owner._memory_there = owner._memory
        owner._asked = key
    return owner._memory_there


def fits(owner: Any) -> bool:
    """Whether a MixedOptimizer can step on the device: its parameters are there, all of a block in
    one format, and its rules and its loss scale are those that there are kernels for."""
    known = StaticLossScale, DynamicLossScale, NoLossScale
    return type(owner.loss_scale) in known and all(map(is_known, owner.optimizers))


def is_known(o):
    """Whether there are kernels for an optimizer's update."""
    if o.rule is None or type(o).update is not Optimizer.update or o.alone or o.numbers:
        return False
    if not all(is_on_device(p.array) for p in o.parameters) or kernels.observers:
        return False
    for block in o.blocks:
        formats = {block.weights.flat.dtype, *(a.dtype for a in block.state.values())}
        alike = block.steps.count(block.steps[0]) == len(block.steps)
        if not formats <= FLOATS or not alike or not hasattr(o.rule.compiled, "numbers"):
            return False
        try:
            Plan(o, block)
        except DeviceError:
            return False
    return True
