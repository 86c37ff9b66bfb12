"""What a sweep and a gallery are: comparisons, each in a folder of its own, trained as one."""

from collections.abc import Sequence
from pathlib import Path

from minifp.lab import registration
from minifp.lab.budget import Budget
from minifp.lab.comparison import Comparison, interrupted
from minifp.lab.conclusions.claims import Claim, decisive_of
from minifp.lab.results import store
from minifp.lab.results.folder import begin
from minifp.lab.spending import spend
from minifp.lab.where import Where
from minifp.lab.workers.request import Request
from minifp.report.documented import Documented


class Study(Documented):
    """Comparisons that are made and shown together. out: their folder, if they are kept. cached:
    names of cached properties that more runs make stale."""

    comparisons: list[Comparison]
    out: Path | None
    cached: tuple[str, ...] = ()
    budget: Budget | None = None  # that is to be spent on them

    def decisive(self) -> list[dict[str, Claim]]:
        """What decides on each arm of each comparison."""
        return [*map(decisive_of, self.comparisons)]

    def begin(self, where: Where) -> None:
        """Register what is asked for, and save what there is, before hours of training show that it
        cannot be saved."""
        for comparison in self.comparisons:
            registration.register(comparison, budget=self.budget)
        if self.out is not None:
            for comparison in self.comparisons:
                begin(comparison, where.products)
            self.save(self.out)

    def train(self, title: str, requests: Sequence[Request], where: Where) -> None:
        """Make the runs that are missing, or those that a budget is enough for, and write what they
        show; without pictures where that ends early."""
        is_whole, who = False, (where.engine, where.progress)
        try:
            spend(title, self.comparisons, requests, *who, self.budget, self.decisive)
            is_whole = True
        except KeyboardInterrupt:
            raise KeyboardInterrupt(interrupted(self.comparisons, self.out)) from None
        finally:
            self.keep(where, is_whole)

    def keep(self, where: Where, is_drawn: bool = True) -> None:
        """Write the pages of all comparisons, and what they show together; with pictures, if asked
        for and `is_drawn`."""
        for name in self.cached:
            vars(self).pop(name, None)
        if self.out is None:
            return
        for comparison in self.comparisons:
            assert comparison.out is not None
            if is_drawn:
                where.products.write(comparison, comparison.out)
            else:
                comparison.report(comparison.out / store.REPORT)
        if is_drawn:
            where.save(self)
        else:
            self.save(self.out)
