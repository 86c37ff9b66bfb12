"""Schedules whose rate is the base times a factor that depends on the count alone."""

from bisect import bisect_right
from collections.abc import Callable, Sequence

from minifp.checks import check_count, check_range
from minifp.errors import ArgumentError
from minifp.optim.lr_scheduler.base import LRScheduler, Owner


class FactorLR(LRScheduler):
    """The base of those below: a subclass defines `factor_at(count)`."""

    def factor_at(self, count: int) -> float:
        """What the base is multiplied by after `count` steps."""
        raise ArgumentError(f"{type(self).__name__} does not define factor_at()")

    def rate(self, base: float, count: int, i: int) -> float:
        """The base times the factor."""
        return base * self.factor_at(count)

    def chained(self, rate: float, base: float, count: int, i: int) -> float:
        """What the others have left, times what the factor has changed by."""
        before, now = self.factor_at(count - 1) if count else 1.0, self.factor_at(count)
        if before == now:
            return rate
        return rate * (now / before) if before else base * now


class StepLR(FactorLR):
    """The base times gamma once every step_size steps."""

    arguments = ("step_size", "gamma")

    def __init__(
        self, optimizer: Owner, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """step_size >= 1; gamma >= 0."""
        check_count("step_size", self.step_size)
        check_range("gamma", self.gamma)

    def factor_at(self, count: int) -> float:
        """gamma^(count // step_size)."""
        return self.gamma ** (count // self.step_size)


class MultiStepLR(FactorLR):
    """The base times gamma at each of the milestones, which may come in any order, or twice."""

    arguments = ("milestones", "gamma")

    def __init__(
        self, optimizer: Owner, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        if not hasattr(milestones, "__iter__"):
            raise ArgumentError(f"milestones={milestones!r}: expected counts of steps")
        self.milestones, self.gamma = list(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """Milestones >= 0; gamma >= 0."""
        if not isinstance(self.milestones, list):
            raise ArgumentError(f"milestones={self.milestones!r}: expected a list")
        self.milestones = sorted(check_count("a milestone", m, least=0) for m in self.milestones)
        check_range("gamma", self.gamma)

    def factor_at(self, count: int) -> float:
        """gamma to the number of milestones that are reached."""
        return self.gamma ** bisect_right(self.milestones, count)


class ExponentialLR(FactorLR):
    """The base times gamma at every step."""

    arguments = ("gamma",)

    def __init__(self, optimizer: Owner, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """gamma >= 0."""
        check_range("gamma", self.gamma)

    def factor_at(self, count: int) -> float:
        """gamma^count."""
        return self.gamma**count


class ConstantLR(FactorLR):
    """The base times a factor, until total_iters steps are made, and then the base."""

    arguments = ("factor", "total_iters")

    def __init__(
        self, optimizer: Owner, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """0 <= factor <= 1; total_iters >= 1."""
        check_range("factor", self.factor, high=1.0)
        check_count("total_iters", self.total_iters)

    def factor_at(self, count: int) -> float:
        """The factor, and after total_iters 1."""
        return self.factor if count < self.total_iters else 1.0


class LinearLR(FactorLR):
    """A linear warm-up: base times a factor that goes from start_factor to end_factor."""

    arguments = ("start_factor", "end_factor", "total_iters")

    def __init__(
        self,
        optimizer: Owner,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """Factors between 0 and 1; total_iters >= 1."""
        check_range("start_factor", self.start_factor, high=1.0)
        check_range("end_factor", self.end_factor, high=1.0)
        check_count("total_iters", self.total_iters)

    def factor_at(self, count: int) -> float:
        """The line between the two factors; constant after total_iters."""
        done = min(count, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class PolynomialLR(FactorLR):
    """The base times (1 - count / total_iters)^power, which is 0 from total_iters on."""

    arguments = ("total_iters", "power")

    def __init__(
        self, optimizer: Owner, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """total_iters >= 1; power >= 0."""
        check_count("total_iters", self.total_iters)
        check_range("power", self.power)

    def factor_at(self, count: int) -> float:
        """What is left of total_iters, to the power."""
        return (1.0 - min(count, self.total_iters) / self.total_iters) ** self.power


class LambdaLR(LRScheduler):
    """The base times a function of the count, or of a list of functions, one for each group.

    The functions are not saved: a scheduler that is to continue is made with the same ones. In a
    ChainedScheduler it undoes what those before it did, as in PyTorch.
    """

    def __init__(
        self,
        optimizer: Owner,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]
        wrong = [f for f in self.lr_lambdas if not callable(f)]
        if wrong:
            raise ArgumentError(f"lr_lambda={wrong[0]!r}: expected a function of the count")
        groups = len(getattr(optimizer, "param_groups", ()))
        if isinstance(lr_lambda, (list, tuple)) and len(lr_lambda) != groups:
            raise ArgumentError(f"lr_lambda: {len(lr_lambda)} functions for {groups} groups")
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, count: int, i: int) -> float:
        """The base times the group's function of the count."""
        return base * self.lr_lambdas[i if len(self.lr_lambdas) > 1 else 0](count)
