"""Updates that were lost: wanted by the rule, but no weight changed.

A float16 weight changes only where an update is at least half the gap between it and its neighbour:
about 1/2048 of it or more (Micikevicius et al. 2018, section 3.1). What the rule wanted is found by
applying it to copies in float64; a weight that then changed by less than its format can tell, did
not change where it is kept.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minifp import policy
from minifp.device import moved
from minifp.formats import float16, float32, float64, narrow, widen
from minifp.replay import unobserved


@dataclass
class Updates:
    """What became of one parameter's updates in one step: counts of elements.

    count: all. wanted: those whose update a float32 weight would have felt. lost: of these, those
    that did not change where weights are kept (in float32 masters, or else as they are stored).
    waiting: changed in the masters, but not (yet) in the stored copy. lost_in_half: those that
    would be lost, or are, if float16 weights were kept alone. zero_gradients: those whose gradient
    was 0. ratio: the norm of the update over that of the weights.
    """

    count: int
    wanted: int
    lost: int
    waiting: int
    lost_in_half: int
    zero_gradients: int
    ratio: float

    def share(self, what: str) -> float:
        """One of these counts (lost, waiting, lost_in_half) as a share of the wanted ones."""
        return getattr(self, what) / self.wanted if self.wanted else 0.0


class Wanted(NamedTuple):
    """A run of parameters just before they are updated: names, slices, and flat arrays."""

    weights: Any
    parts: list  # (parameter's name, where it lies in the arrays below)
    at: slice
    kept: np.ndarray
    stored: np.ndarray
    update: np.ndarray
    gradient: np.ndarray


def wanted_updates(optimizer: Any, gradients: list, factor: float, names: dict) -> list[Wanted]:
    """What a MixedOptimizer's step is about to do, found on copies; nothing is changed.

    gradients, factor: as it has them at that moment. names: of parameters, by id.
    """
    found = []
    with unobserved(), policy.precision(float64.name), np.errstate(all="ignore"):
        for o, of_optimizer in zip(optimizer.optimizers, gradients):
            for block, given in zip(o.blocks, of_optimizer):
                found += of_block(o, block, given, factor, names)
    return found


def of_block(o: Any, block: Any, given: Any, factor: float, names: dict) -> list[Wanted]:
    """The runs of one block."""
    block.weights.take_up_assigned()
    scale, found = -factor if block.group.get("maximize") else factor, []
    for first, last in block.runs(given, o.alone):
        slices = block.weights.slices[first:last]
        at, start = slice(slices[0].start, slices[-1].stop), slices[0].start
        kept, stored = (
            np.array(moved(a[at], "cpu")) for a in (block.weights.flat, block.weights.stored)
        )
        gradient = moved(given.flat(first, last), "cpu")
        wide = np.array(widen(kept, float64))
        state: dict = {n: _wide(array[at]) for n, array in block.state.items()}
        state |= {name: values[first] for name, values in block.numbers.items()}
        step = block.steps[first] + 1
        o.update(block.group, wide, np.array(widen(gradient, float64)), state, step, scale)
        parts = [
            (names.get(id(p)) or f"parameter {first + i}", slice(s.start - start, s.stop - start))
            for i, (p, s) in enumerate(zip(block.weights.parameters[first:last], slices))
        ]
        update = wide - widen(kept, float64)
        found.append(Wanted(block.weights, parts, at, kept, stored, update, gradient))
    return found


def _wide(array):
    return np.array(widen(moved(array, "cpu"), float64))


def became_of(wanted: list[Wanted]) -> dict[str, Updates]:
    """What became of these updates, asked after the step: by parameter."""
    found: dict[str, Updates] = {}
    for run in wanted:
        masks = masks_of(run)
        for name, part in run.parts:
            wants, lost, waiting, in_half, zeros = (int(np.count_nonzero(m[part])) for m in masks)
            weights, update = widen(run.kept[part], float64), run.update[part]
            size, length = float(weights @ weights), float(update @ update)
            ratio = math.sqrt(length / size) if size else 0.0
            count = part.stop - part.start
            found[name] = Updates(count, wants, lost, waiting, in_half, zeros, ratio)
    return found


def masks_of(run: Wanted) -> tuple:
    """For each element whether it counts as what Updates names, in its order."""
    kept_now, stored_now = (moved(a[run.at], "cpu") for a in (run.weights.flat, run.weights.stored))
    stays = kept_now == run.kept
    with np.errstate(all="ignore"):
        wide = widen(run.kept, np.promote_types(run.kept.dtype, float32))
        wants = narrow(widen(wide, float64) + run.update, wide.dtype) != wide
        half = narrow(run.kept, float16)
        stays_in_half = narrow(widen(half, float64) + run.update, float16) == half
    waits = wants & ~stays & (stored_now == run.stored)
    return wants, wants & stays, waits, wants & stays_in_half, run.gradient == 0
