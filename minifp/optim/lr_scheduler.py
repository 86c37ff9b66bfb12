"""Learning rates as closed forms of the number of steps (or epochs) that succeeded.

Call `scheduler.step()` once after each `optimizer.step()`, or once an epoch. A step that was
skipped does not advance it; an epoch always does.
"""

import math

from minifp.errors import ArgumentError
from minifp.optim.optimizer import check_range


class LRScheduler:
    """The base: a subclass defines `rate(base, count)`. optimizer: a plain or MixedOptimizer."""

    def __init__(self, optimizer):
        self.optimizers = getattr(optimizer, "optimizers", [optimizer])
        self.base_lrs = [[group["lr"] for group in o.param_groups] for o in self.optimizers]
        self.count = 0
        self._seen = self._progress()
        self._set()

    def rate(self, base, count):
        """The learning rate after `count` steps, of a group that began with `base`."""
        raise ArgumentError(f"{type(self).__name__} does not define rate()")

    def _progress(self):
        return sum(o.attempts for o in self.optimizers), sum(o.steps for o in self.optimizers)

    def step(self):
        """Advance by one, unless all that happened since was one skipped step."""
        attempts, steps = (new - old for new, old in zip(self._progress(), self._seen))
        self._seen = self._progress()
        if not (steps == 0 and attempts == len(self.optimizers)):
            self.count += 1
        self._set()

    def _set(self):
        for optimizer, bases in zip(self.optimizers, self.base_lrs):
            for group, base in zip(optimizer.param_groups, bases):
                group["lr"] = self.rate(base, self.count)

    def get_last_lr(self):
        """The learning rate of each group."""
        return [group["lr"] for o in self.optimizers for group in o.param_groups]

    def state_dict(self):
        """The count and the rates it began with."""
        base_lrs = [list(rates) for rates in self.base_lrs]
        return {"count": self.count, "base_lrs": base_lrs, "seen": list(self._seen)}

    def load_state_dict(self, state_dict):
        """Continue where a state_dict was taken. Raises ArgumentError for one that does not fit."""
        expected, sizes = set(self.state_dict()), [len(rates) for rates in self.base_lrs]
        if set(state_dict) != expected or [len(r) for r in state_dict["base_lrs"]] != sizes:
            raise ArgumentError(
                f"{type(self).__name__}: state {dict(state_dict)!r}, expected {sorted(expected)} "
                f"and rates for groups {sizes}"
            )
        self.count, self._seen = state_dict["count"], tuple(state_dict["seen"])
        self.base_lrs = [list(rates) for rates in state_dict["base_lrs"]]
        self._set()


def _at_least_one(name, value):
    if not isinstance(value, int) or value < 1:
        raise ArgumentError(f"{name}={value!r}: expected a positive integer")


class CosineAnnealingLR(LRScheduler):
    """eta_min + (base - eta_min) (1 + cos(pi count / T_max)) / 2 (Loshchilov and Hutter 2017)."""

    def __init__(self, optimizer, T_max, eta_min=0.0):
        _at_least_one("T_max", T_max)
        check_range("eta_min", eta_min)
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer)

    def rate(self, base, count):
        """The cosine between base and eta_min."""
        return (
            self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * count / self.T_max)) / 2
        )


class LinearLR(LRScheduler):
    """A linear warm-up: base times a factor that goes from start_factor to end_factor."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5):
        check_range("start_factor", start_factor, high=1.0)
        check_range("end_factor", end_factor, high=1.0)
        _at_least_one("total_iters", total_iters)
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer)

    def rate(self, base, count):
        """The line between the two factors; constant after total_iters."""
        done = min(count, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * done)


class SequentialLR(LRScheduler):
    """One scheduler after the other; each begins to count at its milestone."""

    def __init__(self, optimizer, schedulers, milestones):
        if len(schedulers) != len(milestones) + 1 or sorted(set(milestones)) != list(milestones):
            raise ArgumentError(
                f"{len(schedulers)} schedulers with milestones {milestones}: expected one "
                "milestone less than schedulers, ascending"
            )
        self.schedulers, self.milestones = schedulers, milestones
        first = schedulers[0]
        for optimizer_, bases in zip(first.optimizers, first.base_lrs):
            for group, base in zip(optimizer_.param_groups, bases):
                group["lr"] = base
        super().__init__(optimizer)

    def rate(self, base, count):
        """That of the scheduler whose turn it is."""
        turn = sum(count >= m for m in self.milestones)
        return self.schedulers[turn].rate(base, count - ([0, *self.milestones])[turn])
