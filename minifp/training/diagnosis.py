"""Why a step was skipped: the first operation that made Inf or NaN.

The skipped step is done once more (see replay.py), from the same weights, batch and random numbers,
and each value is looked at: first forward, then backward with the loss scale it had. Where backward
fails, it is tried without the scale as well: what then is finite failed only because S was too
large, as is expected once in a while; what is not is a fault that no loss scale mends, and that
fault is what is told.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.backward import accumulate, first_gradient, forget, format_of, run_backward
from minifp.autograd.op import line_of
from minifp.autograd.replay import again, arguments_of, arrays_among, leaf_like, unobserved
from minifp.autograd.tape import Node, Tensor
from minifp.errors import MinifpError
from minifp.runtime.device import moved

FORWARD, BACKWARD, UNSCALE, UNKNOWN = "forward", "backward", "unscale", "unknown"
INPUT, SUM = "input", "sum of gradients"  # in the place of an operation
CHANGED, LET_GO = "changed since", "let go"  # the same, where the phase is unknown
WITHOUT_OPERATION = {
    UNSCALE: "the step done again has finite gradients: what changed them between backward and "
    "step, or in a hook, or adding them up, made Inf or NaN",
    CHANGED: "the step done again is another: its batch or its weights were changed in place since "
    "backward, so what made Inf or NaN cannot be told",
    LET_GO: "the last backwards of this step, done again, have finite gradients: it was one before "
    "them, which was not kept, that made Inf or NaN",
}


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

    phase: "forward", "backward", "unscale" for what happened to finite gradients between backward
        and step, or "unknown" for a step that cannot be done again as it was. operation: its name;
        "input" for a batch or a weight that was not finite, "sum of gradients" where gradients
        meet. module: the path of the module that called it.
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
        return self.place if self.phase in (UNSCALE, UNKNOWN) else f"{self.place}; {self.verdict}"

    @property
    def place(self) -> str:
        """Which operation it was, and what it was given."""
        if self.operation in WITHOUT_OPERATION and self.phase in (UNSCALE, UNKNOWN):
            return WITHOUT_OPERATION[self.operation]
        where = f" in {self.module}" if self.module else ""
        line = f" ({self.line})" if self.line else ""
        inputs = "; ".join(map(str, self.inputs))
        what = f"{self.phase} of {self.operation}"
        if self.operation == INPUT:
            what = f"{self.phase}: what is given"
        inputs = f", given {inputs}" if inputs else ""
        return f"{what}{where}{line} made the first Inf or NaN{inputs}"

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

    @property
    def remedy(self) -> str:
        """What to do where it goes on and on."""
        if self.phase == UNSCALE:
            return "Look at what changes gradients between backward and step"
        if self.phase == UNKNOWN:
            return f"{LOOK}, or {LOWER}"
        if self.persists:
            return f"No loss scale mends that. {LOOK}"
        return f"Without a loss scale all is finite: S = {self.scale:g} is too large; {LOWER}"


LOOK = "Look at the data and the learning rate"
LOWER = "lower the loss scale (its init_scale and min_scale, where it is dynamic)"


class Recorded(NamedTuple):
    """One backward of a step: the loss, and the nodes it went through (see backward.propagate).

    scale: the loss scale in it; None where only a GPU knows it. retained: whether its graph is for
    another backward too, so that it is not for the step to let go of it.
    """

    loss: Tensor
    order: list
    scale: float | None = None
    retained: bool = False

    @property
    def known(self) -> bool:
        """Whether all its operations can be done again."""
        calls = [v.call for v in self.order if type(v) is Node]
        return bool(calls) and None not in calls

    def let_go(self) -> "Recorded":
        """The loss alone, of what need not be done again."""
        if not self.retained:
            forget(self.order)
        return Recorded(self.loss.detach(), [], self.scale)


def diagnose(backwards: Sequence[Recorded], scale: float, dial: int = 0) -> Diagnosis | None:
    """Do a skipped step again and say where it failed.

    scale: the loss scale, of a backward that does not know its own. dial: the exponent dial.
    Returns None for a step of which nothing can be done again.
    """
    known = [b for b in backwards if b.known]
    if not known:
        return None
    unsure = [] if len(known) == len(backwards) else [Diagnosis(UNKNOWN, LET_GO, scale=scale)]
    with unobserved(), np.errstate(all="ignore"):
        for backward in known:
            diagnosis = in_step(backward, backward.scale or scale, dial)
            if diagnosis is not None and diagnosis.phase != UNKNOWN:
                return diagnosis
            unsure += [diagnosis] if diagnosis else []
    return unsure[-1] if unsure else Diagnosis(UNSCALE, UNSCALE, scale=scale)


def in_step(backward: Recorded, scale: float, dial: int) -> Diagnosis | None:
    """Where one forward and backward fail; None where all is finite."""
    graph, seed = Graph(), math.ldexp(scale, -dial)
    try:
        place = graph.forward(backward.order)
    except MinifpError:  # which it did not raise before
        return Diagnosis(UNKNOWN, CHANGED, scale=scale)
    loss = graph.copies[backward.loss.gradient_node][backward.loss.index]
    before, now = (moved(t.array, "cpu") for t in (backward.loss, loss))
    if not np.array_equal(before, now, equal_nan=True):
        return Diagnosis(UNKNOWN, CHANGED, scale=scale)
    if place is not None:
        return Diagnosis(FORWARD, *place, scale=scale)
    place = graph.backward(loss, seed)
    if place is None:
        return None
    unscaled = graph.backward(loss, seed / scale)
    return Diagnosis(BACKWARD, *(unscaled or place), scale, unscaled is not None)


class Graph:
    """A graph that is made again, with every value looked at."""

    def __init__(self) -> None:
        self.copies: dict[Any, tuple[Tensor, ...]] = {}
        self.originals: dict[Any, Any] = {}  # node of the copy -> that of the original
        self.order: list = []  # of the copies, the first first

    def forward(self, order: list) -> Place | None:
        """Do all operations again; what is known of the first that fails, or None."""
        place = None
        for node in reversed(order):
            if isinstance(node, Tensor):
                outputs: tuple[Tensor, ...] = (leaf_like(node),)
                arguments: list = []
            else:
                arguments = arguments_of(node, self.copies)
                outputs = again(node, arguments)
            place = place or first_failure(node, arguments, outputs)
            self.copies[node] = outputs
            copy = outputs[0].gradient_node
            self.originals[copy] = node
            self.order.append(copy)
        return place

    def backward(self, loss: Tensor, seed: float) -> Place | None:
        """Take gradients back; what is known of the first that is not finite, or None."""
        sums: dict = {}
        accumulate(sums, loss.gradient_node, loss.index, first_gradient(loss, None, seed))
        for node in reversed(self.order):
            if node not in sums:
                continue
            dys = {i: s.rounded(format_of(node, i)) for i, s in sums.pop(node).items()}
            original = self.originals[node]
            where = getattr(original, "module", None) or getattr(original, "name", None) or ""
            if not all(map(is_finite, dys.values())):
                return Place(SUM, where)
            if isinstance(node, Tensor):
                continue
            gradients = run_backward(node, dys)
            if not all(map(is_finite, arrays_among(gradients))):
                line = line_of(original)
                return Place(original.op, where, line, ranges([*dys.values(), *saved_by(node)]))
            for (parent, i), gradient in zip(node.parents, gradients):
                if parent is not None:
                    accumulate(sums, parent, i, gradient, node.precision)
        return None


def first_failure(node: Any, arguments: list, outputs: Sequence) -> Place | None:
    """What is known of an operation, or a leaf, if it is given or makes what is not finite."""
    broken = [a for a in arrays_among(arguments) if not is_finite(a)]
    if not broken and all(map(is_finite, arrays_among(outputs))):
        return None
    if isinstance(node, Tensor):
        return Place(INPUT, getattr(node, "name", None) or "", inputs=ranges([node]))
    place = node.module, line_of(node)
    if broken:
        return Place(INPUT, *place, ranges(broken))
    return Place(node.op, *place, ranges(arguments))


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
