"""What is in the gallery: for each claim a task, the arms that test it, published numbers."""

from collections.abc import Callable, Mapping
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
    published: numbers of a paper, where the claim has some. task: builds the Task of one of SCALES.
    seeds: how many, by scale; 0 where it is left out. arms: precisions and controls after float32,
    among them, but where there are doses, mixed precision without loss scaling (S = 1) and with a
    dynamic scale. searched: what was tried before the settings were fixed. ablated: whether every
    combination of master weights, loss scaling and float32 sums is trained as well. doses: where
    the claim is that something does nothing up to some amount, that amount for each arm, by its
    canonical text; dose: what it is called. Such a claim is shown as doses and their responses.
    """

    name: str
    title: str
    claim: str
    published: Published | None
    task: Callable[[str], Task]
    arms: tuple[str, ...]
    seeds: dict[str, int] = field(default_factory=lambda: {"quick": 3, "evening": 5, "full": 10})
    searched: str = "nothing"
    ablated: bool = False
    doses: Mapping[str, float] = field(default_factory=dict)
    dose: str = ""
