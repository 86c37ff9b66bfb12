"""The geometry of convolutions without unfolding: see conv_numba.py. The kernels read it.

Along one axis: which places planes hold, and at which of them windows read. For a whole call: how
planes lie in the workspace, where each sum reads, and how weights are packed.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from minifp.errors import ShapeError
from minifp.runtime.cpu.kernels.tile import COLUMNS, LANES, PRODUCT, ROWS, up

BUDGET = 2**17  # numbers of a chunk's planes: 512 KiB of float32, in the L2 cache
CHUNKS = 8  # for as many threads there is work, where there can be
DEEP = 256  # pixels that are worth to add their sums to those of others
BLOCK = 4 * COLUMNS  # pixels whose sums wait to be stored
LARGE = 5 * BUDGET  # numbers of planes that are gathered into panels
HEAVY = 2**20  # weights: more do not stay in a cache from one panel to the next
SUMS = 2**18  # sums of several panels that wait while heavy weights are read once
PASS = 30  # pixels that are computed in the time that it takes to read them
WIDENED = 0.01  # what it costs to widen what a pixel reads, of what it costs to compute it
MANY = 48  # results that make it worth to gather what they read
LIGHT = 2**16  # weights that stay in the L2 cache
KC = 128  # places in a panel, which stays in the L1 cache
APART = COLUMNS + LANES  # rows of a panel
FAR = 128  # channels of pixels that are so far apart that few of them fit into the L1 cache


class Phase(NamedTuple):
    """Results first, first + step, ... along one axis: how many, and what they read.

    taps: (i, phase, shift): at place i of the kernel window p reads number p + shift of a phase.
    """

    first: int
    step: int
    windows: int
    taps: tuple


class Axis(NamedTuple):
    """How planes are filled along one axis, and what is read of them.

    Phase a of a plane holds places a - before, a - before + stride, ... of n, and zeros where there
    are none.
    """

    n: int
    stride: int
    before: int
    phases: tuple

    @property
    def read(self):
        """The phases of a plane that are read, in their order."""
        return sorted({a for phase in self.phases for _, a, _ in phase.taps})

    @property
    def windows(self):
        """The most windows of a phase."""
        return max(p.windows for p in self.phases)

    @property
    def reach(self):
        """How far behind its own number a window reads."""
        return max((shift for p in self.phases for _, _, shift in p.taps), default=0)

    @property
    def length(self):
        """Of a plane, if the zeros behind one line are those before the next."""
        length = self.windows
        for a in range(self.stride):
            first = max(0, -(-(self.before - a) // self.stride))  # where the first place lies
            inside = max(0, -(-(self.n + self.before - a) // self.stride) - first)
            behind = max(0, self.windows + self.reach - first - inside)
            length = max(length, inside + max(first, behind))
        return min(length, self.windows + self.reach)


def forward_axis(n, count, size, stride, padding, dilation):
    """The Axis of a convolution: window p reads place p stride + i dilation - padding."""
    taps = ((i, i * dilation % stride, i * dilation // stride) for i in range(size))
    return Axis(n, stride, padding, (Phase(0, 1, count, tuple(taps)),))


def backward_axis(n, count, size, stride, padding, dilation):
    """The Axis of its gradient for n places, read from `count` gradients of windows.

    Place r + p stride is read by window p + (r + padding - i dilation) / stride, for those i for
    which that is a whole number.
    """
    shifts = {
        r: [
            (i, (r + padding - i * dilation) // stride)
            for i in range(size)
            if (r + padding - i * dilation) % stride == 0
        ]
        for r in range(min(stride, n))
    }
    before = -min((shift for of_phase in shifts.values() for _, shift in of_phase), default=0)
    phases = (
        Phase(r, stride, -(-(n - r) // stride), tuple((i, 0, s + before) for i, s in of_phase))
        for r, of_phase in shifts.items()
    )
    return Axis(count, 1, before, tuple(phases))


class Planes(NamedTuple):
    """The planes of a chunk: of `images` pictures, or of `rows` rows of one; see `fill_run`.

    Of each channel there is a plane for each pair of phases that is read, down and across.
    """

    channels: int
    n_down: int
    n_across: int
    stride_down: int
    stride_across: int
    top: int
    left: int
    images: int
    rows: int
    height: int
    width: int
    total: int  # numbers, with what is read behind the last plane
    parts: int  # chunks of one picture
    chunks: int

    @property
    def size(self):
        """From one plane to the next."""
        return self.images * self.height * self.width


def pairs_of(down, across):
    """The pairs of phases that are read, (count, 2); phases of no taps are read by none."""
    return np.array([(a, b) for a in down.read for b in across.read], np.int64).reshape(-1, 2)


def planes(N, channels, down, across, beside=0, block=0, deep=0):
    """Planes for N pictures. beside: planes of results that lie in the workspace as well.
    block: pixels of panels whose sums wait to be stored; 0 where nothing is gathered in panels.
    deep: pixels that a chunk should have, where there are two of them."""
    count = channels * len(down.read) * len(across.read) + beside
    height, width = down.length, across.length
    images, rows, parts = 1, down.windows, 1
    if count * height * width > 2 * BUDGET and rows > 1:
        rows = max(1, BUDGET // (count * width) - down.reach)
        rows = -(-down.windows // -(-down.windows // rows))  # equal parts
        if block:
            rows = rows_of_panels(N, count, down, across, rows, block)
        elif beside:
            rows = max(rows, min(down.windows, -(-DEEP // across.windows)))
            rows = -(-down.windows // -(-down.windows // rows))
        parts, height = -(-down.windows // rows), rows + down.reach
    else:
        images = max(1, min(BUDGET // max(count * height * width, 1), -(-N // CHUNKS)))
        if deep:
            enough = -(-deep // (down.windows * across.windows))
            most = N if beside else -(-N // 2)
            images = max(images, min(enough, most, 3 * BUDGET // (count * height * width)))
        images = -(-N // -(-N // images))
    total = (count - beside) * images * height * width
    total = up(total + down.reach * width + across.reach + COLUMNS + 2 * LANES, LANES)
    axes = down.n, across.n, down.stride, across.stride, down.before, across.before
    chunks = -(-N // images) * parts
    return Planes(channels, *axes, images, rows, height, width, total, parts, chunks)


def rows_of_panels(N, count, down, across, least, block):
    """How many rows of results a chunk has: of those whose planes are not too large, and of which
    there are chunks for CHUNKS threads, as many as waste least.

    A panel of COLUMNS pixels takes as long if it is not full, heavy weights are read for every
    block, and what rows read beside their own is widened by every chunk.
    """
    pixels, width = across.windows, across.length
    most = min(down.windows // -(-CHUNKS // N), LARGE // (count * width) - down.reach)

    def cost(rows):
        """Of a picture, in pixels."""
        whole, rest = divmod(down.windows, rows)
        sizes = [rows * pixels] * whole + [rest * pixels] * (rest > 0)
        computed = sum(up(n, COLUMNS) for n in sizes)
        passes = sum(-(-n // block) for n in sizes) if block > COLUMNS else 0
        return computed + PASS * passes + WIDENED * len(sizes) * (rows + down.reach) * width

    return min(range(least, max(least, most) + 1), key=cost)


def steps_of(laid, channels, pairs, taps_down, taps_across):
    """Where the sum over (c, i, j) begins to read, for each of them, in C order."""
    c = np.arange(channels)[:, None, None] * len(pairs)
    _, i, shift_i = (np.array(x)[:, None] for x in zip(*taps_down))
    _, j, shift_j = (np.array(x) for x in zip(*taps_across))
    plane = c + number_of_pair(pairs)[i, j]
    if laid.total >= 2**31:
        raise ShapeError(f"planes of {laid.total} numbers: expected fewer than 2^31")
    return (plane * laid.size + shift_i * laid.width + shift_j).reshape(-1).astype(np.int32)


def number_of_pair(pairs):
    """The number of each pair among those that are read, by its phases."""
    numbers = np.zeros(pairs.max(0, initial=0) + 1, np.int64)
    numbers[tuple(pairs.T)] = np.arange(len(pairs))
    return numbers


# ---- plans, worked out once for each kind of call ------------------------------------------------


def as_pictures(shape):
    """A shape (N, C, H, W), of pictures or of sequences."""
    return tuple(shape) if len(shape) == 4 else (*shape[:2], 1, *shape[2:])


def geometry_of(sizes, stride, padding, dilation):
    """Two sizes along the axes of pictures, stride, padding and dilation."""
    given = (sizes, 1), (stride, 1), (padding, 0), (dilation, 1)
    return tuple(tuple(v) if len(v) == 2 else (one, *v) for v, one in given)


class Plan(NamedTuple):
    """What a call of `correlations` is told, and how its weights are packed."""

    chunks: int
    planes: tuple  # of a Planes
    pairs: np.ndarray
    steps: np.ndarray
    phases: np.ndarray
    sizes: tuple
    in_panels: bool
    packs: tuple  # (rows, ks, where): see `pack_weights`
    weights: int
    cost: float
    workspace: int


class Weights(NamedTuple):
    """How the weights of a call lie: for how many results a group, and how far apart those of two
    results, groups, channels and rows of the kernel are."""

    results: int
    result: int
    group: int
    channel: int
    row: int


def plan(N, channels, groups, down, across, w, sizes):
    """The Plan of a call. w: its Weights. sizes: of a plane of results."""
    M, pairs = w.results, pairs_of(down, across)
    high, block, deep = up(M, ROWS), 0, 0
    if M >= MANY:
        size = M * channels // groups * most_taps(down) * most_taps(across)
        deep = BLOCK if size > LIGHT else 0
        block = max(deep, SUMS // M // COLUMNS * COLUMNS) if size > HEAVY else deep or COLUMNS
    laid = planes(N, channels, down, across, block=block, deep=deep)
    steps, phases, packs, table, weights, work = [], [], [], 0, 0, 0
    rows = np.arange(M, dtype=np.int64) * w.result
    for h in down.phases:
        for v in across.phases:
            K = channels // groups * len(h.taps) * len(v.taps)
            phases.append(
                (K, weights, table, h.windows, v.windows, h.first, v.first, h.step, v.step)
            )
            work += K * h.windows * v.windows
            if K:
                steps.append(steps_of(laid, channels // groups, pairs, h.taps, v.taps))
                places = np.arange(channels // groups, dtype=np.int64)[:, None, None] * w.channel
                places = places + np.array([i * w.row for i, _, _ in h.taps])[:, None]
                places = (places + np.array([j for j, _, _ in v.taps])).reshape(-1)
                packs += [
                    (rows + g * w.group, places, weights + g * high * K) for g in range(groups)
                ]
            table, weights = table + K, weights + groups * high * K
    of_chunk = up(laid.images * laid.rows * across.windows if block else laid.size, COLUMNS)
    block = min(block or BLOCK, of_chunk)
    tables = np.concatenate([*steps, np.zeros(1, np.int32)]), np.array(phases, np.int64)
    cost, workspace = N * M * groups * work * PRODUCT, laid.total + high * block + (KC + 1) * APART
    read, sizes = (laid.chunks, tuple(laid), pairs), (M * groups, *sizes, groups, high, block)
    return Plan(*read, *tables, sizes, M >= MANY, tuple(packs), weights, cost, workspace)


def most_taps(axis):
    """At how many places of the kernel a window of an Axis reads, of the phase with most."""
    return max(len(p.taps) for p in axis.phases)


@cache
def forward_plan(x_shape, w_shape, groups, counts, *geometry):
    """The Plan of a forward call."""
    N, C, *sizes = as_pictures(x_shape)
    O, Cg, KH, KW = as_pictures(w_shape)
    counts, *geometry = geometry_of(counts, *geometry)
    down, across = map(forward_axis, sizes, counts, (KH, KW), *geometry)
    row, M = Cg * KH * KW, O // groups
    return plan(N, C, groups, down, across, Weights(M, row, M * row, KH * KW, KW), counts)


@cache
def backward_plan(dy_shape, w_shape, groups, x_sizes, *geometry):
    """The Plan of a call for dx."""
    N, O, *counts = as_pictures(dy_shape)
    _, Cg, KH, KW = as_pictures(w_shape)
    sizes, *geometry = geometry_of(x_sizes, *geometry)
    down, across = map(backward_axis, sizes, counts, (KH, KW), *geometry)
    row, of_group = Cg * KH * KW, O // groups
    weights = Weights(Cg, KH * KW, of_group * row, row, KW)
    return plan(N, O, groups, down, across, weights, sizes)


class WeightPlan(NamedTuple):
    """What a call of `weight_sums` is told, and how its sums lie."""

    chunks: int
    planes: tuple  # of a Planes
    pairs: np.ndarray
    runs: np.ndarray
    pixels: np.ndarray
    sizes: tuple
    in_panels: bool
    places: np.ndarray
    per: int  # chunks of a slot
    slots: int
    of_slot: int
    workspace: int
    cost: float


@cache
def weight_plan(x_shape, w_shape, groups, counts, *geometry):
    """The WeightPlan of a call for dw."""
    N, channels, *sizes = as_pictures(x_shape)
    O, C, KH, KW = as_pictures(w_shape)
    counts, *geometry = geometry_of(counts, *geometry)
    down, across = map(forward_axis, sizes, counts, (KH, KW), *geometry)
    laid = planes(N, channels, down, across, beside=O + channels, deep=DEEP)
    pairs = pairs_of(down, across)
    numbers = number_of_pair(pairs)
    high, runs, places, where = up(O // groups, ROWS), [], np.zeros((KH, KW, 2), np.int64), 0
    for i, a, shift_i in down.phases[0].taps:
        for beside in side_by_side(across.phases[0].taps):
            j, b, shift_j = beside[0]
            wide = len(beside) * C
            apart = up(wide, LANES)
            runs.append((numbers[a, b], shift_i * laid.width + shift_j, wide, where))
            for n in range(len(beside)):
                places[i, beside[n][0]] = where + n * C, apart
            where += high * apart
    image, p, q = np.ogrid[: laid.images, : laid.rows, : counts[1]]
    pixels = ((image * laid.height + p) * laid.width + q).reshape(-1) * C
    work = O * C * KH * KW
    slots = max(1, min(laid.chunks, 16, 2**22 // work))
    per = -(-laid.chunks // slots)
    phases = len(pairs)
    deep = up(laid.size + down.reach * laid.width + across.reach, LANES)
    workspace = laid.total + phases * deep * C + LANES * (C + LANES) + COLUMNS
    workspace += high * (laid.images * laid.rows * counts[1] + LANES)
    seen = ((groups - 1) * C + up(C, LANES)) * phases * laid.size  # whole blocks are transposed
    workspace = max(workspace, seen + deep + LANES) + LANES + KC * COLUMNS
    of_slot = groups * where
    return WeightPlan(
        chunks=laid.chunks,
        planes=tuple(laid),
        pairs=pairs,
        runs=np.array(runs, np.int64),
        pixels=pixels.astype(np.int32),
        sizes=(O, *counts, groups, C, deep, of_slot),
        in_panels=O // groups >= MANY and C >= FAR,
        places=places.reshape(-1, 2),
        per=per,
        slots=-(-laid.chunks // per),
        of_slot=of_slot,
        workspace=workspace,
        cost=N * work * counts[0] * counts[1] * PRODUCT,
    )


def side_by_side(taps):
    """The taps in runs that read neighbouring numbers of one phase."""
    runs: list[list] = []
    for j, phase, shift in sorted(taps, key=lambda tap: tap[1:]):
        if runs and runs[-1][-1][1:] == (phase, shift - 1):
            runs[-1].append((j, phase, shift))
        else:
            runs.append([(j, phase, shift)])
    return runs
