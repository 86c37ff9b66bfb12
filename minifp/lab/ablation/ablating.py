"""`ablate`: a comparison of all combinations of techniques, and what it says of each of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from minifp.errors import ArgumentError
from minifp.lab.ablation.effects import WAYS, Effect, contexts, effect, together
from minifp.lab.ablation.factors import DEFAULT, Factor, as_base, as_factors, combinations
from minifp.lab.comparison import Comparison, compare
from minifp.lab.conclusions.resolution import too_coarse
from minifp.lab.conclusions.scores import primary
from minifp.lab.task import Task
from minifp.numerics import policy
from minifp.report.content import Document
from minifp.report.documented import Documented

BASELINE = policy.SINGLE


@dataclass(repr=False)
class Ablation(Documented):
    """The result of `ablate`: a Comparison of all combinations, and the effects.

    cells: the precision of each combination, by whether each of `factors` is there.
    """

    comparison: Comparison
    factors: list[Factor]
    cells: dict[tuple, str]

    @cached_property
    def effects(self) -> list[Effect]:
        """An Effect for each factor and each of WAYS: see effects.py."""
        runs = {(r.precision, r.seed): r for r in self.comparison.runs}
        effects, score = [], primary(self.comparison)
        coarse = too_coarse(self.comparison, score)
        for index, factor in enumerate(self.factors):
            for way in WAYS:
                pairs = [
                    [(runs[a, seed], runs[b, seed]) for a, b in contexts(self.cells, index, way)]
                    for seed in self.comparison.seeds
                    if all((text, seed) in runs for text in self.cells.values())
                ]
                effects.append(effect(factor.switch, way, pairs, score, coarse))
        return together(effects)

    def document(self) -> Document:
        """All that is shown of it: see minifp/report/content.py."""
        from minifp.lab.ablation.ablation_document import document

        return document(self)


def ablate(
    task: Task | str,
    factors: Iterable[str] = DEFAULT,
    seeds: int | Iterable[int] = 5,
    *,
    base: str | policy.Precision = "mixed",
    **options: Any,
) -> Ablation:
    """Train a task with every combination of the techniques of `base`, and report the effect of
    each.

    factors: names of switches of a precision, such as "master_weights", "loss_scale",
    "accumulate", "operands" or "optimizer_state_scale"; of one product of layers,
    "wgrad:accumulate"; of a product of some modules, "*.wgrad:accumulate"; or the pattern of a part
    of `base`. To take a technique away, its switch is set to off or float16, or the setting of
    `base` for a single product or part is dropped; "loss_scale=128" replaces it instead. A scale
    with nothing left to multiply is off. k techniques make 2^k combinations, plus float32, each
    trained with every seed. seeds and `options` are those of `compare`, which trains them. `out`
    also gets effects.csv, .md and .html and the picture of the effects.

    Returns an Ablation. Raises ArgumentError as `as_factors`, `combinations` and `compare` do.
    """
    if options.get("budget") is not None:
        raise ArgumentError("ablate with a budget: effects have no looks, which a budget needs")
    precision = as_base(base)
    chosen = as_factors(factors, precision)
    cells = combinations(precision, chosen)
    precisions = dict.fromkeys([BASELINE, *cells.values()])
    ablation = Ablation(compare(task, precisions, seeds, **options), chosen, cells)
    ablation.comparison.where.save(ablation)
    return ablation
