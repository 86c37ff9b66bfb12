"""Why a step was skipped: the first operation that made Inf or NaN.

The skipped step is done once more (see replay.py), from the same weights, batch and random numbers,
and each value is looked at: first forward, then backward with the loss scale it had. Where backward
fails, it is tried without the scale as well: what then is finite failed only because S was too
large, as is expected once in a while; what is not is a fault that no loss scale mends, and that
fault is what is told.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minifp.device import moved
from minifp.recording import line_of
from minifp.replay import again, arguments_of, arrays_among, leaf_like, unobserved
from minifp.tape import Node, Tensor
from minifp.walk import first_gradient, format_of, meet, run_backward

FORWARD, BACKWARD, UNSCALE = "forward", "backward", "unscale"
INPUT, SUM = "input", "sum of gradients"  # in the place of an operation


class Range(NamedTuple):
    """What an operation was given: format, shape, and the smallest and largest finite number."""

    dtype: str
    shape: tuple[int, ...]
    low: float
    high: float
    finite: bool

    def __str__(self) -> str:
        broken = "" if self.finite else ", not all finite"
        return f"{self.dtype} {self.shape} from {self.low:.3g} to {self.high:.3g}{broken}"


class Place(NamedTuple):
    """What is known of an operation that failed: see Diagnosis."""

    operation: str
    module: str = ""
    line: str = ""
    inputs: tuple[Range, ...] = ()


@dataclass(frozen=True)
class Diagnosis:
    """Where the first value that is not finite arose.

    phase: "forward", "backward", or "unscale" for what happened to finite gradients between
        backward and step. operation: its name; "input" for a batch or a weight that was not finite,
        "sum of gradients" where gradients meet. module: the path of the module that called it.
    line: where in the user's code, "file:line: text". inputs: what it was given.
    persists: whether it is not finite without a loss scale either (always so in forward).
    """

    phase: str
    operation: str
    module: str = ""
    line: str = ""
    inputs: tuple[Range, ...] = ()
    scale: float = 1.0
    persists: bool = True

    def __str__(self) -> str:
        if self.phase == UNSCALE:
            return (
                "the step done again has finite gradients: what changed them between backward and "
                "step, or adding them up, made Inf or NaN"
            )
        where = f" in {self.module}" if self.module else ""
        line = f" ({self.line})" if self.line else ""
        given = "; ".join(map(str, self.inputs))
        what = f"{self.phase} of {self.operation}"
        if self.operation == INPUT:
            what = f"{self.phase}: what is given"
        given = f", given {given}" if given else ""
        return f"{what}{where}{line} made the first Inf or NaN{given}; {self.verdict}"

    @property
    def verdict(self) -> str:
        """Whether the loss scale is to blame."""
        if self.phase == FORWARD:
            return "this is in forward, which no loss scale mends"
        if self.persists:
            return "it does so without a loss scale too, so it is a fault that no loss scale mends"
        return (
            f"without a loss scale all is finite: S = {self.scale:g} was too large, as is expected "
            "once in a while"
        )


class Recorded(NamedTuple):
    """One backward of a step: the loss, and the vertices it went through (see walk.propagate)."""

    loss: Tensor
    order: list


def diagnose(backwards: Sequence[Recorded], seed: float, scale: float) -> Diagnosis | None:
    """Do a skipped step again and say where it failed.

    seed: that of the backward. scale: the loss scale in it, for what is said of it.
    Returns None for a step that cannot be done again.
    """
    known = [b for b in backwards if any(type(v) is Node and v.call for v in b.order)]
    if not known:
        return None
    with unobserved(), np.errstate(all="ignore"):
        for backward in known:
            found = in_step(backward, seed, scale)
            if found is not None:
                return found
    return Diagnosis(UNSCALE, UNSCALE, scale=scale)


def in_step(backward: Recorded, seed: float, scale: float) -> Diagnosis | None:
    """Where one forward and backward fail; None where all is finite."""
    graph = Graph()
    found = graph.forward(backward.order)
    if found is not None:
        return Diagnosis(FORWARD, *found, scale=scale)
    loss = graph.copies[backward.loss.vertex][backward.loss.index]
    found = graph.backward(loss, seed)
    if found is None:
        return None
    unscaled = graph.backward(loss, seed / scale)
    return Diagnosis(BACKWARD, *(unscaled or found), scale, unscaled is not None)


class Graph:
    """A graph that is made again, with every value looked at."""

    def __init__(self) -> None:
        self.copies: dict[Any, tuple[Tensor, ...]] = {}
        self.originals: dict[Any, Any] = {}  # vertex of the copy -> that of the original
        self.order: list = []  # of the copies, the first first

    def forward(self, order: list) -> Place | None:
        """Do all operations again; what is known of the first that fails, or None."""
        for vertex in reversed(order):
            if isinstance(vertex, Tensor):
                made: tuple[Tensor, ...] = (leaf_like(vertex),)
                arguments: list = []
            else:
                arguments = arguments_of(vertex, self.copies)
                broken = [a for a in arrays_among(arguments) if not is_finite(a)]
                if broken:
                    return Place(INPUT, vertex.module, line_of(vertex), ranges(broken))
                made = again(vertex, arguments)
            self.copies[vertex] = made
            copy = made[0].vertex
            self.originals[copy] = vertex
            self.order.append(copy)
            if not all(map(is_finite, arrays_among(made))):
                if isinstance(vertex, Tensor):
                    name = getattr(vertex, "name", None) or ""
                    return Place(INPUT, name, inputs=ranges([vertex]))
                return Place(vertex.op, vertex.module, line_of(vertex), ranges(arguments))
        return None

    def backward(self, loss: Tensor, seed: float) -> Place | None:
        """Take gradients back; what is known of the first that is not finite, or None."""
        sums: dict = {}
        meet(sums, loss.vertex, loss.index, first_gradient(loss, None, seed))
        for vertex in reversed(self.order):
            if vertex not in sums:
                continue
            arrived = {i: s.rounded(format_of(vertex, i)) for i, s in sums.pop(vertex).items()}
            original = self.originals[vertex]
            where = getattr(original, "module", None) or getattr(original, "name", None) or ""
            if not all(map(is_finite, arrived.values())):
                return Place(SUM, where)
            if isinstance(vertex, Tensor):
                continue
            gradients = run_backward(vertex, arrived)
            if not all(map(is_finite, arrays_among(gradients))):
                line = line_of(original)
                given = ranges([*arrived.values(), *saved_by(vertex)])
                return Place(original.op, where, line, given)
            for (parent, i), gradient in zip(vertex.parents, gradients):
                if parent is not None:
                    meet(sums, parent, i, gradient, vertex.precision)
        return None


def saved_by(node: Node) -> list:
    """The floating arrays that backward of an operation reads."""
    flat: list = []
    for item in node.saved:
        flat += item if isinstance(item, (tuple, list)) else [item]
    return arrays_among(flat)


def is_finite(array: Any) -> bool:
    """Whether all numbers of an array are finite."""
    return bool(np.isfinite(moved(array, "cpu")).all())


def ranges(arguments: Sequence) -> tuple[Range, ...]:
    """The Range of each floating array among arguments."""
    return tuple(map(range_of, arrays_among(arguments)))


def range_of(array: Any) -> Range:
    """Format, shape, smallest and largest finite number of an array."""
    array = moved(array, "cpu")
    numbers = array[np.isfinite(array)]
    low, high = (numbers.min(), numbers.max()) if numbers.size else (np.nan, np.nan)
    whole = numbers.size == array.size
    return Range(array.dtype.name, array.shape, float(low), float(high), whole)
