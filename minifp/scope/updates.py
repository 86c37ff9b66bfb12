"""Updates that were lost: wanted by the rule, but no weight changed.

A float16 weight changes only where an update is at least half the gap between it and its neighbour:
about 1/2048 of it or more (Micikevicius et al. 2018, section 3.1). What the rule wants is found by
applying it to float32 copies of the weights, just before the step.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.replay import unobserved
from minifp.numerics import policy
from minifp.numerics.formats import as_native, downcast, float16, float32, upcast, wider
from minifp.runtime.device import moved


@dataclass
class Updates:
    """What became of one parameter's updates in one step: counts of elements.

    count: all. wanted: those whose update a float32 weight would have felt. lost: of these, those
    that did not change where weights are kept (in float32 masters, with what compensates for
    rounding, or else as they are stored). waiting: changed there, but not (yet) in what is stored.
    lost_in_half: those that would be lost, or are, if float16 weights were kept alone.
    zero_gradients: those whose gradient was 0. ratio: the norm of the update over that of the
    weights.
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
    """A run of parameters just before they are updated: names, slices, and flat arrays.

    of: the number of their optimizer, among several on one scale.
    kept: the weights as they are kept. stored: as they are stored. wide: in float32 (or wider), and
    updated: what the rule makes of them there.
    """

    of: int
    weights: Any
    parts: list  # (parameter's name, where it lies in the arrays below)
    at: slice
    kept: np.ndarray
    stored: np.ndarray
    wide: np.ndarray
    updated: np.ndarray
    gradient: np.ndarray


def wanted_updates(optimizer: Any, gradients: list, factor: float, names: dict) -> list[Wanted]:
    """What a MixedOptimizer's step is about to do, found on copies; nothing is changed.

    gradients, factor: as it has them at that moment. names: of parameters, by id.
    """
    found = []
    with unobserved(), policy.precision(policy.SINGLE), np.errstate(all="ignore"):
        for i, (o, of_optimizer) in enumerate(zip(optimizer.optimizers, gradients)):
            for block, given in zip(o.blocks, of_optimizer):
                runs = of_block(o, block, given, factor, names)
                found += [Wanted(i, *run) for run in runs]
    return found


def of_block(o: Any, block: Any, given: Any, factor: float, names: dict) -> list[tuple]:
    """The runs of one block, each as all that a Wanted has but its optimizer."""
    block.weights.take_up_assigned()
    scale, found = -factor if block.group.get("maximize") else factor, []
    for first, last in block.runs(given, o.alone):
        slices = block.weights.slices[first:last]
        at, start = slice(slices[0].start, slices[-1].stop), slices[0].start
        kept, stored = (copied(a) for a in (block.weights.opened(at), block.weights.stored[at]))
        gradient = moved(given.flat(first, last), "cpu")
        state: dict = {name: copied(array[at]) for name, array in block.state.items()}
        state |= {name: values[first] for name, values in block.numbers.items()}
        wide = upcast(kept, wider(kept.dtype, float32))
        updated = wide.copy()
        o.update(block.group, updated, gradient, state, block.steps[first] + 1, scale)
        parts = [
            (names.get(id(p)) or f"parameter {first + i}", slice(s.start - start, s.stop - start))
            for i, (p, s) in enumerate(zip(block.weights.parameters[first:last], slices))
        ]
        found.append((block.weights, parts, at, kept, stored, wide, updated, gradient))
    return found


def copied(array: Any) -> np.ndarray:
    """A copy on the CPU."""
    return np.array(moved(array, "cpu"))


def became_of(wanted: list[Wanted]) -> dict[str, Updates]:
    """What became of these updates, asked after the step: by parameter."""
    found: dict[str, Updates] = {}
    for run in wanted:
        update = run.updated - run.wide
        masks = masks_of(run, update)
        for name, part in run.parts:
            wants, lost, waiting, in_half, zeros = (int(np.count_nonzero(m[part])) for m in masks)
            size, length = (float(np.linalg.norm(a[part])) for a in (run.wide, update))
            count, ratio = part.stop - part.start, length / size if size else 0.0
            found[name] = Updates(count, wants, lost, waiting, in_half, zeros, ratio)
    return found


def masks_of(run: Wanted, update: np.ndarray) -> tuple:
    """For each element whether it counts as what Updates names, in its order."""
    arrays = run.weights.opened(run.at), run.weights.stored[run.at]
    kept_now, stored_now = (moved(a, "cpu") for a in arrays)
    wants, stays = run.updated != run.wide, kept_now == run.kept
    with np.errstate(all="ignore"):
        half = downcast(run.wide, float16)
        stays_in_half = downcast(upcast(half, run.wide.dtype) + update, float16) == half
    waits = wants & ~stays & (stored_now == run.stored)
    return wants, wants & stays, waits, wants & stays_in_half, as_native(run.gradient) == 0
