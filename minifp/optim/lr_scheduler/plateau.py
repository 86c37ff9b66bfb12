"""ReduceLROnPlateau: a smaller rate when a metric has stopped getting better."""

from collections.abc import Sequence
from math import inf, isnan
from typing import Any

from minifp.autograd.tape import Tensor
from minifp.checks import check_choice, check_count, check_range
from minifp.errors import ArgumentError
from minifp.optim.lr_scheduler.base import AnyOptimizer, LRScheduler, plain


class ReduceLROnPlateau(LRScheduler):
    """Multiply the rates by `factor` after more than `patience` metrics without a better one.

    mode: "min" or "max", whether smaller or larger is better. threshold, threshold_mode: how much
    better it must be, as a part of the best ("rel") or in its unit ("abs"). cooldown: so many
    metrics after a reduction count for nothing. min_lr: a number, or one for each group. eps: a
    smaller change is not made. A metric that is NaN is not better.
    """

    arguments = "mode", "factor", "patience", "threshold", "threshold_mode", "cooldown"
    arguments += "min_lrs", "eps"
    counters = ("num_bad_epochs", "cooldown_counter")
    combines = False

    def __init__(
        self,
        optimizer: AnyOptimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | Sequence[float] = 0.0,
        eps: float = 1e-8,
    ) -> None:
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode = threshold, threshold_mode
        self.cooldown, self.eps = cooldown, eps
        groups = len(getattr(optimizer, "param_groups", ()))
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        self.best: float | None = None
        self.num_bad_epochs = self.cooldown_counter = 0
        super().__init__(optimizer)

    def check(self) -> None:
        """0 <= factor < 1; counts >= 0; min_lr for each group."""
        check_choice("mode", self.mode, ("min", "max"))
        check_choice("threshold_mode", self.threshold_mode, ("rel", "abs"))
        check_range("factor", self.factor, high=1.0, open_above=True)
        check_count("patience", self.patience, least=0)
        check_count("cooldown", self.cooldown, least=0)
        check_range("threshold", self.threshold)
        check_range("eps", self.eps)
        if not isinstance(self.min_lrs, list) or len(self.min_lrs) != len(self.groups):
            raise ArgumentError(f"min_lr={self.min_lrs!r}: expected {len(self.groups)} numbers")
        for rate in self.min_lrs:
            check_range("min_lr", rate)

    def values(self, i: int, count: int) -> dict[str, Any]:
        """The rate as it is: the metrics decide, not the count."""
        return {"lr": self.groups[i]["lr"]}

    def step(  # type: ignore[override]  # as PyTorch's
        self, metrics: Tensor | float, epoch: int | None = None
    ) -> None:
        """Take note of a metric (a number, or a tensor of one element), and reduce if it is time.

        Unless all that happened since the last one was one skipped step. epoch: the count from then
        on, on which no rate depends; None goes on by one.
        """
        if epoch is not None:
            check_count("ReduceLROnPlateau.step: epoch", epoch, least=0)
        try:
            current = float(metrics)
        except (TypeError, ValueError, OverflowError) as error:
            raise ArgumentError(
                f"ReduceLROnPlateau.step: metrics is a {type(metrics).__name__}: "
                "expected a number that a float holds"
            ) from error
        self._check_turn()
        values, progress = self._values(self.count), self._progress()
        skipped, self._seen = self._skipped(progress), progress
        if skipped:
            return
        self.count = self.count + 1 if epoch is None else int(epoch)
        better = self._is_better(current)
        self.best = current if better else self.best
        self.num_bad_epochs = 0 if better else self.num_bad_epochs + 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
            values = [self._reduced(v["lr"], least) for v, least in zip(values, self.min_lrs)]
        self._set(values)

    def _reduced(self, rate, least):
        new = max(rate * self.factor, least)
        return {"lr": new if rate - new > self.eps else rate}

    def _is_better(self, current):
        sign = 1.0 if self.mode == "max" else -1.0
        if self.best is None:  # better than nothing is all but NaN and the worst there is
            return not isnan(current) and current != -sign * inf
        if self.threshold_mode == "rel":
            return sign * current > sign * (self.best * (1.0 + sign * self.threshold))
        return sign * current > sign * (self.best + sign * self.threshold)

    # ---- state ----

    def state_dict(self) -> dict[str, Any]:
        """Kind, settings, the best metric (None before the first), counters and rates."""
        own = {name: getattr(self, name) for name in ("best", *self.counters)}
        return {**super().state_dict(), **own, "lrs": plain(self.get_last_lr())}

    def _restored_values(self, state):
        if state["best"] is not None and not isinstance(state["best"], (int, float)):
            raise ArgumentError(f"ReduceLROnPlateau: best={state['best']!r}: expected a number")
        if not isinstance(state["lrs"], (list, tuple)) or len(state["lrs"]) != len(self.groups):
            raise ArgumentError(
                f"ReduceLROnPlateau: lrs={state['lrs']!r}: expected {len(self.groups)} rates"
            )
        for rate in state["lrs"]:
            check_range("ReduceLROnPlateau: a rate of lrs", rate)
        for name in self.counters:
            check_count(f"ReduceLROnPlateau: {name}", state[name], least=0)
            setattr(self, name, state[name])
        self.best = state["best"]
        return [{"lr": rate} for rate in state["lrs"]]
