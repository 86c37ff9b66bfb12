"""The geometry of depthwise convolutions: tables of where the loops of lanes.py read and write.

Planes lie in the workspace with their zeros around them, a lane for each plane, so that a stride or
a dilation is only a longer step. All places are those of float32 numbers: a plane's own times
LANES.
"""

from functools import cache
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from minifp.ops.convolution.conv_plan_numba import (
    as_pictures,
    backward_axis,
    forward_axis,
    geometry_of,
)
from minifp.runtime.cpu.kernels.lanes import OUTPUTS, TAPS
from minifp.runtime.cpu.kernels.tile import LANES


class LanePlan(NamedTuple):
    """What a call is told of its planes.

    places: where each number of a plane goes; behind all, what no window reads. phases: for each
    kind of results how many places of the kernel they read, the first of these in `steps` and
    `taps`, their first result in `starts` and `targets`, and how many they are. steps: how far
    behind where a window starts it reads; taps: at which place of the kernel. results: where those
    of a plane begin; size: numbers of the workspace.
    """

    places: np.ndarray
    phases: np.ndarray
    steps: np.ndarray
    starts: np.ndarray
    targets: np.ndarray
    taps: np.ndarray
    results: int
    size: int


def length_of(axis):
    """How many numbers of a padded axis are read."""
    reads = [
        axis.stride * (phase.windows - 1 + shift) + a
        for phase in axis.phases
        for _, a, shift in phase.taps
    ]
    return max(reads, default=-1) + 1


def places_of(down, across):
    """Where each number of a plane lies; then as many as there are lanes, outside."""
    height, width = length_of(down), length_of(across)
    h, w = np.arange(down.n)[:, None] + down.before, np.arange(across.n) + across.before
    inside = (h >= 0) & (h < height) & (w >= 0) & (w < width)
    found = np.where(inside, h * width + w, height * width)
    return np.append(found, [height * width] * LANES) * LANES


def whole_blocks(table, unit):
    """A table with its last entry repeated until its length is a multiple of a unit."""
    return np.append(table, table[-1:].repeat(-len(table) % unit))


def lane_plan(down, across, sizes, row) -> LanePlan:
    """The LanePlan of correlations along two Axes. sizes: of a plane of results; row: of the
    kernel."""
    height, width = length_of(down), length_of(across)
    results = (height * width + 1) * LANES
    phases: list[tuple] = []
    steps: list[np.ndarray] = []
    taps: list[np.ndarray] = []
    starts: list[np.ndarray] = []
    targets: list[np.ndarray] = []
    for h, v in product(down.phases, across.phases):
        if not (h.taps and v.taps):
            continue  # whose results are 0
        i, a, below = np.array(h.taps).T[:, :, None]
        j, b, beside = np.array(v.taps).T
        p, q = np.ogrid[: h.windows, : v.windows]
        step = (a + down.stride * below) * width + b + across.stride * beside
        start = (down.stride * p * width + across.stride * q).reshape(-1)
        target = ((h.first + h.step * p) * sizes[1] + v.first + v.step * q).reshape(-1)
        count = len(whole_blocks(start, OUTPUTS))
        phases.append((step.size, sum(a.size for a in steps), sum(a.size for a in starts), count))
        steps.append(step.reshape(-1) * LANES)
        taps.append((i * row + j).reshape(-1))
        starts.append(whole_blocks(start, OUTPUTS) * LANES)
        targets.append(whole_blocks(target, OUTPUTS) * LANES + results)
    return LanePlan(
        places=as_table(places_of(down, across)),
        phases=np.array(phases, np.int64).reshape(-1, 4),
        steps=as_table(*steps),
        starts=as_table(*starts),
        targets=as_table(*targets),
        taps=as_table(*taps),
        results=results,
        size=results + sizes[0] * sizes[1] * LANES,
    )


def as_table(*parts):
    """Lists of places one after the other, as kernels take them."""
    return np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int32)


@cache
def forward_lanes(x_shape, w_shape, counts, *geometry):
    """The LanePlan of a forward call."""
    counts, *geometry = geometry_of(counts, *geometry)
    sizes, kernel = as_pictures(x_shape)[2:], as_pictures(w_shape)[2:]
    down, across = map(forward_axis, sizes, counts, kernel, *geometry)
    return lane_plan(down, across, counts, kernel[1])


@cache
def backward_lanes(dy_shape, w_shape, x_sizes, *geometry):
    """The LanePlan of a call for dx."""
    sizes, *geometry = geometry_of(x_sizes, *geometry)
    counts, kernel = as_pictures(dy_shape)[2:], as_pictures(w_shape)[2:]
    down, across = map(backward_axis, sizes, counts, kernel, *geometry)
    return lane_plan(down, across, sizes, kernel[1])


@cache
def sum_plan(x_shape, w_shape, counts, *geometry):
    """What a call for dw is told: the LanePlan of the forward call; its steps, in whole blocks of
    as many sums as are added up at once; and the places of dy, behind the planes of x."""
    plan = forward_lanes(x_shape, w_shape, counts, *geometry)
    places = np.arange(prod(counts) + LANES) * LANES + plan.results
    return plan, as_table(whole_blocks(plan.steps, TAPS)), as_table(places)
