"""Cosine annealing, once or with restarts (Loshchilov and Hutter 2017, arXiv:1608.03983)."""

import math

from minifp.checks import check_count, check_range
from minifp.optim.lr_scheduler.base import AnyOptimizer, LRScheduler


def half_cosine(high, low, done):
    """The rate after a part `done` (0 to 1) of the way from high to low."""
    return low + (high - low) * (1 + math.cos(math.pi * done)) / 2


class CosineAnnealingLR(LRScheduler):
    """eta_min + (base - eta_min) (1 + cos(pi count / T_max)) / 2."""

    arguments = ("T_max", "eta_min")

    def __init__(
        self, optimizer: AnyOptimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """T_max >= 1; eta_min >= 0."""
        check_count("T_max", self.T_max)
        check_range("eta_min", self.eta_min)

    def rate(self, base: float, count: int, i: int) -> float:
        """The cosine between base and eta_min."""
        return half_cosine(base, self.eta_min, count / self.T_max)

    def chained(self, rate: float, base: float, count: int, i: int) -> float:
        """What the others have left, with its distance from eta_min scaled as the cosine has been.

        Where that was 0, what the cosine alone would add in this step (as in PyTorch).
        """
        if count == 0:
            return rate
        if (count - 1) % (2 * self.T_max) == self.T_max:
            return rate + half_cosine(base - self.eta_min, 0.0, 1 - 1 / self.T_max)
        now, before = (half_cosine(1.0, 0.0, n / self.T_max) for n in (count, count - 1))
        return now / before * (rate - self.eta_min) + self.eta_min


class CosineAnnealingWarmRestarts(LRScheduler):
    """A cosine from base to eta_min over T_0 steps, again and again, each T_mult times as long.

    `step(epoch + i / len(loader))` sets the rate after a part of an epoch.
    """

    takes_fractions = True

    arguments = ("T_0", "T_mult", "eta_min")

    def __init__(
        self,
        optimizer: AnyOptimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """T_0, T_mult >= 1; eta_min >= 0."""
        check_count("T_0", self.T_0)
        check_count("T_mult", self.T_mult)
        check_range("eta_min", self.eta_min)

    def rate(self, base: float, count: int, i: int) -> float:
        """The cosine of the cycle that count lies in."""
        length, within = self.T_0, count
        if self.T_mult == 1:
            within %= length
        while within >= length:
            within -= length
            length *= self.T_mult
        return half_cosine(base, self.eta_min, within / length)
