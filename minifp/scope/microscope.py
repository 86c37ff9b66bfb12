"""The microscope: watches some of the steps of a training run, at a cost one can afford.

Between the steps it looks at, it only counts them. It changes no number.
"""

import math
from typing import Any

import numpy as np

from minifp.checks import check_count, check_flag
from minifp.errors import ArgumentError
from minifp.scope.checks import check_training
from minifp.scope.details import of_memory, of_step
from minifp.scope.findings import Findings
from minifp.scope.live import Live
from minifp.scope.memory.ledger import MemoryLedger
from minifp.scope.misuse.guard import Guard
from minifp.scope.observed import ObservedStep
from minifp.scope.record import FORMAT_IN_PRODUCTS
from minifp.scope.watching import Watch
from minifp.training import mixed
from minifp.training.mixed import MixedOptimizer


class Microscope(Findings):
    """What `fp.microscope` returns: use it in a `with` block around training; see Findings."""

    def __init__(
        self, model: Any, optimizer: Any, every: int = 20, *, details: int | None = None,
        live: bool = False, progress: bool = True,
    ) -> None:  # fmt: skip
        check_training("microscope", model, optimizer)
        self.model, self.optimizer = model, optimizer
        self.every = check_count("every", every)
        super().__init__(about_run(model, optimizer, self.every))
        self.guard = Guard(model, optimizer)
        self.warnings = self.guard.texts
        self.watch: Watch | None = None
        self.due = None if details is None else check_count("details", details)
        self.ledger: MemoryLedger | None = None
        check_flag("live", live)
        check_flag("progress", progress)
        self.progress = progress
        self.live = Live(self) if live else None

    def __enter__(self) -> "Microscope":
        if self in mixed.observers:
            raise ArgumentError("microscope: already in use: leave it first, or use another one")
        mixed.observers.append(self)
        try:
            self.guard.checks_at_start()
            self._look()
            self._look_closely()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._look_away()
        if self.ledger is not None:
            self.ledger.finish()
        if self in mixed.observers:
            mixed.observers.remove(self)
        self.guard.close()
        if self.live is not None:
            self.live.follow(last=True)

    def _look(self):
        step = ObservedStep(self.count + 1, dial=self.optimizer.dial)
        self.watch = Watch(self.model, step, self.optimizer.parameters)
        self.watch.begin()
        self.guard.look()

    def _look_closely(self):
        """From the step on whose details are wanted, until there is one that is not skipped."""
        if self.due is not None and self.count + 1 >= self.due:
            self.ledger = MemoryLedger(self.model, self.optimizer, float32=True)
            self.ledger.begin()
            mixed.observers.remove(self.ledger)  # which is told what this one is told, before it

    def _look_away(self):
        if self.watch is not None:
            self.watch.end()
        self.watch = None
        self.guard.look_away()

    def on_update(self, optimizer: Any, gradients: list, factor: float) -> None:
        """Called by a MixedOptimizer that is about to change weights."""
        self.guard.on_update(optimizer, gradients, factor)
        if optimizer is self.optimizer and self.ledger is not None and optimizer.backwards:
            self.ledger.on_update(optimizer, gradients, factor)
            last = optimizer.backwards[-1]
            seed = math.ldexp(last.scale or optimizer.scale, -optimizer.dial)
            if last.known:
                self.details = {"step": self.count + 1, **of_step(last, seed, self.progress)}
        if optimizer is self.optimizer and self.watch is not None:
            self.watch.before_update(optimizer, gradients, factor)

    def on_step(self, optimizer: Any, result: Any) -> None:
        """Called by a MixedOptimizer after each step."""
        self.guard.on_step(optimizer, result)
        if optimizer is not self.optimizer:
            return
        self.scales.append(scale_of(optimizer, result))
        self.skipped.append(result.skipped)
        if result.diagnosis is not None:
            self.diagnoses.append({"step": self.count, **diagnosis_data(result.diagnosis)})
        if self.watch is not None:
            self._finish(self.watch, result)
        if self.ledger is not None:
            self.ledger.on_step(optimizer, result)
            self._finish_details(self.ledger)
            self.ledger = None
        if self.count % self.every == 0:
            self._look()
        self._look_closely()

    def _finish_details(self, ledger):
        ledger.finish()
        if self.details:  # the step was not skipped
            self.details["memory"] = of_memory(ledger, self.details.get("batch"))
            self.due = None

    def _finish(self, watch, result):
        step = watch.settle(result, self.scales[-1])
        step.stepped, step.reason, step.grad_norm = result.stepped, result.reason, result.grad_norm
        step.rates = [float(group["lr"]) for group in self.optimizer.param_groups]
        self.steps.append(step)
        self._look_away()
        if self.live is not None:
            self.live.follow()


def scale_of(optimizer: MixedOptimizer, result: Any) -> float:
    """The loss scale in the gradients of a step: that of the optimizer's last backward, or where
    others made them what they were multiplied by."""
    if optimizer.backwards:
        return optimizer.backwards[-1].scale or result.scale_before
    seed = optimizer.last_seed
    is_known = isinstance(seed, (int, float, np.number))
    return math.ldexp(abs(float(seed)), optimizer.dial) if is_known else result.scale_before


def diagnosis_data(diagnosis: Any) -> dict:
    """A Diagnosis as a file keeps it."""
    names = "phase", "operation", "module", "line", "persists"
    return {**{name: getattr(diagnosis, name) for name in names}, "text": str(diagnosis)}


def about_run(model: Any, optimizer: MixedOptimizer, every: int) -> dict[str, Any]:
    """What is looked at, in words."""
    inner = ", ".join(type(o).__name__ for o in optimizer.optimizers)
    rounded = optimizer.precision  # to what gradients are rounded without a scale of their own
    entering = rounded.gradient_operands if rounded.operand_scale is None else None
    return {
        "model": type(model).__name__,
        "parameters": sum(p.array.size for p in model.parameters()),
        "precision": str(optimizer.precision),
        "optimizer": inner,
        "master weights": "on" if optimizer.master_weights else "off",
        **({FORMAT_IN_PRODUCTS: entering} if entering else {}),
        "loss scale": type(optimizer.loss_scale).__name__,
        "exponent dial": optimizer.dial,
        "looked at": f"every {every} steps",
    }


def microscope(
    model: Any, optimizer: Any, every: int = 20, *, details: int | None = None, live: bool = False,
    progress: bool = True,
) -> Microscope:  # fmt: skip
    """Observe every N-th step of a training run.

        with fp.microscope(model, optimizer, every=20) as scope:
            ...train...
        scope.report("scope.html")

    model: the Module that is trained. optimizer: its MixedOptimizer. every: the observed steps: the
    first, and every N-th after it. details: the number of a step, from 1 on, that is also repeated
    some tens of times, for reference runs in float32 and float64, its precision trace, its memory
    and advice on hardware; None for no such step. live: in a notebook, a picture that follows
    training. progress: whether to show a bar while details are computed. Raises ArgumentError for
    invalid values.
    """
    return Microscope(model, optimizer, every, details=details, live=live, progress=progress)
