"""LRScheduler: what is common to all schedules: counting, setting rates, saving."""

import copy
import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from minifp.checks import check_count, check_range
from minifp.errors import ArgumentError
from minifp.optim.optimizer import Optimizer
from minifp.runtime.callers import warn_once


class AnyOptimizer(Protocol):
    """An Optimizer, or a MixedOptimizer around some."""

    @property
    def param_groups(self) -> list[dict[str, Any]]: ...


Owner: TypeAlias = AnyOptimizer  # of the rates that a schedule sets


def plain(value):
    """A number, a text or a list of them as Python's own."""
    return np.asarray(value).tolist()


BOOKKEEPING = ("optimizer", "optimizers", "count", "_seen", "base_lrs", "schedulers")


def is_plain(value):
    """Whether a value is None, a number or a text, or a list of them."""
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


class LRScheduler:
    """The base: a subclass defines `rate(base, count, i)`, or `get_lr()` as in PyTorch: see
    docs/operations.md. optimizer: a plain or MixedOptimizer.

    arguments: the settings, attributes by the names of the constructor's arguments; they are saved.
    base_lrs: the rate of each group before any scheduler changed it. count: of the steps so far,
    `last_epoch` in PyTorch. `step()` goes on by one, `step(epoch)` to that count, which is whole
    but for CosineAnnealingWarmRestarts.

    One scheduler sets the rates of an optimizer; several are joined by SequentialLR or
    ChainedScheduler. Unlike in PyTorch, stepping them in turn is an error, because each would undo
    what the other did. To continue where training stopped, use load_state_dict (last_epoch is -1).
    """

    arguments: tuple[str, ...] = ()
    schedulers: "Sequence[LRScheduler]" = ()
    takes_fractions = False  # whether a count may be one, as part of an epoch
    combines = True  # whether it may be one of the schedulers of SequentialLR and ChainedScheduler

    def __init__(self, optimizer: AnyOptimizer, last_epoch: int = -1) -> None:
        kind = type(self).__name__
        if last_epoch != -1:
            raise ArgumentError(
                f"{kind}: last_epoch={last_epoch!r}, expected -1: to continue, create the "
                "scheduler as at first and call load_state_dict(state)"
            )
        self.optimizer = optimizer
        self.optimizers = list(getattr(optimizer, "optimizers", [optimizer]))
        is_one = hasattr(optimizer, "param_groups")
        if not is_one or not all(isinstance(o, Optimizer) for o in self.optimizers):
            raise ArgumentError(
                f"{kind}: expected an Optimizer or a MixedOptimizer, got a "
                f"{type(optimizer).__name__}"
            )
        self.count, self._seen = 0, self._progress()
        self.check()
        self.base_lrs = self._initial_lrs()
        for group, base in zip(self.groups, self.base_lrs):
            group["initial_lr"] = base  # where PyTorch's schedules keep it
        if self._defines("get_lr") and self._defines("step"):
            self.count = -1
            self.step()  # as the constructor of PyTorch's base does
        else:
            self._set(self._values(0))

    def check(self) -> None:
        """Raise ArgumentError for a setting that is not allowed."""

    def rate(self, base: float, count: int, i: int) -> float:
        """The learning rate after `count` steps, of group number i, which began with `base`."""
        raise ArgumentError(f"{type(self).__name__} defines neither rate() nor get_lr()")

    def get_lr(self) -> list[float]:
        """The rate of each group after `self.count` steps. A subclass that defines it, as PyTorch's
        do, may read `last_epoch`, `base_lrs`, and the rates that the groups have."""
        return [self.values(i, self.count)["lr"] for i in range(len(self.base_lrs))]

    def _defines(self, name):
        """Whether a subclass, of your own, defines a method of PyTorch's by itself."""
        return getattr(type(self), name) is not getattr(LRScheduler, name)

    def chained(self, rate: float, base: float, count: int, i: int) -> float:
        """The rate after `count` steps in a chain, where those before it have made it `rate`."""
        return self.rate(base, count, i)

    def values(self, i: int, count: int) -> dict[str, Any]:
        """The settings of group number i after `count` steps."""
        return {"lr": self.rate(self.base_lrs[i], count, i)}

    # ---- the optimizers' groups ----

    @property
    def groups(self) -> list[dict[str, Any]]:
        """The groups of all optimizers."""
        return [group for o in self.optimizers for group in o.param_groups]

    def _numbered(self):
        return [(o, n) for o in self.optimizers for n in range(len(o.param_groups))]

    def _initial_lrs(self):
        """The rate of each group before a scheduler changed it: `Optimizer.scheduled` has, by the
        group's number, what a scheduler set and with what it began."""
        found = []
        for (o, n), group in zip(self._numbered(), self.groups):
            last, initial = o.scheduled.get(n, (None, None))
            found.append(initial if group["lr"] == last else group["lr"])
        return found

    def _values(self, count):
        if len(self.groups) != len(self.base_lrs):
            raise ArgumentError(
                f"{type(self).__name__}: the optimizer has {len(self.groups)} groups, and had "
                f"{len(self.base_lrs)} when the scheduler was created: create a new one"
            )
        if self._defines("get_lr"):
            return [{"lr": rate} for rate in self._own_rates(count)]
        return [self.values(i, count) for i in range(len(self.base_lrs))]

    def _own_rates(self, count):
        before, self.count = self.count, count
        try:
            rates = self.get_lr()
        finally:
            self.count = before
        return self._checked_rates("get_lr()", rates)

    def _checked_rates(self, name, rates):
        kind = type(self).__name__
        if not isinstance(rates, (list, tuple)) or len(rates) != len(self.groups):
            raise ArgumentError(
                f"{kind}: {name}={rates!r}: expected a rate for each of {len(self.groups)} groups"
            )
        for rate in rates:
            check_range(f"{kind}: a rate of {name}", rate)
        return list(rates)

    def _set(self, values):
        places = zip(self._numbered(), self.groups, self.base_lrs, values)
        for (o, n), group, base, new in places:
            group.update(new)
            o.scheduled[n] = new["lr"], base

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group."""
        return [group["lr"] for group in self.groups]

    @property
    def last_epoch(self) -> Any:
        """The count, by PyTorch's name."""
        return math.floor(self.count)

    @last_epoch.setter
    def last_epoch(self, count: Any) -> None:
        self.count = count

    # ---- steps ----

    def _progress(self):
        return sum(o.attempts for o in self.optimizers), sum(o.steps for o in self.optimizers)

    def step(self, epoch: float | None = None) -> None:
        """Advance by one, unless all that happened since was one skipped step.

        Warns, once, of a first step before the optimizer's. Raises ArgumentError, with nothing
        changed, if another scheduler has taken over since.
        """
        if epoch is not None:
            return self._go_to(epoch)
        self._check_turn()
        progress = self._progress()
        count = self.count + (not self._skipped(progress))
        values = self._values(count)
        if self.count == 0 and progress == (0, 0):
            warn_once(
                "schedule first",
                f"{type(self).__name__}.step() before optimizer.step(): the first rate of the "
                "schedule is never used. Step the optimizer first, then the schedule",
                owner=self,
            )
        self.count, self._seen = count, progress
        self._set(values)

    def _go_to(self, epoch):
        name = f"{type(self).__name__}.step: epoch"
        if self.takes_fractions:
            check_range(name, epoch)
        else:
            check_count(name, epoch, least=0)
        self._check_turn()
        values = self._values(epoch)
        self.count, self._seen = plain(epoch), self._progress()
        self._set(values)

    def _skipped(self, progress):
        attempts, steps = (new - old for new, old in zip(progress, self._seen))
        return steps == 0 and attempts == len(self.optimizers)

    def _check_turn(self):
        """`Optimizer.schedulers` are those that have stepped, in the order of their first step."""
        for o in self.optimizers:
            if self in o.schedulers[:-1]:
                raise ArgumentError(
                    f"{type(self).__name__}.step() after steps of another scheduler, a "
                    f"{type(o.schedulers[-1]).__name__}, on the same optimizer: each sets the "
                    "rate by its own count; join them with SequentialLR or ChainedScheduler"
                )
        for o in self.optimizers:
            if self not in o.schedulers:
                o.schedulers.append(self)

    # ---- state ----

    def described(self) -> dict[str, Any]:
        """The kind and the settings, of those it joins too."""
        return {
            "kind": type(self).__name__,
            "settings": {name: plain(getattr(self, name)) for name in self._settings()},
            "schedulers": [s.described() for s in self.schedulers],
        }

    def _settings(self):
        """The names of what is saved: of a subclass with a get_lr() of its own all plain values
        that it keeps, as in PyTorch."""
        if not self._defines("get_lr"):
            return self.arguments
        return [n for n, v in vars(self).items() if n not in BOOKKEEPING and is_plain(v)]

    def state_dict(self) -> dict[str, Any]:
        """Kind, settings, count, and the rates it began with. Functions are not in it."""
        state = {"count": self.count, "base_lrs": plain(self.base_lrs), "seen": list(self._seen)}
        state |= {"lrs": plain(self.get_last_lr())} if self._defines("get_lr") else {}
        return {**self.described(), **state}

    def check_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Raise ArgumentError, saying what does not fit, for what load_state_dict would refuse."""
        self._restored(state_dict)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue where a state_dict was taken, with its settings, and set the rates.

        Raises ArgumentError, with nothing changed, for one that does not fit.
        """
        new, values = self._restored(state_dict)
        self._become(new)
        self._set(values)

    def _restored(self, state):
        """A scheduler as it was when `state` was taken, and the settings of groups it then set."""
        kind, expected = type(self).__name__, self.state_dict()
        if not isinstance(state, dict) or set(state) != set(expected):
            given = sorted(state, key=str) if isinstance(state, dict) else type(state).__name__
            raise ArgumentError(f"{kind}: state of {given}, expected {sorted(expected)}")
        new = self._redescribed({name: state[name] for name in self.described()})
        if self.takes_fractions:
            check_range(f"{kind}: count", state["count"])
        else:
            check_count(f"{kind}: count", state["count"], least=0)
        new.count, seen = plain(state["count"]), state["seen"]
        if not isinstance(seen, (list, tuple)) or len(seen) != 2:
            raise ArgumentError(f"{kind}: seen={seen!r}: expected two counts")
        new.base_lrs = self._checked_rates("base_lrs", state["base_lrs"])
        new._seen = tuple(check_count(f"{kind}: seen", n, least=0) for n in seen)
        return new, new._restored_values(state)

    def _restored_values(self, state):
        if self._defines("get_lr"):  # whose rates may follow from the rates before
            return [{"lr": rate} for rate in self._checked_rates("lrs", state["lrs"])]
        return self._values(self.count)

    def _redescribed(self, given):
        """A copy with other settings. Raises ArgumentError for those of another kind."""
        mine = self.described()
        kind, settings = mine["kind"], mine["settings"]
        if not isinstance(given, dict) or set(given) != set(mine) or given["kind"] != kind:
            raise ArgumentError(f"{kind}: the state of another scheduler, {given!r}")
        if not isinstance(given["settings"], dict) or set(given["settings"]) != set(settings):
            raise ArgumentError(
                f"{kind}: settings {given['settings']!r}, expected {sorted(settings)}"
            )
        if not isinstance(given["schedulers"], list) or (
            len(given["schedulers"]) != len(self.schedulers)
        ):
            raise ArgumentError(f"{kind}: expected the state of {len(self.schedulers)} schedulers")
        new = copy.copy(self)
        new.__dict__.update({name: copy.copy(value) for name, value in given["settings"].items()})
        new.schedulers = [s._redescribed(g) for s, g in zip(self.schedulers, given["schedulers"])]
        new.check()
        return new

    def _become(self, new):
        for mine, theirs in zip(self.schedulers, new.schedulers):
            mine._become(theirs)
        changed = {name: v for name, v in vars(new).items() if name != "schedulers"}
        self.__dict__.update(changed)
