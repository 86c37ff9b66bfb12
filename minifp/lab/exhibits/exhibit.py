"""What is in the gallery: for each claim a task, the arms that test it, published numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field

from minifp.lab.task import Task

SCALES = ("quick", "evening", "full")


@dataclass(frozen=True)
class Published:
    """Numbers of a paper, in float32 and in mixed precision: of what, and where they stand."""

    float32: float
    mixed: float
    what: str
    where: str


@dataclass(frozen=True)
class Exhibit:
    """One claim.

    name: of its folder, and on the command line. title: as people call it. claim: a sentence.
    task: builds the Task of one of SCALES. seeds: how many, by scale; 0 where it is left out. arms:
    precisions and controls after float32, among them mixed precision without loss scaling (S = 1)
    and with a dynamic scale. searched: what was tried before the settings were fixed. ablated:
    whether every combination of master weights, loss scaling and float32 sums is trained as well.
    """

    name: str
    title: str
    claim: str
    published: Published
    task: Callable[[str], Task]
    arms: tuple[str, ...]
    seeds: dict[str, int] = field(default_factory=lambda: {"quick": 3, "evening": 5, "full": 10})
    searched: str = "nothing"
    ablated: bool = False
