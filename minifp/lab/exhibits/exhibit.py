"""An exhibit of the gallery: a claim, a task, the arms that test it, published numbers.

The task says what decides: here the metric that trained weights reach, as in the papers, and as
rates fall to zero, where averages of weights gain little (docs/comparing.md).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from minifp.checks import check_choice, check_count
from minifp.errors import ArgumentError
from minifp.lab.arms import is_control
from minifp.lab.settings import canonical
from minifp.lab.task import Task
from minifp.report.content import Document

SCALES = ("quick", "evening", "full")
KINDS = ("lines", "doses", "bathtub", "ablation")
UNSCALED = "mixed,loss_scale=1"


@dataclass(frozen=True)
class Published:
    """Numbers of a paper, as printed there.

    float32, mixed: of the metric, in the paper's unit. what: of what they are, with their unit, as
    "top-1 accuracy on ImageNet, %". where: the paper, and the place in it. unscaled: without loss
    scaling, where that is another line of the paper's: a number, or a word.
    """

    float32: float
    mixed: float
    what: str
    where: str
    unscaled: float | str | None = None

    @property
    def text(self) -> str:
        """All of its numbers, in the order of `legend`."""
        numbers = [v for v in (self.float32, self.unscaled, self.mixed) if v is not None]
        return " / ".join(v if isinstance(v, str) else f"{v:.{self.places}f}" for v in numbers)

    @property
    def places(self) -> int:
        """Digits behind the point, as printed there."""
        return max(len(str(v).partition(".")[2]) for v in (self.float32, self.mixed))

    @property
    def legend(self) -> str:
        """What the numbers of `text` are."""
        return "float32 / mixed" if self.unscaled is None else "float32 / S = 1 / mixed"


@dataclass(frozen=True)
class Exhibit:
    """One claim, which `gallery` tests.

    name: of its folder, and on the command line: letters, digits, ".", "_" and "-". title: as
        people call it. claim: a sentence, without a full stop.
    task: task("quick"), ("evening") or ("full") builds the Task of that scale.
    arms: precisions and controls after float32, among them "mixed,loss_scale=1", which is mixed
        precision without loss scaling, but where the kind is another than "lines".
    published: numbers of a paper, where the claim has some.
    seeds: how many, by scale; 0, or no entry, where it is left out.
    searched: what was tried before the settings were fixed.
    kind: how it is shown: "lines" of a table; "doses" and their responses; "bathtub", where the
        doses are loss scales; "ablation", where every combination of master weights, loss scaling
        and float32 sums is trained as well.
    doses: where the claim is that something does nothing up to some amount, that amount for each
        arm; dose: what it is called.
    expects: what is claimed of mixed precision without loss scaling: that it "matches" float32,
        "fails", or is "better".
    chance: the metric of who knows nothing, where float32 may not get beyond it.
    is_own: whether the claim is its author's and no paper's.
    looked_at: whether the microscope watches a training of its own in float32 beforehand;
        published_look: what the paper says of such a picture.
    warns: a column of histories that the task's `step` returns, a share of what is lost, which is
        to warn of a failure before the loss moves.
    is_of_spread: whether the claim is about the range of float32's own runs.

    Raises ArgumentError for a name that is none of a folder, for another kind or expectation, for
    seeds that are no counts, and for lines without "mixed,loss_scale=1".
    """

    name: str
    title: str
    claim: str
    task: Callable[[str], Task]
    arms: tuple[str, ...]
    published: Published | None = None
    seeds: dict[str, int] = field(default_factory=lambda: {"quick": 3, "evening": 5, "full": 10})
    searched: str = "nothing"
    doses: Mapping[str, float] = field(default_factory=dict)
    dose: str = ""
    kind: str = "lines"
    expects: str = "matches"
    chance: float | None = None
    is_own: bool = False
    looked_at: bool = False
    published_look: str = ""
    warns: str = ""
    is_of_spread: bool = False
    origin: ClassVar[tuple[str, str] | None] = None  # by what it is named, and its file's hash

    def __post_init__(self):
        if not isinstance(self.name, str) or not re.fullmatch(r"\w[\w.-]*", self.name):
            raise ArgumentError(f"Exhibit: name={self.name!r}: expected the name of a folder")
        check_choice(f"Exhibit {self.name}: kind", self.kind, KINDS)
        check_choice(f"Exhibit {self.name}: expects", self.expects, ("matches", "fails", "better"))
        for scale, count in self.seeds.items():
            check_choice(f"Exhibit {self.name}: seeds, scale", scale, SCALES)
            check_count(f"Exhibit {self.name}: seeds of {scale}", count, least=0)
        if self.kind == "lines" and not self.doses and UNSCALED not in self.tested:
            raise ArgumentError(f"Exhibit {self.name}: arms={self.arms}: expected {UNSCALED!r} too")
        if self.doses:
            doses = dict(zip(canonical(self.doses), self.doses.values()))
            object.__setattr__(self, "doses", doses)

    @property
    def tested(self) -> list[str]:
        """Its arms without controls, by their canonical texts."""
        return [arm for arm in canonical(self.arms) if not is_control(arm)]


def facts_of(exhibit: Exhibit, comparison) -> dict[str, Any]:
    """What JSON has of every exhibit."""
    names = ("name", "title", "claim", "searched")
    facts = {name: getattr(exhibit, name) for name in names}
    return {**facts, "seeds": comparison.seeds, "settings": comparison.config}


def searches(exhibits: Iterable[Exhibit]) -> list[str]:
    """What was tried before the settings were fixed, in sentences."""
    texts = dict.fromkeys(exhibit.searched for exhibit in exhibits)
    return [f"Tried before the settings were fixed: {text}." for text in texts]


def section_each(gallery, findings: Callable, section: Callable, data: Callable) -> Document:
    """A part of a gallery's document with a section for each exhibit. findings: sentences; section:
    a Section; data: what JSON has; all three of an exhibit and its comparison."""
    pairs = [*zip(gallery.exhibits, gallery.comparisons)]
    return Document(
        findings=[f"{e.title}: {text}" for e, c in pairs for text in findings(e, c)],
        sections=[section(*pair) for pair in pairs],
        notes=searches(gallery.exhibits),
        data=[data(*pair) for pair in pairs],
    )


def ablation_exhibit(of: Exhibit) -> Exhibit:
    """Return the Exhibit of its ablation: every combination of master weights, loss scaling and
    float32 sums, at the next smaller scale, as float16 sums are slow: every partial sum is rounded.
    """
    smaller = {"quick": "quick", "evening": "quick", "full": "evening"}
    return replace(
        of,
        name=f"{of.name}-techniques",
        title=f"{of.title}, taken apart",
        claim="",
        published=None,
        task=lambda scale: of.task(smaller[scale]),
        seeds={"quick": 0, "evening": 3, "full": 5},
        arms=("mixed,loss_scale=1", "mixed"),
        kind="ablation",
        looked_at=False,
    )
