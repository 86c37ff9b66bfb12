"""Glances at whatever trains: the four histograms of a step now and then, without a model, at a
share of the time that one can afford. The playground shows them; nothing is kept.
"""

import math
from collections.abc import Callable
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

from minifp.scope.histogram import Histogram
from minifp.scope.observed import GRADIENTS, KINDS, ObservedStep
from minifp.scope.page.figures import TITLES
from minifp.scope.page.lens import LEAST, MOST
from minifp.scope.record import Record
from minifp.scope.watching import Watch
from minifp.scope.what_if import LOSSES

SHARE = 0.1  # of the time, at most, for steps that are looked at
PATIENCE = 8  # steps of other optimizers after which one is not waited for


class Glances:
    """An observer of optimizers (for `mixed.observers`): looks at some steps of each.

    tell: called as tell(optimizer, data) after each step that was looked at; see `data_of`. The
    first step of a run is not: only it says which optimizer trains.
    """

    def __init__(self, tell: Callable[[Any, dict], None]) -> None:
        self.tell = tell
        self.counts: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # steps each has made
        self.watch: Watch | None = None
        self.of: Any = None  # the optimizer that is watched
        self.waited, self.began, self.due = 0, 0.0, 0.0

    def on_update(self, optimizer: Any, gradients: list, factor: float) -> None:
        """Called by a MixedOptimizer that is about to change weights."""
        if optimizer is self.of and self.watch is not None:
            self.watch.before_update(optimizer, gradients, factor)

    def on_step(self, optimizer: Any, result: Any) -> None:
        """Called by a MixedOptimizer after each step."""
        count = self.counts[optimizer] = self.counts.get(optimizer, 0) + 1
        if optimizer is self.of and self.watch is not None:
            self._finish(self.watch, optimizer, result)
        elif self.of is not None:
            self.waited += 1
            if self.waited >= PATIENCE:
                self.close()
        if self.of is None and perf_counter() >= self.due:
            self._look(optimizer, count + 1)

    def close(self) -> None:
        """Look away."""
        if self.watch is not None:
            self.watch.end()
        self.watch = self.of = None

    def _look(self, optimizer, number):
        self.of, self.waited, self.began = optimizer, 0, perf_counter()
        step = ObservedStep(number, dial=optimizer.dial)
        self.watch = Watch(None, step, optimizer.parameters)
        self.watch.begin()

    def _finish(self, watch, optimizer, result):
        step = watch.settle(result, result.scale_before)
        self.close()
        self.tell(optimizer, data_of(step))
        took = perf_counter() - self.began
        self.due = perf_counter() + took * (1 / SHARE - 1)


def data_of(step: ObservedStep) -> dict[str, Any]:
    """A step in plain numbers: its number, log2 of its loss scale, the updates that were wanted and
    those that were lost, and of each of KINDS what `kind_data` says."""
    record = Record(steps=[step])
    updates = step.updates.values()
    counts = {"wanted": sum(u.wanted for u in updates), "lost": sum(u.lost for u in updates)}
    counts["alone"] = sum(u.number("float16") for u in updates)
    kinds = [kind_data(record, kind) for kind in KINDS]
    return {"step": step.step, "shift": step.shift, "updates": counts, "kinds": kinds}


def kind_data(record: Record, kind: str) -> dict[str, Any]:
    """Where the numbers of a kind lie, as they are stored, and how many its format would lose.

    lowest, counts: how many lie in each power of two, from 2^lowest on. losses: of each way to be
    lost the counts, for the loss scales 2^first, ... 2^last (of gradients; else as it is).
    """
    h, format = record.total(kind), record.format_of(kind)
    of_gradients = kind in GRADIENTS
    shift = record.steps[0].shift
    scales = range(LEAST, MOST + 1) if of_gradients else range(shift, shift + 1)
    data = {"title": TITLES[kind], "gradient": of_gradients, "first": scales[0]}
    data |= {"total": h.total, "zeros": h.zeros, "broken": h.infs + h.nans, "nonzero": h.nonzero}
    data |= {"lowest": h.lowest, "counts": h.counts.sum(axis=1).tolist()}
    data["format"] = {"name": format.name, **window(format)}
    data["losses"] = losses(h, format, [k - shift for k in scales])
    return data


def window(format: Any) -> dict[str, float]:
    """log2 of a format's smallest number, of its smallest normal one and of its largest."""
    ends = {"smallest": format.smallest_subnormal, "normal": format.smallest_normal}
    logs = {name: math.log2(end) for name, end in {**ends, "max": format.max}.items()}
    return {**logs, "largest": format.max}


def losses(h: Histogram, format: Any, shifts: list[int]) -> dict[str, list[int]]:
    """How many numbers would be lost, in each way, multiplied by 2 to each of these."""
    return {name: [count(h, shift, format) for shift in shifts] for name, count in LOSSES.items()}
