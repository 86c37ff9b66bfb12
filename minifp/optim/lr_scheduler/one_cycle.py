"""The one-cycle policy: up to a large rate, and down to next to none (Smith and Topin 2018,
arXiv:1708.07120), with the momentum going the other way."""

from collections.abc import Sequence
from typing import Any

from minifp.checks import check_choice, check_count, check_flag, check_range
from minifp.errors import ArgumentError
from minifp.optim.lr_scheduler.base import AnyOptimizer, LRScheduler
from minifp.optim.lr_scheduler.cosine import half_cosine


def line(start, end, done):
    """What lies a part `done` (0 to 1) of the way from start to end."""
    return start + (end - start) * done


class OneCycleLR(LRScheduler):
    """From max_lr / div_factor to max_lr and down to max_lr / div_factor / final_div_factor.

    max_lr, base_momentum, max_momentum: a number, or one for each group. total_steps: of the whole
    cycle, or epochs times steps_per_epoch. pct_start: the part of it in which the rate rises.
    anneal_strategy: "cos" or "linear". three_phase: down to where it began, and then on down.
    cycle_momentum: the momentum (the first of `betas`) falls from max_momentum to base_momentum
    while the rate rises, and rises again.

    Raises ArgumentError for a step beyond total_steps; the last one keeps the smallest rate. It is
    no part of a SequentialLR or ChainedScheduler: it has a warm-up and rates of its own.
    """

    arguments = "max_lrs", "total_steps", "pct_start", "anneal_strategy", "cycle_momentum"
    arguments += "base_momentums", "max_momentums", "div_factor", "final_div_factor", "three_phase"
    combines = False

    def __init__(
        self,
        optimizer: AnyOptimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ArgumentError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
            epochs = check_count("epochs", epochs)
            total_steps = epochs * check_count("steps_per_epoch", steps_per_epoch)
        self.total_steps, self.pct_start, self.three_phase = total_steps, pct_start, three_phase
        self.anneal_strategy, self.cycle_momentum = anneal_strategy, cycle_momentum
        self.div_factor, self.final_div_factor = div_factor, final_div_factor
        groups = len(getattr(optimizer, "param_groups", ()))
        per_group: list[Any] = [max_lr, base_momentum, max_momentum]
        self.max_lrs, self.base_momentums, self.max_momentums = (
            list(given) if isinstance(given, (list, tuple)) else [given] * groups
            for given in per_group
        )
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """Numbers in their ranges, one for each group, whose optimizers have a momentum."""
        check_count("total_steps", self.total_steps)
        check_range("pct_start", self.pct_start, high=1.0)
        check_choice("anneal_strategy", self.anneal_strategy, ("cos", "linear"))
        check_flag("cycle_momentum", self.cycle_momentum)
        check_flag("three_phase", self.three_phase)
        for name in ("div_factor", "final_div_factor"):
            check_range(name, getattr(self, name))
            if getattr(self, name) == 0:
                raise ArgumentError(f"{name}=0: expected a number above 0")
        for name in ("max_lr", "base_momentum", "max_momentum"):
            values = getattr(self, name + "s")
            if not isinstance(values, list) or len(values) != len(self.groups):
                raise ArgumentError(f"{name}={values!r}: expected {len(self.groups)} numbers")
            for value in values:
                below = {} if name == "max_lr" else {"high": 1.0, "open_above": True}
                check_range(name, value, **below)
        without = [o for o in self.optimizers if not {"momentum", "betas"} & {*o.defaults}]
        if self.cycle_momentum and without:
            raise ArgumentError(
                f"cycle_momentum=True, but {type(without[0]).__name__} has no momentum and no "
                "betas: give cycle_momentum=False"
            )

    def _initial_lrs(self):
        return [max_lr / self.div_factor for max_lr in self.max_lrs]

    def values(self, i: int, count: int) -> dict[str, Any]:
        """The rate of a group, and its momentum or betas."""
        new: dict[str, Any] = {"lr": self.rate(self.base_lrs[i], count, i)}
        if self.cycle_momentum:
            high, low = self.max_momentums[i], self.base_momentums[i]
            momentum = self._at(count, (high, low, high, high))
            group = self.groups[i]
            if "betas" in group:
                new["betas"] = (momentum, *group["betas"][1:])
            else:
                new["momentum"] = momentum
        return new

    def rate(self, base: float, count: int, i: int) -> float:
        """The rate on its way from base to max_lr to (base to) base / final_div_factor."""
        return self._at(count, (base, self.max_lrs[i], base, base / self.final_div_factor))

    def _at(self, count, stations):
        """Where a setting is on its way: with two phases it does not pass the third station, but
        ends where momentum does, at the last."""
        if count > self.total_steps:
            raise ArgumentError(
                f"OneCycleLR: step {count} of a cycle of total_steps={self.total_steps}"
            )
        ends = [self.pct_start * self.total_steps - 1, self.total_steps - 1]
        if self.three_phase:
            ends.insert(1, 2 * self.pct_start * self.total_steps - 2)
        else:
            stations = (*stations[:2], stations[3])
        phase = next((k for k, end in enumerate(ends) if count <= end), len(ends) - 1)
        begin, end = (0.0, *ends)[phase], ends[phase]
        done = min((count - begin) / (end - begin), 1.0) if end != begin else 1.0
        way = half_cosine if self.anneal_strategy == "cos" else line
        return way(stations[phase], stations[phase + 1], done)
