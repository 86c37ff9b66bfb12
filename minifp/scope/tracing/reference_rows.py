"""The rows of a reference run: what each value of the step got wrong, and what was wrong before."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from minifp.autograd.op import line_of
from minifp.autograd.tape import Node
from minifp.derive.dtypes import name_of
from minifp.numerics.formats import format_of
from minifp.scope.tracing.effects import norm, ratio
from minifp.scope.tracing.paired_runs import Value
from minifp.scope.tracing.repeating import module_of


class Ulps(NamedTuple):
    """Errors in units of the gap between numbers of the stored format, where they should lie."""

    max: float
    mean: float


@dataclass(frozen=True)
class ReferenceRow:
    """One value of the step: what its operation got wrong, and what was wrong before.

    number: of the visit to its operation, in the order of the step. phase: "forward", "backward".
    operation: its name; "weight" for a parameter, "sum of gradients" where they meet. module: the
    path of the module that called it, or the parameter's name. value: "y", or "dx" for the gradient
    of its argument x. line: "file:line: text". format, shape: as stored.
    added, inherited: the norm of each error over that of the reference; *_ulp: the same in ulp.
    """

    number: int
    phase: str
    operation: str
    module: str
    value: str
    line: str
    format: str
    shape: tuple[int, ...]
    added_ulp: Ulps
    inherited_ulp: Ulps
    added: float
    inherited: float


def row_of(value: Value) -> ReferenceRow:
    """What is told of one value."""
    node, stored = value.node, value.stored
    added, inherited, size = value.added, value.inherited, norm([value.reference])
    return ReferenceRow(
        *(value.number, value.phase, value.operation, module_of(node), value.name),
        line_of(node) if isinstance(node, Node) else "",
        *(name_of(stored.dtype), stored.shape),
        in_ulp(added, value.local, name_of(stored.dtype)),
        in_ulp(inherited, value.reference, name_of(stored.dtype)),
        ratio(norm([added]), size),
        ratio(norm([inherited]), size),
    )


def in_ulp(errors: np.ndarray, at: np.ndarray, format: str) -> Ulps:
    """The largest and the mean error, in ulp of a format at the numbers `at`."""
    if not errors.size:
        return Ulps(0.0, 0.0)
    finite = np.where(np.isfinite(at), at, 0)
    ulps = np.abs(errors) / format_of(format).ulp(finite)
    return Ulps(float(ulps.max()), float(ulps.mean()))
