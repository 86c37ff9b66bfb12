"""LRScheduler: what is common to all schedules: counting, setting rates, saving."""

import copy
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from minifp.checks import check_count, check_range
from minifp.errors import ArgumentError
from minifp.optim.optimizer import Optimizer
from minifp.runtime.callers import warn_once


class AnyOptimizer(Protocol):
    """An Optimizer, or a MixedOptimizer around some."""

    @property
    def param_groups(self) -> list[dict[str, Any]]: ...


def plain(value):
    """A number, a text or a list of them as Python's own."""
    return np.asarray(value).tolist()


class LRScheduler:
    """The base: a subclass defines `rate(base, count, i)`. optimizer: a plain or MixedOptimizer.

    arguments: the settings, attributes by the names of the constructor's arguments; they are saved.
    base_lrs: the rate of each group before any scheduler changed it. count: of the steps so far.

    One scheduler sets the rates of an optimizer; several are joined by SequentialLR or
    ChainedScheduler. Unlike in PyTorch, stepping them in turn is an error, because each would undo
    what the other did. To continue where training stopped, use load_state_dict (there is no
    last_epoch).
    """

    arguments: tuple[str, ...] = ()
    schedulers: "Sequence[LRScheduler]" = ()
    combines = True  # whether it may be one of the schedulers of SequentialLR and ChainedScheduler

    def __new__(cls, *args, **settings):
        if "last_epoch" in settings:
            raise ArgumentError(
                f"{cls.__name__}: last_epoch is not taken: to continue, make the scheduler as at "
                "the beginning and call load_state_dict(state)"
            )
        return super().__new__(cls)

    def __init__(self, optimizer: AnyOptimizer) -> None:
        kind = type(self).__name__
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
        self._set(self._values(0))

    def check(self) -> None:
        """Raise ArgumentError for a setting that is not allowed."""

    def rate(self, base: float, count: int, i: int) -> float:
        """The learning rate after `count` steps, of group number i, which began with `base`."""
        raise ArgumentError(f"{type(self).__name__} does not define rate()")

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
                f"{len(self.base_lrs)} when the scheduler was made: make another one"
            )
        return [self.values(i, count) for i in range(len(self.base_lrs))]

    def _set(self, values):
        places = zip(self._numbered(), self.groups, self.base_lrs, values)
        for (o, n), group, base, new in places:
            group.update(new)
            o.scheduled[n] = new["lr"], base

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group."""
        return [group["lr"] for group in self.groups]

    # ---- steps ----

    def _progress(self):
        return sum(o.attempts for o in self.optimizers), sum(o.steps for o in self.optimizers)

    def step(self) -> None:
        """Advance by one, unless all that happened since was one skipped step.

        Warns, once, of a first step before the optimizer's. Raises ArgumentError, with nothing
        changed, if another scheduler has taken over since.
        """
        self._check_turn()
        progress = self._progress()
        count = self.count + (not self._skipped(progress))
        values = self._values(count)
        if self.count == 0 and progress == (0, 0):
            warn_once(
                "schedule first",
                f"{type(self).__name__}.step() before optimizer.step(): the first rate of the "
                "schedule is never used. Step the optimizer first, and the schedule after it",
                owner=self,
            )
        self.count, self._seen = count, progress
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
                    f"{type(o.schedulers[-1]).__name__}, on the same optimizer: each sets the rate "
                    "by its own count; join them by SequentialLR or ChainedScheduler"
                )
        for o in self.optimizers:
            if self not in o.schedulers:
                o.schedulers.append(self)

    # ---- state ----

    def described(self) -> dict[str, Any]:
        """The kind and the settings, of those it joins too."""
        return {
            "kind": type(self).__name__,
            "settings": {name: plain(getattr(self, name)) for name in self.arguments},
            "schedulers": [s.described() for s in self.schedulers],
        }

    def state_dict(self) -> dict[str, Any]:
        """Kind, settings, count, and the rates it began with. Functions are not in it."""
        state = {"count": self.count, "base_lrs": plain(self.base_lrs), "seen": list(self._seen)}
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
        new.count = check_count(f"{kind}: count", state["count"], least=0)
        rates, seen = state["base_lrs"], state["seen"]
        if not isinstance(rates, (list, tuple)) or len(rates) != len(self.groups):
            raise ArgumentError(
                f"{kind}: base_lrs={rates!r}: expected a rate for each of {len(self.groups)} groups"
            )
        for rate in rates:
            check_range(f"{kind}: a rate of base_lrs", rate)
        if not isinstance(seen, (list, tuple)) or len(seen) != 2:
            raise ArgumentError(f"{kind}: seen={seen!r}: expected two counts")
        new.base_lrs = list(rates)
        new._seen = tuple(check_count(f"{kind}: seen", n, least=0) for n in seen)
        return new, new._restored_values(state)

    def _restored_values(self, state):
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
