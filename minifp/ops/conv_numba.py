"""The twins of conv.py: correlations without unfolding.

A chunk is some pictures, or some rows of one. Its input is widened once into the workspace of the
thread, as planes with zeros around them, and there the sum over (c, i, j) reads each plane shifted
by the kernel's place: lanes run along the pixels of a plane, row after row, and a table says where
each (c, i, j) begins. So there is nothing to unfold, and a 1x1 kernel is a plain product.

Planes share their zeros: those behind a row are those before the next one. What is computed between
the rows is not stored. A stride divides a plane into its phases, each a plane of its own: of the
input where it is read, of the result where it is a gradient. So the products are as many as needed.

    forward   y[o, f]  = sum_{c,i,j} w[o, c, i, j] x[c, f + (i, j)]
    dx        the same for dy, with w turned and its first axes exchanged, phase by phase
    dw        dw[o, i, (j, c)] = sum_f dy[o, f] x[f + (i, j), c], with planes transposed to have
              channels last: lanes run along (j, c), neighbours in memory
"""

from functools import cache
from math import prod
from typing import NamedTuple

import numpy as np

from minifp.cpu import twin
from minifp.cpu.compile import compiled, part
from minifp.cpu.half import load, store, view
from minifp.cpu.pool import chunked
from minifp.cpu.sums import sum_over
from minifp.cpu.tile import (
    COLUMNS,
    LANES,
    ROWS,
    address,
    multiply,
    settle,
    transpose,
    widen,
)

BUDGET = 2**17  # numbers of a chunk's planes: 512 KiB of float32, in the L2 cache
BLOCK = 4 * COLUMNS  # pixels whose sums wait to be stored
KC = 128  # places in a panel, which stays in the L1 cache
APART = COLUMNS + LANES  # rows of a panel
STEPS = np.arange(KC, dtype=np.int32) * APART
MANY = 48  # results that make it worth to gather what they read
NANOSECONDS = 1 / 40  # a multiplication and addition, on one core


