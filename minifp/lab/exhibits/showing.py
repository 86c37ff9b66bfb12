"""`gallery`: train what tests each claim, all in one go, and say what came out."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from minifp.checks import check_choice
from minifp.data.downloads import planned
from minifp.errors import ArgumentError
from minifp.lab.ablation.ablating import Ablation
from minifp.lab.ablation.factors import DEFAULT, as_base, as_factors, combinations
from minifp.lab.budget import seeds_within
from minifp.lab.comparison import Comparison, opened, requests_of
from minifp.lab.conclusions.claims import Claim, adjusted, claims_of
from minifp.lab.conclusions.rows import Row
from minifp.lab.exhibits.catalog import groups, meant_by, task_at
from minifp.lab.exhibits.exhibit import SCALES, UNSCALED, Exhibit
from minifp.lab.exhibits.failures import failures
from minifp.lab.grids.estimate import Estimate, estimate_of
from minifp.lab.results.folder import alone_in
from minifp.lab.results.origin import origin_of
from minifp.lab.settings import canonical, check_data
from minifp.lab.study import Study
from minifp.lab.where import Where, where_of
from minifp.lab.workers.request import Request
from minifp.lab.workers.travel import ticket
from minifp.numerics import policy
from minifp.report import words
from minifp.report.content import Document

BASE = "mixed"  # whose techniques are taken away where an exhibit is ablated


@dataclass
class Line:
    """What came out of one exhibit: rows of its comparison, and what follows for the claim.

    tested: the Row of each arm but the controls, by its text. failures: of each, how many runs came
    to nothing, by how. claims: what is claimed of each arm that has pairs, p values adjusted over
    all lines of the claim. core_minutes: that all of its runs took of one core. metric, goal: which
    one, and of which more is better, or less.
    """

    exhibit: Exhibit
    baseline: Row
    tested: dict[str, Row]
    failures: dict[str, Counter]
    core_minutes: float
    metric: str = ""
    goal: str = "max"
    claims: dict[str, Claim] = field(default_factory=dict)

    @property
    def without(self) -> Row:
        """That of mixed precision with S = 1."""
        return self.tested[canonical(UNSCALED)[0]]

    @property
    def scaled(self) -> list[Row]:
        """Those of mixed precision with loss scaling."""
        return [row for row in self.tested.values() if row is not self.without]


@dataclass(repr=False)
class Gallery(Study):
    """The result of `gallery`: a Comparison for each exhibit, in their order."""

    scale: str
    exhibits: Sequence[Exhibit]
    comparisons: list[Comparison]
    out: Path | None = None
    ablations: dict[str, Ablation] = field(default_factory=dict)
    seen: dict[str, Any] = field(default_factory=dict)  # by exhibit: see minifp/scope/beforehand.py
    cached = ("lines",)

    @cached_property
    def lines(self) -> list[Line]:
        """One for each exhibit that has runs."""
        found = []
        for exhibit, c, claims in zip(self.exhibits, self.comparisons, self.decisive()):
            rows = {row.precision: row for row in c.rows()}
            minutes = sum(run.processor_seconds for run in c.runs) / 60
            tested = {arm: rows[arm] for arm in exhibit.tested}
            lost = {arm: failures(c, arm) for arm in tested}
            ends = c.task.metric_name, c.task.goal, claims
            found.append(Line(exhibit, rows[c.baseline], tested, lost, minutes, *ends))
        return found

    def decisive(self) -> list[dict[str, Claim]]:
        """What decides on each arm of each exhibit, adjusted over all lines of the same claim."""
        return claims_together(self.exhibits, self.comparisons)

    def keep(self, where: Where, is_drawn: bool = True) -> None:
        """Write all pages, those of ablations that are whole too."""
        super().keep(where, is_drawn)
        for ablation in self.ablations.values():
            place = ablation.comparison.out
            if is_drawn and place is not None:
                ablation.save(place, where.products.figures, where.products.look)

    def document(self) -> Document:
        """All that is shown of it: see minifp/report/content.py."""
        from minifp.lab.exhibits.gallery_document import document

        return document(self)


def claims_together(exhibits, comparisons) -> list[dict[str, Claim]]:
    """For each exhibit what decides on its arms, adjusted over all lines of the same claim."""
    found = [
        {c.arm: c for c in claims_of(comparison) if c.decides and c.arm in exhibit.tested}
        for exhibit, comparison in zip(exhibits, comparisons)
    ]
    for claim in dict.fromkeys(exhibit.claim for exhibit in exhibits):
        lines = [own for exhibit, own in zip(exhibits, found) if exhibit.claim == claim]
        places = [(own, arm) for own in lines for arm in own]
        for (own, arm), c in zip(places, adjusted([own[arm] for own, arm in places])):
            own[arm] = c
    return found


def gallery(
    names: str | Exhibit | Sequence[str | Exhibit] = "classification",
    scale: str = "evening",
    *,
    seeds: int | Iterable[int] | None = None,
    look: Callable | None = None,
    budget: str | float | None = None,
    **where: Any,
) -> Gallery:
    """Test claims on small networks and data, those of the literature or your own, and return the
    Gallery.

    names: groups of minifp's own, such as "classification", or exhibits of them, such as "vgg-d";
    those of a file or a module that can be imported, such as "mine.py" for all in its EXHIBITS, or
    "mine.py:spirals"; or an Exhibit itself. scale: "quick", a
    few minutes to see how it works; "evening", some hours; or "full", with all pictures and more
    seeds: `minifp gallery --dry-run` says how long that takes here. seeds: instead of the scale's.
    look: a function that observes exhibits before training, such as
    `minifp.scope.beforehand.look`, which `minifp gallery` uses. budget: as in `compare`, for all
    exhibits together, but for what is taken apart, whose effects have no looks. where: as in
    `fp.lab.Where`; `out` keeps a folder for each exhibit, as `compare` writes it, and gallery.json,
    .csv, .md and .html.

    Raises ArgumentError for what is not there, and for a file that fails, naming the line.
    """
    at = where_of("gallery", where)
    with alone_in(at.folder):
        shown, requests = read_gallery(names, scale, seeds, at, budget)
        shown.begin(at)
        look_beforehand(shown, look, at.progress)
        shown.train(words.plural(len(shown.exhibits), "exhibit"), requests, at)
    return shown


def look_beforehand(shown: Gallery, look: Callable | None, progress: bool) -> None:
    """Let `look`, if there is one, look at the exhibits that ask for it."""
    for exhibit in shown.exhibits:
        if look is not None and exhibit.looked_at:
            task = exhibit.task(shown.scale)
            place = None if shown.out is None else shown.out / exhibit.name
            sets = check_data(task.data())
            shown.seen[exhibit.name] = look(
                exhibit.title, task, sets, place, progress, exhibit.published_look
            )


@planned()
def estimate(names, scale, seeds, where: Where, budget=None) -> Estimate:
    """How many runs are missing, and about how long they take, so many at a time; of a budget,
    until each look."""
    shown, requests = read_gallery(names, scale, seeds, where, budget)
    count = sum(len(c.asked) for c in shown.comparisons)
    return estimate_of(count, requests, where.jobs, shown.budget)


def read_gallery(names, scale, seeds, where: Where, budget=None) -> tuple[Gallery, list[Request]]:
    """The gallery as its folder holds it, and the runs that are missing. Nothing is written."""
    check_choice("scale", scale, SCALES)
    chosen = chosen_of(names, scale, seeds, budget is not None)
    shown, requests = Gallery(scale, chosen, [], where.folder), []
    for exhibit in shown.exhibits:
        task = task_at(exhibit, scale)
        which, shown.budget = seeds_within(budget, seeds, exhibit.seeds.get(scale, 0))
        data, cells = check_data(task.data()), cells_of(exhibit)
        arms = canonical(dict.fromkeys([policy.SINGLE, *exhibit.arms, *cells.values()]))
        place = where.place(exhibit.name)
        comparison = opened(task, data, arms, which, place, where.keep_weights)
        comparison.origin = origin_of(task, where.device)
        if cells:
            factors = as_factors(DEFAULT, as_base(BASE))
            shown.ablations[exhibit.name] = Ablation(comparison, factors, cells)
        sent = ticket(task, {}, task) if where.is_elsewhere else None
        shown.comparisons.append(comparison)
        requests += requests_of(comparison, task, data, where.device, sent)
    return shown, requests


def chosen_of(names, scale, seeds, of_budget=False) -> list[Exhibit]:
    """The exhibits that names mean and that a scale has: of groups those with seeds of their own,
    and what is named by itself. Raises ArgumentError where nothing is left of a name, and where two
    have one name.

    of_budget: without what is taken apart, of whose effects no verdicts are read at looks.
    """
    names, chosen = [names] if isinstance(names, (str, Exhibit)) else list(names), []
    if not names:
        raise ArgumentError(f"no exhibit is named: expected one of {', '.join(groups())}")
    for name in names:
        meant = [name] if isinstance(name, Exhibit) else meant_by(name)
        is_alone = seeds is not None and len(meant) == 1
        there = [e for e in meant if e.seeds.get(scale) or is_alone]
        there = [e for e in there if not (of_budget and e.kind == "ablation")]
        if not there and of_budget:
            raise ArgumentError(f"{name}: its effects have no looks, which a budget needs")
        if not there:
            scales = [s for s in SCALES if any(e.seeds.get(s) for e in meant)]
            raise ArgumentError(
                f"{name}: nothing of this at the scale {scale!r}, expected {' or '.join(scales)}: "
                "on the command line the evening is without --quick and --full"
            )
        chosen += there
    by_name = {e.name: e for e in chosen}
    for e in chosen:
        if by_name[e.name] is not e and by_name[e.name].origin != e.origin:
            raise ArgumentError(f"two exhibits are called {e.name}: expected them in two galleries")
    return [*by_name.values()]


def cells_of(exhibit) -> dict:
    """The precisions of an ablation, where an exhibit has one."""
    if exhibit.kind != "ablation":
        return {}
    base = as_base(BASE)
    return combinations(base, as_factors(DEFAULT, base))
