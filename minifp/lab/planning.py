"""`plan`: how many seeds a margin needs, from a pilot whose runs are kept and count."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from minifp.errors import ArgumentError
from minifp.lab.budget import seeds_within
from minifp.lab.comparison import Comparison, compare, opened, requests_of
from minifp.lab.conclusions.planning import Need, needs_of
from minifp.lab.grids.estimate import Estimate, estimate_of
from minifp.lab.settings import adjusted, canonical, planned_data
from minifp.lab.statistics.power import POWER
from minifp.lab.task import Task
from minifp.lab.where import Where
from minifp.report.content import Document
from minifp.report.documented import Shown


@dataclass(repr=False)
class Plan(Shown):
    """The result of `plan`: the pilot, a Comparison, and its needs for each arm.

    power: the intended chance of EQUIVALENT, if there is truly no difference.
    """

    pilot: Comparison
    power: float = POWER

    @cached_property
    def needs(self) -> list[Need]:
        """One for each arm: see conclusions/planning.py."""
        return needs_of(self.pilot, self.power)

    @property
    def seeds(self) -> int | None:
        """How many seeds are enough for all arms; None where the pilot does not say."""
        return max((need.seeds for need in self.needs), default=None)

    def document(self) -> Document:
        """The seeds that are needed, and the power of others."""
        from minifp.lab.page.power import plan_document

        return plan_document(self)


def plan(
    task: Task | str,
    precisions: Iterable = ("float32", "mixed"),
    seeds: int | Iterable[int] = 5,
    power: float = POWER,
    **how: Any,
) -> Plan:
    """Find out how many seeds a comparison needs, by a pilot of a few, and return the Plan.

    task, precisions, seeds, and what else may be said: as `compare` takes them. With out=FOLDER
    the pilot's runs are kept, and `compare` with more seeds and the same folder goes on from them.
    power: the intended chance of EQUIVALENT, if there is truly no difference.

    Raises ArgumentError for a power that is none, and as `compare` does.
    """
    if not isinstance(power, float) or not 0 < power < 1:
        raise ArgumentError(f"power={power!r}: expected a number between 0 and 1, such as 0.8")
    return Plan(compare(task, precisions, seeds, pilot=True, **how), power)


def looks_ahead(task: Task, precisions, seeds, budget, where: Where, **lengths) -> Estimate:
    """The looks that `compare` plans with a budget, and how long runs take until each. Nothing is
    written, and only a few steps are made. Raises as `compare` does."""
    task = adjusted(task, **lengths)
    data, (which, limit) = planned_data(task), seeds_within(budget, seeds, 1)
    comparison = opened(task, data, canonical(precisions), which, where.folder)
    requests = requests_of(comparison, task, data, where.device)
    return estimate_of(len(comparison.asked), requests, where.jobs, limit)