def up(n, unit):
    """n, or the next multiple of a unit."""
    return -(-n // unit) * unit


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
        r: [(i, (r + padding - i * dilation) // stride) for i in range(size)
            if (r + padding - i * dilation) % stride == 0]
        for r in range(min(stride, n))
    }  # fmt: skip
    before = -min((shift for of_phase in shifts.values() for _, shift in of_phase), default=0)
    phases = (
        Phase(r, stride, -(-(n - r) // stride), tuple((i, 0, s + before) for i, s in of_phase))
        for r, of_phase in shifts.items()
    )
    return Axis(count, 1, before, tuple(phases))


class Planes(NamedTuple):
    """The planes of a chunk: of `images` pictures, or of `rows` rows of one; see `fill`."""

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


def planes(N, channels, down, across, beside=0):
    """Planes for N pictures. beside: planes of results that lie in the workspace as well."""
    count = channels * down.stride * across.stride + beside
    height, width = down.length, across.length
    images, rows, parts = 1, down.windows, 1
    if count * height * width > 2 * BUDGET and rows > 1:
        rows = max(1, BUDGET // (count * width) - down.reach)
        rows = -(-down.windows // -(-down.windows // rows))  # equal parts
        parts, height = -(-down.windows // rows), rows + down.reach
    else:
        images = max(1, min(BUDGET // max(count * height * width, 1), -(-N // 8)))
        images = -(-N // -(-N // images))
    total = (count - beside) * images * height * width
    total += down.reach * width + across.reach + COLUMNS + 2 * LANES
    return Planes(
        *(channels, down.n, across.n, down.stride, across.stride, down.before, across.before),
        *(images, rows, height, width, total, parts, -(-N // images) * parts),
    )


def steps_of(laid, channels, taps_down, taps_across):
    """Where the sum over (c, i, j) begins to read, for each of them, in C order."""
    c = np.arange(channels)[:, None, None] * (laid.stride_down * laid.stride_across)
    _, i, shift_i = (np.array(x)[:, None] for x in zip(*taps_down))
    _, j, shift_j = (np.array(x) for x in zip(*taps_across))
    plane = c + i * laid.stride_across + j
    return (plane * laid.size + shift_i * laid.width + shift_j).reshape(-1).astype(np.int32)


# ---- kernels ------------------------------------------------------------------------------------


@part
def fill(chunk, N, x, how, out):
    """Widen what a chunk reads of x into planes."""
    C, H, W, sh, sw, top, left, images, rows, height, width, total, parts, _ = how
    first, row0 = chunk // parts * images, chunk % parts * rows
    at = 0
    for c in range(C):
        for a in range(sh):
            for b in range(sw):
                start = max(0, (left - b + sw - 1) // sw)
                inside = max(0, min((W + left - b + sw - 1) // sw, width) - start)
                for image in range(first, first + images):
                    for r in range(height):
                        h = (row0 + r) * sh + a - top
                        if image >= N or h < 0 or h >= H:
                            for q in range(width):
                                out[at + q] = 0
                        else:
                            source = ((image * C + c) * H + h) * W + start * sw + b - left
                            for q in range(start):
                                out[at + q] = 0
                            to = at + start
                            if sw == 1:
                                q = 0
                                while q + LANES <= inside:
                                    widen(x, source + q, out, to + q)
                                    q += LANES
                                for i in range(q, inside):
                                    out[to + i] = load(x, source + i)
                            else:
                                for q in range(inside):
                                    out[to + q] = load(x, source + q * sw)
                            for q in range(start + inside, width):
                                out[at + q] = 0
                        at += width
    for i in range(at, total):
        out[i] = 0


@compiled
def pack(w, rows, ks, out):
    """A[m, k] = w[rows[m] + ks[k]] in strips (M / ROWS, K, ROWS), zeros below M."""
    M, K = len(rows), len(ks)
    for m in range(0, M, ROWS):
        for k in range(K):
            for r in range(ROWS):
                at = m * K + k * ROWS + r
                out[at] = load(w, rows[m + r] + ks[k]) if m + r < M else 0


@part
def gather(scratch, planes, steps, table, K, f, width, height, down, Q, n, to):
    """The numbers that n pixels, from number f on, read at K places: a panel (K, APART).

    Vectors are copied whole: what is too much is written over by the next run of pixels, or lies
    behind the columns that are used.
    """
    image, rest = f // (down * Q), f % (down * Q)
    p, q, done = rest // Q, rest % Q, 0
    while done < n:
        run = min(Q - q, n - done)
        first = planes + (image * height + p) * width + q
        for i in range(0, run, LANES):
            for k in range(K):
                source = first + steps[table + k] + i
                widen(scratch, source, scratch, to + k * APART + done + i)
        done, q, p = done + run, 0, p + 1
        if p == down:
            image, p = image + 1, 0


@chunked
def correlations(chunk, scratch, N, x, how, a, steps, phases, bias, y, sizes, in_panels):
    """y = bias + the correlation of x with packed weights, for every phase of the result.

    Either the sums read the planes as they are, and some are for nothing, those between the rows;
    or, where many results read the same, what they read is gathered into panels first.
    """
    O, OH, OW, groups, high, block = sizes
    images, rows, height, width, total, parts = how[7:13]
    fill(chunk, N, x, how, scratch)
    first, row0 = chunk // parts * images, chunk % parts * rows
    last = min(first + images, N)
    M = O // groups
    of_group = how[0] * how[3] * how[4] * images * height * width // groups
    panel = total + high * block
    for phase in range(len(phases)):
        K, weights, table, P, Q, h0, w0, dh, dw = phases[phase]
        down = min(rows, P - row0)
        if down <= 0 or Q <= 0:
            continue
        across, along = (Q, down) if in_panels else (width, height)
        pixels = (last - first - 1) * along * across + (down - 1) * across + Q
        joined = across == Q and OW == Q and dh == 1 and dw == 1
        for g in range(groups):
            planes, packed = g * of_group, weights + g * high * K
            for f0 in range(0, pixels, block):
                n = min(block, pixels - f0)
                if in_panels:
                    for k in range(0, K, KC):
                        kc = min(KC, K - k)
                        gather(
                            *(scratch, planes, steps, table + k, kc, f0, width, height),
                            *(down, Q, n, panel),
                        )
                        multiply(
                            *(address(a, packed + k * ROWS), ROWS * K, 1, ROWS, M),
                            *(address(scratch, panel), 0, n, address(STEPS, 0), kc),
                            *(address(scratch, total), block, k),
                        )
                elif K > 0:
                    multiply(
                        *(address(a, packed), ROWS * K, 1, ROWS, M),
                        *(address(scratch, planes + f0), COLUMNS, n),
                        *(address(steps, table), K, address(scratch, total), block, 0),
                    )
                f = f0
                while f < f0 + n:
                    image, rest = f // (along * across), f % (along * across)
                    p, q = rest // across, rest % across
                    run = min(down * Q - rest if joined else across - q, f0 + n - f)
                    kept = run if joined else min(run, Q - q)
                    if p < down and kept > 0:
                        h = (row0 + p) * dh + h0
                        for m in range(M):
                            o = g * M + m
                            to = (((first + image) * O + o) * OH + h) * OW + q * dw + w0
                            source = total + m * block + f - f0
                            b = load(bias, o) if bias.size else np.float32(0)
                            if K == 0:
                                for i in range(kept):
                                    store(y, to + i * dw, b)
                            elif dw == 1:
                                i = 0
                                while i + LANES <= kept:
                                    settle(scratch, source + i, b, y, to + i)
                                    i += LANES
                                while i < kept:
                                    store(y, to + i, scratch[source + i] + b)
                                    i += 1
                            else:
                                for i in range(kept):
                                    store(y, to + i * dw, scratch[source + i] + b)
                    f += run


@part
def put_channels_last(scratch, planes, C, phases, size, deep, to):
    """Planes (C, phases, size) as (phases, deep, C), a block of LANES by LANES at once.

    deep: size, and what is read behind a plane's end, which is where the next one begins.

    What is written too much behind a pixel's last channel is written over: the channels of a pixel
    are written from the last block to the first, pixels ascending.
    """
    for phase in range(phases):
        for f in range(0, deep, LANES):
            for block in range((C - 1) // LANES, -1, -1):
                c = block * LANES
                transpose(
                    *(scratch, planes + (c * phases + phase) * size + f, phases * size),
                    *(scratch, to + (phase * deep + f) * C + c, C),
                )


@chunked
def weight_sums(slot, scratch, N, x, how, dy, runs, pixels, sizes, sums, chunks, per):
    """A slot's part of dw: the sum over some chunks, lanes along a row of the kernel's places.

    runs: (phase, shift, wide, where) of places side by side: of `wide` numbers, (j, c), of a pixel
    and those behind it. pixels: where each pixel of a whole chunk lies in a plane, times C.
    """
    O, P, Q, groups, C, deep, of_slot = sizes
    images, rows, height, width, total, parts = how[7:13]
    phases, size = how[3] * how[4], images * height * width
    M, last_channels = O // groups, total + phases * deep * C + LANES * (C + LANES)
    for chunk in range(slot * per, min((slot + 1) * per, chunks)):
        fill(chunk, N, x, how, scratch)
        first, row0 = chunk // parts * images, chunk % parts * rows
        last, down = min(first + images, N), min(rows, P - row0)
        K = (last - first) * down * Q
        lda = K + LANES
        for g in range(groups):
            put_channels_last(scratch, g * C * phases * size, C, phases, size, deep, total)
            for m in range(M):
                to = last_channels + m * lda
                for image in range(first, last):
                    source = ((image * O + g * M + m) * P + row0) * Q
                    i, n = 0, down * Q
                    while i + LANES <= n:
                        widen(dy, source + i, scratch, to + i)
                        i += LANES
                    while i < n:
                        scratch[to + i] = load(dy, source + i)
                        i += 1
                    to += n
            for r in range(len(runs)):
                phase, shift, wide, where = runs[r]
                multiply(
                    *(address(scratch, last_channels), ROWS * lda, lda, 1, M),
                    *(address(scratch, total + (phase * deep + shift) * C), COLUMNS, wide),
                    *(address(pixels, 0), K),
                    address(sums, slot * of_slot + g * (of_slot // groups) + where),
                    *((wide + LANES - 1) // LANES * LANES, chunk - slot * per),
                )


@compiled
def add_slots(sums, slots, of_slot, groups, places, high, M, C, KK, out):
    """dw: the sum of the slots' parts, one after the other.

    places: for each place in the kernel, where its sums begin and how far rows are apart.
    """
    for g in range(groups):
        for m in range(M):
            for c in range(C):
                for k in range(KK):
                    at = g * (of_slot // groups) + places[k, 0] + m * places[k, 1] + c
                    total = 0.0
                    for s in range(slots):
                        total += sums[s * of_slot + at]
                    store(out, ((g * M + m) * C + c) * KK + k, total)


# ---- geometry, worked out once for each kind of call --------------------------------------------


class Plan(NamedTuple):
    """What a call of `correlations` is told, and how its weights are packed."""

    planes: Planes
    steps: np.ndarray
    phases: np.ndarray
    packs: tuple  # (rows, ks, where): see `pack`
    weights: int
    block: int
    high: int
    cost: float


def plan(N, channels, groups, down, across, M, w_row, w_group, w_channel, w_width):
    """A Plan for M results a group, whose weights lie w_row apart, those of channels w_channel."""
    laid, high = planes(N, channels, down, across), up(M, ROWS)
    steps, phases, packs, table, weights, work = [], [], [], 0, 0, 0
    rows = np.arange(M, dtype=np.int64) * w_row
    for h in down.phases:
        for v in across.phases:
            K = channels // groups * len(h.taps) * len(v.taps)
            phases.append(
                (K, weights, table, h.windows, v.windows, h.first, v.first, h.step, v.step)
            )
            work += K * h.windows * v.windows
            if K:
                steps.append(steps_of(laid, channels // groups, h.taps, v.taps))
                places = np.arange(channels // groups, dtype=np.int64)[:, None, None] * w_channel
                places = places + np.array([i * w_width for i, _, _ in h.taps])[:, None]
                places = (places + np.array([j for j, _, _ in v.taps])).reshape(-1)
                packs += [
                    (rows + g * w_group, places, weights + g * high * K) for g in range(groups)
                ]
            table, weights = table + K, weights + groups * high * K
    block = COLUMNS if M >= MANY else min(BLOCK, up(laid.size, COLUMNS))
    return Plan(
        laid,
        np.concatenate([*steps, np.zeros(1, np.int32)]),
        np.array(phases, np.int64),
        tuple(packs),
        weights,
        block,
        high,
        N * M * groups * work * NANOSECONDS,
    )


@cache
def forward_plan(x_shape, w_shape, groups, counts, *geometry):
    """The Plan of a forward call."""
    N, C, *sizes = x_shape
    O, Cg, KH, KW = w_shape
    down, across = map(forward_axis, sizes, counts, (KH, KW), *geometry)
    row, M = Cg * KH * KW, O // groups
    return plan(N, C, groups, down, across, M, row, M * row, KH * KW, KW)


@cache
def backward_plan(dy_shape, w_shape, groups, x_sizes, *geometry):
    """The Plan of a call for dx."""
    N, O, *counts = dy_shape
    _, Cg, KH, KW = w_shape
    down, across = map(backward_axis, x_sizes, counts, (KH, KW), *geometry)
    row, of_group = Cg * KH * KW, O // groups
    return plan(N, O, groups, down, across, Cg, KH * KW, of_group * row, row, KW)


class WeightPlan(NamedTuple):
    """What a call of `weight_sums` is told, and how its sums lie."""

    planes: Planes
    runs: np.ndarray
    pixels: np.ndarray
    places: np.ndarray
    per: int  # chunks of a slot
    slots: int
    of_slot: int
    deep: int
    workspace: int
    cost: float


@cache
def weight_plan(x_shape, w_shape, groups, counts, *geometry):
    """The WeightPlan of a call for dw."""
    N, channels, *sizes = x_shape
    O, C, KH, KW = w_shape
    down, across = map(forward_axis, sizes, counts, (KH, KW), *geometry)
    laid = planes(N, channels, down, across, beside=O + channels)
    high, runs, places, where = up(O // groups, ROWS), [], np.zeros((KH, KW, 2), np.int64), 0
    for i, a, shift_i in down.phases[0].taps:
        for beside in side_by_side(across.phases[0].taps):
            j, b, shift_j = beside[0]
            wide = len(beside) * C
            apart = up(wide, LANES)
            phase = a * laid.stride_across + b
            runs.append((phase, shift_i * laid.width + shift_j, wide, where))
            for n in range(len(beside)):
                places[i, beside[n][0]] = where + n * C, apart
            where += high * apart
    image, p, q = np.ogrid[: laid.images, : laid.rows, : counts[1]]
    pixels = ((image * laid.height + p) * laid.width + q).reshape(-1) * C
    work = O * C * KH * KW
    slots = max(1, min(laid.chunks, 16, 2**22 // work))
    per = -(-laid.chunks // slots)
    phases = laid.stride_down * laid.stride_across
    deep = up(laid.size + down.reach * laid.width + across.reach, LANES)
    workspace = laid.total + phases * deep * C + LANES * (C + LANES) + COLUMNS
    workspace += high * (laid.images * laid.rows * counts[1] + LANES)
    return WeightPlan(
        *(laid, np.array(runs, np.int64), pixels.astype(np.int32), places.reshape(-1, 2)),
        *(per, -(-laid.chunks // per), groups * where, deep, workspace),
        N * work * counts[0] * counts[1] * NANOSECONDS,
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


def as_pictures(shape):
    """A shape (N, C, H, W), of pictures or of sequences."""
    return shape if len(shape) == 4 else (*shape[:2], 1, *shape[2:])


def geometry_of(stride, padding, dilation):
    """The same for stride, padding and dilation."""
    return tuple(
        tuple(v) if len(v) == 2 else (one, *v)
        for v, one in ((stride, 1), (padding, 0), (dilation, 1))
    )


def flat(x):
    """x in C order, as kernels take it."""
    return view(np.ascontiguousarray(x)).reshape(-1)


NO_BIAS = {2: np.empty(0, np.uint16), 4: np.empty(0, np.float32)}


def run(made, groups, x, w, b, shape, dtype):
    """The results (of a shape) of a Plan."""
    y, x, w = np.empty(shape, dtype), flat(x), flat(w)
    packed = np.empty(made.weights, np.float32)
    for rows, ks, where in made.packs:
        pack(w, rows, ks, packed[where:])
    N, O, OH, OW = as_pictures(shape)
    laid = made.planes
    correlations(
        *(laid.chunks, N, x, tuple(laid), packed, made.steps, made.phases),
        *(NO_BIAS[y.itemsize] if b is None else flat(b), flat(y)),
        *((O, OH, OW, groups, made.high, made.block), O // groups >= MANY),
        cost=made.cost,
        workspace=laid.total + made.high * made.block + (KC + 1) * APART,
    )
    return y


# ---- the twins ----------------------------------------------------------------------------------


@twin
def conv_forward(x, w, b, *, stride, padding, dilation, groups, counts, to):
    shape = (x.shape[0], w.shape[0], *counts)
    if not x.size or not w.size or not prod(shape):
        return None
    counts = as_pictures((1, 1, *counts))[2:]
    given = geometry_of(stride, padding, dilation)
    made = forward_plan(as_pictures(x.shape), as_pictures(w.shape), groups, counts, *given)
    return run(made, groups, x, w, b, shape, to[0])


@twin
def conv_dx(dy, w, *, x_sizes, stride, padding, dilation, groups, to):
    shape = (dy.shape[0], w.shape[1] * groups, *x_sizes)
    if not dy.size or not w.size or not prod(shape):
        return None
    sizes = as_pictures((1, 1, *x_sizes))[2:]
    given = geometry_of(stride, padding, dilation)
    made = backward_plan(as_pictures(dy.shape), as_pictures(w.shape), groups, sizes, *given)
    return run(made, groups, dy, w, None, shape, to[0])


@twin
def conv_dw(dy, x, *, w_shape, stride, padding, dilation, groups, to):
    if not dy.size or not x.size:
        return None
    counts = as_pictures(dy.shape)[2:]
    given = geometry_of(stride, padding, dilation)
    shape = as_pictures(w_shape)
    made = weight_plan(as_pictures(x.shape), shape, groups, counts, *given)
    (O, C, KH, KW), laid = shape, made.planes
    M = O // groups
    high, sums = up(M, ROWS), np.empty(made.slots * made.of_slot, np.float32)
    weight_sums(
        *(made.slots, x.shape[0], flat(x), tuple(laid), flat(dy), made.runs, made.pixels),
        *((O, *counts, groups, C, made.deep, made.of_slot), sums, laid.chunks, made.per),
        cost=made.cost,
        workspace=made.workspace,
    )
    dw = np.empty(w_shape, to[0])
    add_slots(*(sums, made.slots, made.of_slot, groups, made.places, high, M, C, KH * KW, flat(dw)))
    return dw


@twin
def conv_db(dy, *, to):
    return sum_over(dy, (0, *range(2, dy.ndim)), to[0] or dy.dtype)
