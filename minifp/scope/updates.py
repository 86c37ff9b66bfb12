"""Updates that were lost: wanted by the rule, but no weight changed.

A float16 weight changes only where an update is at least half the gap between it and its neighbour:
about 1/2048 of it or more (Micikevicius et al. 2018, section 3.1); a bfloat16 weight, with three
bits less, only where it is eight times as large. What the rule wants is found by applying it to
float32 copies of the weights, just before the step.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.replay import unobserved
from minifp.numerics import policy
from minifp.numerics.formats import (
    as_native,
    float16,
    float32,
    format_of,
    is_narrow,
    round_to,
    upcast,
    wider,
)
from minifp.runtime.device import moved

LOST = "lost"
ALONE = (float16.name, "bfloat16")  # in which weights might be kept alone


@dataclass
class Updates:
    """What became of one parameter's updates in one step: counts of elements.

    count: all. wanted: those whose update a float32 weight would have felt. lost: of these, those
    that did not change where weights are kept (in float32 masters, with what compensates for
    rounding, or else as they are stored). waiting: changed there, but not (yet) in what is stored.
    alone: those that would be lost, or are, if weights were kept alone in a format, by its name:
    float16, bfloat16, and that in which they are stored.
    zero_gradients: those whose gradient was 0. ratio: the norm of the update over that of the
    weights.
    """

    count: int
    wanted: int
    lost: int
    waiting: int
    alone: dict[str, int]
    zero_gradients: int
    ratio: float

    def number(self, what: str) -> int:
        """How many are "lost", or would be if weights were kept alone in a format of this name; 0
        for one that was not asked."""
        return self.lost if what == LOST else self.alone.get(what, 0)

    def share(self, what: str) -> float:
        """The same as a share of the wanted ones."""
        return self.number(what) / self.wanted if self.wanted else 0.0


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
    weights_before: np.ndarray
    stored: np.ndarray
    wide: np.ndarray
    updated: np.ndarray
    gradient: np.ndarray


def wanted_updates(optimizer: Any, gradients: list, factor: float, names: dict) -> list[Wanted]:
    """What a MixedOptimizer's step is about to do, found on copies; nothing is changed.

    gradients, factor: as it has them at that moment. names: of parameters, by id.
    """
    updates = []
    with unobserved(), policy.precision(policy.SINGLE), np.errstate(all="ignore"):
        for i, (o, of_optimizer) in enumerate(zip(optimizer.optimizers, gradients)):
            for block, block_gradients in zip(o.blocks, of_optimizer):
                runs = of_block(o, block, block_gradients, factor, names)
                updates += [Wanted(i, *run) for run in runs]
    return updates


def of_block(o: Any, block: Any, gradients: Any, factor: float, names: dict) -> list[tuple]:
    """The runs of one block, each as all that a Wanted has but its optimizer."""
    block.weights.take_up_assigned()
    scale, runs = -factor if block.group.get("maximize") else factor, []
    for first, last in block.runs(gradients, o.alone):
        slices = block.weights.slices[first:last]
        at, start = slice(slices[0].start, slices[-1].stop), slices[0].start
        masters, stored = (copied(a) for a in (block.weights.opened(at), block.weights.stored[at]))
        gradient = moved(gradients.flat(first, last, at), "cpu")
        state: dict = {name: copied(masters.opened(at)) for name, masters in block.state.items()}
        state |= {name: values[first] for name, values in block.numbers.items()}
        wide = upcast(masters, wider(masters.dtype, float32))
        updated = wide.copy()
        o.update(block.group, updated, gradient, state, block.steps[first] + 1, scale)
        parts = [
            (names.get(id(p)) or f"parameter {first + i}", slice(s.start - start, s.stop - start))
            for i, (p, s) in enumerate(zip(block.weights.parameters[first:last], slices))
        ]
        runs.append((block.weights, parts, at, masters, stored, wide, updated, gradient))
    return runs


def copied(array: Any) -> np.ndarray:
    """A copy on the CPU."""
    return np.array(moved(array, "cpu"))


def became_of(runs: list[Wanted]) -> dict[str, Updates]:
    """What became of these updates, asked after the step: by parameter."""
    updates_by_name: dict[str, Updates] = {}
    for run in runs:
        update = run.updated - run.wide
        masks, alone = masks_of(run, update), alone_of(run, update)
        for name, part in run.parts:
            wants, lost, waiting, zeros = (int(np.count_nonzero(m[part])) for m in masks)
            lost_in = {name: int(np.count_nonzero(m[part])) for name, m in alone.items()}
            size, length = (float(np.linalg.norm(a[part])) for a in (run.wide, update))
            count, ratio = part.stop - part.start, length / size if size else 0.0
            updates_by_name[name] = Updates(count, wants, lost, waiting, lost_in, zeros, ratio)
    return updates_by_name


def masks_of(run: Wanted, update: np.ndarray) -> tuple:
    """For each element whether it is wanted, lost, waiting, and without a gradient."""
    arrays = run.weights.opened(run.at), run.weights.stored[run.at]
    weights_after, stored_now = (moved(a, "cpu") for a in arrays)
    wants, stays = run.updated != run.wide, weights_after == run.weights_before
    waits = wants & ~stays & (stored_now == run.stored)
    return wants, wants & stays, waits, as_native(run.gradient) == 0


def alone_of(run: Wanted, update: np.ndarray) -> dict[str, np.ndarray]:
    """For each element whether it would be lost if weights were kept in a format alone."""
    own = [format_of(run.stored.dtype).name] if is_narrow(run.stored.dtype) else []
    wants, lost = run.updated != run.wide, {}
    with np.errstate(all="ignore"):
        for name in dict.fromkeys((*ALONE, *own)):
            before = round_to(run.wide, format_of(name).stored)
            after = round_to(before + update, format_of(name).stored)
            lost[name] = wants & (after == before)
    return lost
