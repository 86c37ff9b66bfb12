"""Several schedulers as one: one after the other, or all at once."""

from collections.abc import Sequence

from minifp.checks import check_count
from minifp.errors import ArgumentError
from minifp.optim.lr_scheduler.base import AnyOptimizer, LRScheduler


def checked(kind, schedulers, optimizer):
    """The schedulers as a list. Raises ArgumentError for what cannot be joined on an optimizer."""
    if not isinstance(schedulers, (list, tuple)) or not schedulers:
        raise ArgumentError(f"{kind}: expected a list of schedulers, got {schedulers!r}")
    optimizers = [id(o) for o in getattr(optimizer, "optimizers", [optimizer])]
    for s in schedulers:
        if not isinstance(s, LRScheduler) or not s.combines:
            raise ArgumentError(f"{kind}: a {type(s).__name__} cannot be one of its schedulers")
        if s._defines("get_lr"):
            raise ArgumentError(
                f"{kind}: a {type(s).__name__} cannot be one of its schedulers: its get_lr() may "
                "read the groups' rates, which the other schedulers also set; define rate(base, "
                "count, i) instead, the rate of group i after so many steps"
            )
        if [id(o) for o in s.optimizers] != optimizers:
            raise ArgumentError(f"{kind}: its {type(s).__name__} belongs to another optimizer")
    return list(schedulers)


class SequentialLR(LRScheduler):
    """One scheduler after the other; each begins to count at its milestone."""

    arguments = ("milestones",)

    def __init__(
        self,
        optimizer: AnyOptimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        self.schedulers = checked("SequentialLR", schedulers, optimizer)
        self.milestones = milestones
        super().__init__(optimizer, last_epoch)

    def check(self) -> None:
        """One milestone less than schedulers, ascending."""
        given, several = self.milestones, isinstance(self.milestones, (list, tuple))
        milestones = [check_count("a milestone", m, least=0) for m in given] if several else []
        ascending = several and sorted(set(milestones)) == milestones
        if not ascending or len(self.schedulers) != len(milestones) + 1:
            raise ArgumentError(
                f"{len(self.schedulers)} schedulers with milestones {given}: expected ascending "
                "milestones, one fewer than schedulers"
            )
        self.milestones = milestones

    def _turn(self, count):
        """The scheduler whose turn it is, and for how many steps it has been."""
        turn = sum(count >= m for m in self.milestones)
        return self.schedulers[turn], count - ([0, *self.milestones])[turn]

    def rate(self, base: float, count: int, i: int) -> float:
        """That of the scheduler whose turn it is."""
        scheduler, since = self._turn(count)
        return scheduler.rate(base, since, i)

    def chained(self, rate: float, base: float, count: int, i: int) -> float:
        """As its scheduler would in the chain; where that begins, the others are forgotten."""
        scheduler, since = self._turn(count)
        if since == 0:
            return scheduler.rate(base, 0, i)
        return scheduler.chained(rate, base, since, i)


class ChainedScheduler(LRScheduler):
    """All at once: each changes, in turn, the rate that those before it have left.

    For schedules that multiply (StepLR, LinearLR, ...) the rate is the base times all their
    factors. LambdaLR and CosineAnnealingWarmRestarts set the rate whatever was before, as in
    PyTorch, so they belong first.
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: AnyOptimizer | None = None
    ) -> None:
        first = schedulers[0] if isinstance(schedulers, (list, tuple)) and schedulers else None
        if optimizer is None and isinstance(first, LRScheduler):
            optimizer = first.optimizer
        self.schedulers = checked("ChainedScheduler", schedulers, optimizer)
        self._reached: dict[tuple[float, int], tuple[int, float]] = {}
        super().__init__(optimizer or self.schedulers[0].optimizer)

    def rate(self, base: float, count: int, i: int) -> float:
        """The base after `count` rounds through the chain, from where the last call has come."""
        at, rate = self._reached.get((base, i), (-1, base))
        if at > count:
            at, rate = -1, base
        for n in range(at + 1, count + 1):
            for scheduler in self.schedulers:
                rate = scheduler.chained(rate, base, n, i)
        self._reached[base, i] = count, rate
        return rate

    def chained(self, rate: float, base: float, count: int, i: int) -> float:
        """As if its schedulers stood in the chain themselves."""
        for scheduler in self.schedulers:
            rate = scheduler.chained(rate, base, count, i)
        return rate

    def _redescribed(self, given):
        new = super()._redescribed(given)
        new._reached = {}
        return new
