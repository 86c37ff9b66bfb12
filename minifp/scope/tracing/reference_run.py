"""The reference run: a step done again in a wider precision, and where the two part.

    def on_update(self, optimizer, gradients, factor):       # of an observer of steps
        reference_run(optimizer.backwards[-1], seed).rows

For every value of the step it says how much error its operation adds and how much it inherits (see
paired_runs.py), and of those that add most how much that changes the gradients of the weights (see
effects.py). A weight adds what was lost when it was rounded to be stored, where its unrounded
numbers are known; a batch adds nothing. Gradient hooks are not called.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.replay import unobserved
from minifp.errors import ArgumentError
from minifp.numerics.formats import float32, float64
from minifp.numerics.policy import as_precision
from minifp.scope.tracing.effects import Effect, effect_of, relative
from minifp.scope.tracing.paired_runs import PairedRuns
from minifp.scope.tracing.reference_rows import ReferenceRow, row_of
from minifp.scope.tracing.repeating import check_recorded, module_of, operation_of
from minifp.training.diagnosis import Recorded

REFERENCES = (float32.name, float64.name)
MEASURED = 16  # operations whose effect is measured: each takes one more step of the reference


class Contribution(NamedTuple):
    """An operation, the largest error it adds to a value (relative), and what comes of it."""

    operation: str
    module: str
    line: str
    number: int
    added: float
    effect: Effect


@dataclass(frozen=True)
class ReferenceRun:
    """What a reference run shows.

    reference: the precision beside it. loss, loss_reference: of both. gradients: the error of all
    weights' gradients together, relative; weights: that of each, by name. contributions: of the
    operations whose effect was measured, the largest effect on the gradients first. sources: how
    many operations and weights add an error at all.
    """

    rows: list[ReferenceRow]
    reference: str
    loss: float
    loss_reference: float
    gradients: float
    weights: dict[str, float] = field(default_factory=dict)
    contributions: list[Contribution] = field(default_factory=list)
    sources: int = 0


def reference_run(
    recorded: Recorded, seed: float, reference: str = float64.name, measured: int | None = MEASURED
) -> ReferenceRun:
    """Do a step again beside a reference, "float64" or "float32", and return its errors.

    recorded: a backward of the step, whose operations are not forgotten yet: between
    optimizer.backward(loss) and the end of optimizer.step(), as in an observer's on_update. seed:
    what its gradients were multiplied by; they keep it, in both. measured: of how many operations,
    those that add most, the effect is measured; None for all. Nothing is changed by it.
    Raises ArgumentError for another reference, or one narrower than what the step stores, TapeError
    for a step that is forgotten, DeviceError for one on a GPU.
    """
    check_recorded("reference_run", recorded)
    check_reference(recorded, reference)
    t = PairedRuns(recorded, seed, as_precision(reference))
    with unobserved(), np.errstate(all="ignore"):
        rows = [(value.node, row_of(value)) for value in t.values()]
        sources = sources_of(rows)
        contributions = [contribution_of(t, *source) for source in sources[:measured]]
        loss, exact = (o[t.loss.gradient_node][t.loss.index].array for o in (t.stored, t.reference))
        return ReferenceRun(
            rows=[row for _, row in rows],
            reference=reference,
            loss=float(loss),
            loss_reference=float(exact),
            gradients=relative(list(t.gradients.values())),
            weights={name_of(leaf): relative([pair]) for leaf, pair in t.gradients.items()},
            contributions=sorted(contributions, key=lambda each: -each.effect.gradients),
            sources=len(sources),
        )


def check_reference(recorded: Recorded, reference: str) -> None:
    """Raise ArgumentError for a reference that is none, or too narrow for the step."""
    if reference not in REFERENCES:
        raise ArgumentError(
            f"reference_run: reference={reference!r}: expected {' or '.join(REFERENCES)}"
        )
    formats = {
        d for v in recorded.order for d in getattr(v, "formats", (getattr(v, "dtype", None),))
    }
    if reference == float32.name and float64 in formats:
        raise ArgumentError(
            "reference_run: reference='float32' for a step that stores float64: expected a format "
            "that is at least as wide: use 'float64'"
        )


def name_of(leaf: Any) -> str:
    """A weight's name, or what it looks like."""
    return module_of(leaf) or f"leaf {leaf.shape} at {id(leaf):x}"


def sources_of(rows: list) -> list:
    """(node, the row with its largest error) of all that add one, the largest first.

    rows: pairs of a node and a row, in the order of the step.
    """
    largest: dict[Any, ReferenceRow] = {}
    for node, row in rows:
        if row.added and (node not in largest or row.added > largest[node].added):
            largest[node] = row
    return sorted(largest.items(), key=lambda item: -item[1].added)


def contribution_of(t: PairedRuns, node: Any, row: ReferenceRow) -> Contribution:
    """What comes of the error of one node."""
    of_it = operation_of(node), row.module, row.line, row.number, row.added
    return Contribution(*of_it, effect_of(t, node))
