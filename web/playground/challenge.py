"""What a program of the playground did, and whether that is what its challenge asks.

A challenge's check is a function check(run) that returns what is still wrong, in a sentence, or
None. It looks at the Run: what the program's names hold and what its optimizers did, not at what it
printed. scripts/website/programs.py says how a challenge's file is written.
"""

import io
import math
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from minifp.numerics.formats import upcast
from minifp.training import mixed

FILE = "check.py"  # which tracebacks name


@dataclass
class Training:
    """The steps of one MixedOptimizer: `losses` (as they are, without S), `results` (StepResults),
    and `lost`: of the weights whose gradient was not 0, the share that a step left as they were."""

    optimizer: Any
    losses: list[float] = field(default_factory=list)
    results: list = field(default_factory=list)
    lost: list[float] = field(default_factory=list)

    @property
    def precision(self):
        return self.optimizer.precision

    @property
    def lr(self):
        return self.optimizer.param_groups[0]["lr"]

    @property
    def scales(self):
        """The loss scale of each step."""
        return [result.scale_before for result in self.results]

    @property
    def skipped(self):
        """Which steps were skipped, the first being 0."""
        return [n for n, result in enumerate(self.results) if result.skipped]

    @property
    def loss(self):
        """The mean of the last ten losses."""
        last = self.losses[-10:]
        return sum(last) / len(last) if last else math.nan

    def used(self):
        """What a challenge may ask to be left alone: rule, learning rate, dial, steps."""
        rule = type(self.optimizer.optimizer).__name__
        return rule, self.lr, self.optimizer.dial, len(self.results)


class Run:
    """What a program did: `names`, what its names hold at its end; `trainings`, one for each
    MixedOptimizer that made a step, in order; `error`, the TrainingError that ended it, or None."""

    def __init__(self, names):
        self.names = names
        self.error = None
        self.trainings = []
        self._before = []

    @contextmanager
    def observed(self):
        """Look at what optimizers do within."""
        mixed.observers.append(self)
        try:
            yield
        finally:
            mixed.observers.remove(self)

    def training_of(self, optimizer):
        for training in self.trainings:
            if training.optimizer is optimizer:
                return training
        self.trainings.append(Training(optimizer))
        return self.trainings[-1]

    def on_update(self, optimizer, gradients, factor):
        self._before = [
            (p, stored(p).copy(), stored(p.grad) != 0)
            for p in optimizer.parameters
            if p.grad is not None
        ]

    def on_step(self, optimizer, result):
        training = self.training_of(optimizer)
        losses = [float(recorded.loss) for recorded in optimizer.backwards]
        training.losses.append(sum(losses) / len(losses) if losses else math.nan)
        training.results.append(result)
        if result.stepped and self._before:
            wanted = sum(int(is_wanted.sum()) for *_, is_wanted in self._before)
            same = [is_wanted & (stored(p) == before) for p, before, is_wanted in self._before]
            lost = sum(int(those.sum()) for those in same)
            training.lost.append(lost / wanted if wanted else math.nan)
        self._before = []


def stored(tensor):
    """The numbers of a tensor as they are stored, in float32."""
    return upcast(tensor.array, np.float32)


def judged(source, run):
    """Whether a challenge is passed, and a sentence: what is still wrong, or what it shows."""
    names = {"__name__": "check"}
    exec(compile(source, FILE, "exec"), names)
    try:
        with redirect_stdout(io.StringIO()):  # a check may call what the program defines
            wrong = names["check"](run)
    except Exception as error:
        wrong = (
            f"The check could not read what the program left ({type(error).__name__}: {error}). "
            "Start again brings the program back."
        )
    return wrong is None, names["SHOWS"] if wrong is None else wrong
