"""What is trained: the models, their optimizers with loss scales, and the schedules of their rates.

A task builds one of each, or several by name, as a GAN has; here they are dicts by name, in which
one alone has the name "".
"""

import math
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from minifp.autograd.grad_mode import no_grad
from minifp.errors import ArgumentError
from minifp.nn import Module
from minifp.nn.assign_precision import assign_precision
from minifp.optim import Optimizer
from minifp.runtime import random
from minifp.training import mixed
from minifp.training.mixed import MixedOptimizer


class State:
    """What the `step` and the `evaluate` of a task work on.

    model: what the task's `model` built: a Module, or a dict of them. optimizer: a MixedOptimizer
    around each optimizer that the task built, one or a dict as the task has it; where it built a
    list, one around all of them, on one scale. epoch: the number of the epoch under way; steps: how
    many were begun, this one included. trains: whether optimizers are built; to judge models they
    are not needed, nor are masters.
    """

    def __init__(self, task, arm, seed: int, trains: bool = True) -> None:
        self.task, self.epoch, self.steps = task, 0, 0
        self.model = task.model()
        self.models = named(task, "model", self.model, Module)
        assign_precision(self.models)
        arm.disturb(self.models, seed)
        self.plain, together = self._optimizers() if trains else ({}, {})
        self.optimizers = {
            name: MixedOptimizer(o, dial=task.dial, clip_norm=task.clip_norm, skip=task.skip)
            for name, o in together.items()
        }
        self.optimizer: Any = self.optimizers.get("", self.optimizers)
        self.schedulers: dict = {}

    def _optimizers(self):
        """Those that the task builds, by name; and what each MixedOptimizer is around."""
        alone = "" in self.models
        optimizers = self.task.optimizer(self.model.parameters() if alone else self.model)
        on_one_scale = isinstance(optimizers, (list, tuple))
        optimizers = {str(i): o for i, o in enumerate(optimizers)} if on_one_scale else optimizers
        plain = named(self.task, "optimizer", optimizers, Optimizer)
        return plain, {"": [*plain.values()]} if on_one_scale else plain

    def schedule(self, length: int) -> None:
        """Make the schedules, of so many steps or epochs."""
        if self.task.schedule is not None:
            schedules = self.task.schedule(self.plain.get("", self.plain), length)
            self.schedulers = dict(schedules) if isinstance(schedules, Mapping) else {"": schedules}

    def advance(self, stepped: set[str]) -> None:
        """Let the schedules of the optimizers that stepped go on."""
        for name, scheduler in self.schedulers.items():
            if name in stepped or (name not in self.optimizers and stepped):
                scheduler.step()

    def parts(self) -> dict:
        """What has a state, by the names that `fp.save` and `fp.load` have for it."""
        kinds = {"model": self.models, "optimizer": self.optimizers, "scheduler": self.schedulers}
        return {kind: parts.get("", parts) for kind, parts in kinds.items() if parts}

    def weights(self) -> dict[str, dict]:
        """Unrounded weights, and buffers, by name, of each model by its name."""
        return {
            name: {path: t.array for path, t in model.state_dict().items()}
            for name, model in self.models.items()
        }

    def forget_unrounded(self) -> None:
        """Keep of the weights what is stored alone: no optimizer needs the numbers behind it."""
        for parameter in self.parameters():
            parameter.storage.unrounded = None

    # ---- all models together, as one

    def parameters(self) -> list:
        """Those of all models."""
        return list(chain.from_iterable(m.parameters() for m in self.models.values()))

    def buffers(self) -> list:
        """Those of all models."""
        return list(chain.from_iterable(m.buffers() for m in self.models.values()))

    def memory(self) -> dict[str, int]:
        """Bytes held by all optimizers, by kind."""
        held: Counter = Counter()
        for optimizer in self.optimizers.values():
            held.update(optimizer.memory())
        return dict(held)

    @contextmanager
    def evaluating(self):
        """Within, models are in evaluation mode, nothing is recorded, and no random number that is
        drawn changes those of training."""
        modes = {name: model.training for name, model in self.models.items()}
        drawn = random.get_state()
        try:
            with no_grad():
                for model in self.models.values():
                    model.eval()
                yield
        finally:
            random.set_state(drawn)
            for name, model in self.models.items():
                model.train(modes[name])


def named(task, field, objects, kind) -> dict:
    """What a task built, by name. Raises ArgumentError for what is not of its kind."""
    is_one = isinstance(objects, kind) or not isinstance(objects, Mapping)
    by_name = {"": objects} if is_one else dict(objects)
    wrong = [what for what in by_name.values() if not isinstance(what, kind)]
    if wrong or not by_name:
        kinds = type(wrong[0]).__name__ if wrong else "nothing"
        raise ArgumentError(
            f"task {task.name!r}: {field} built {kinds}, expected a {kind.__name__}, or a dict of "
            f"them by name"
        )
    return by_name


# ---- the results of a step of your own ----------------------------------------------------------


class Results:
    """An observer of MixedOptimizers: what those of a state did within one step."""

    def __init__(self, state: State) -> None:
        self.names = {id(o): name for name, o in state.optimizers.items()}
        self.first = next(iter(state.optimizers.values()))
        self.scale = self.first.scale
        self.found: list[tuple[str, Any]] = []

    def on_update(self, optimizer, gradients, factor) -> None:
        """An update begins: nothing to note."""

    def on_step(self, optimizer, result) -> None:
        """An optimizer has stepped, or skipped."""
        if id(optimizer) in self.names:
            self.found.append((self.names[id(optimizer)], result))

    @property
    def stepped(self) -> bool:
        """Whether no update was skipped."""
        return all(result.stepped for _, result in self.found)

    @property
    def by_name(self) -> set[str]:
        """The names of the optimizers that stepped."""
        return {name for name, result in self.found if result.stepped}

    @property
    def grad_norm(self) -> float:
        """The norm of the gradients of all updates; NaN where there was none."""
        norms = [result.grad_norm for _, result in self.found]
        return math.hypot(*norms) if norms else math.nan

    @property
    def scale_before(self) -> float:
        """The loss scale of the first optimizer, before the step."""
        return self.scale


@contextmanager
def results_of(state: State):
    """Note what the optimizers of a state do within."""
    results = Results(state)
    mixed.observers.append(results)
    try:
        yield results
    finally:
        mixed.observers.remove(results)
