"""Doing a skipped step once more, to find the first operation that made Inf or NaN.

It is done (see replay.py) from the same weights, batch and random numbers, and each value is looked
at: first forward, then backward with the loss scale it had. Where backward fails, it is tried
without the scale as well: what then is finite failed only because S was too large, as is expected
once in a while. Any other is a fault that no loss scale can cure, and that fault is reported.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from minifp.autograd.backward import arrive, first_gradient, rounded, run_backward
from minifp.autograd.kept_operands import Reading
from minifp.autograd.op import line_of
from minifp.autograd.replay import again, arguments_of, arrays_among, leaf_like, unobserved
from minifp.autograd.tape import Node, Tensor
from minifp.derive.dtypes import name_of
from minifp.errors import MinifpError
from minifp.numerics.formats import as_native
from minifp.runtime.device import moved
from minifp.training.diagnosis import (
    BACKWARD,
    CHANGED,
    FORWARD,
    INPUT,
    LET_GO,
    SUM,
    UNKNOWN,
    UNSCALE,
    Diagnosis,
    Place,
    Range,
    Recorded,
)


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
        sums: dict = {loss.gradient_node: {loss.index: first_gradient(loss, None, seed)}}
        for node in reversed(self.order):
            if node not in sums:
                continue
            dys = rounded(node, sums.pop(node))
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
            arrive(sums, node.parents, gradients, node.precision)
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
    for item in Reading(node).saved:
        flat += item if isinstance(item, (tuple, list)) else [item]
    return arrays_among(flat)


def is_finite(array: Any) -> bool:
    """Whether all numbers of an array are finite."""
    return bool(np.isfinite(as_native(moved(array, "cpu"))).all())


def ranges(arguments: Sequence) -> tuple[Range, ...]:
    """The Range of each floating array among arguments."""
    return tuple(map(range_of, arrays_among(arguments)))


def range_of(array: Any) -> Range:
    """Format, shape, smallest and largest finite number of an array."""
    array = moved(array, "cpu")
    numbers = as_native(array)
    numbers = numbers[np.isfinite(numbers)]
    low, high = (numbers.min(), numbers.max()) if numbers.size else (np.nan, np.nan)
    whole = numbers.size == array.size
    return Range(name_of(array.dtype), array.shape, float(low), float(high), whole)
