"""Depthwise convolutions: as many planes at once as a vector has lanes, of whichever image.

    y[f]     = b + sum_k w[k] x[start(f) + step(k)]          a vector of planes in each product
    dx[f]    the same of dy, phase by phase, with the steps of backward_lanes
    dw[k]    = sum_f dy[f] x[start(f) + step(k)]

Planes are transposed into the workspace and back, in registers; what is channel c of a vector's
first plane is channel c + r of its lane r, modulo their number, so that weights stand there
repeated. Sums of dw are those of each plane first, in chains, then of a slot's planes.
"""

from math import prod

import numpy as np

from minifp.ops.convolution.conv_correlation_numba import zero_of
from minifp.ops.convolution.conv_depthwise_plan_numba import backward_lanes, forward_lanes, sum_plan
from minifp.runtime.cpu.compile.decorators import compiled, inline
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.lanes import OUTPUTS, TAPS, collect, spread, weighted, weighted_sums
from minifp.runtime.cpu.kernels.pool import flat, packed, parallel, spans, view
from minifp.runtime.cpu.kernels.tile import CHAIN, LANES

MOST = 2**19  # numbers of a workspace, 2 MiB; larger planes are taken in rows: see conv_numba.py
NANOSECONDS = 1 / 20  # of a multiplication and addition
WORTH = 2**16  # of them that are worth a chunk
ONLY = np.zeros(1, np.int64)  # the place in a kernel that has one


# ---- in kernels ---------------------------------------------------------------------------------


@compiled
def repeat_weights(w, taps, of_tap, channels, ldw, out):
    """out[k, m] = w[m mod channels, taps[k]], rows ldw apart; of_tap: kernels are so long."""
    for k in range(len(taps)):
        for m in range(ldw):
            out[k * ldw + m] = load(w, m % channels * of_tap + taps[k])


@inline
def spread_planes(source, first, last, of_plane, places, scratch):
    """Planes first to first + last of source into the workspace, each in its lane."""
    for f in range(0, of_plane, LANES):
        at = first * of_plane + f
        if at + last * of_plane + LANES <= source.size:
            spread(source, at, of_plane, last, scratch, places, f)
        else:
            for c in range(f, of_plane):
                for r in range(last + 1):
                    scratch[places[c] + r] = load(source, (first + r) * of_plane + c)
            return


@inline
def collect_planes(scratch, results, bias, channel, y, first, last, of_plane):
    """Planes first to first + last of y from the workspace, with the bias, rounded once."""
    if last == LANES - 1 and of_plane >= LANES:
        for begin in range(0, of_plane, LANES):
            f = min(begin, of_plane - LANES)
            at = first * of_plane + f
            collect(scratch, results + f * LANES, bias, channel, y, at, of_plane)
    else:
        for r in range(last + 1):
            for f in range(of_plane):
                x = scratch[results + f * LANES + r] + bias[channel + r]
                store(y, (first + r) * of_plane + f, x)


@parallel
def depthwise(chunk, scratch, per, C, x, of_x, laid, size, results, w, ldw, bias, y, of_y):
    """y = bias + the correlation of each plane of x with its channel's kernel, for some vectors of
    planes. laid: places, phases, steps, starts and targets of a LanePlan."""
    places, phases, steps, starts, targets = laid
    scratch[:size] = 0
    planes = x.size // of_x
    for first in range(chunk * per * LANES, min((chunk + 1) * per * LANES, planes), LANES):
        last, channel = min(LANES, planes - first) - 1, first % C
        spread_planes(x, first, last, of_x, places, scratch)
        for phase in range(len(phases)):
            K, k, o, count = phases[phase]
            for f in range(o, o + count, OUTPUTS):
                weighted(scratch, starts, targets, f, steps, k, K, w, k * ldw + channel, ldw)
        collect_planes(scratch, results, bias, channel, y, first, last, of_y)


@parallel
def depthwise_sums(slot, scratch, per, C, x, of_x, laid, size, dy, of_y, K, ldw, sums):
    """A slot's part of dw, of some vectors of planes. laid: places of x and of dy, steps and starts
    of a LanePlan. size: of the planes of x; behind them are those of dy, and the sums of one
    vector."""
    places, places_of_dy, steps, starts = laid
    totals = size + (of_y + 1) * LANES
    scratch[:totals] = 0
    sums[slot * K * ldw : (slot + 1) * K * ldw] = 0
    planes = x.size // of_x
    for first in range(slot * per * LANES, min((slot + 1) * per * LANES, planes), LANES):
        last, channel = min(LANES, planes - first) - 1, first % C
        spread_planes(x, first, last, of_x, places, scratch)
        spread_planes(dy, first, last, of_y, places_of_dy, scratch)
        scratch[totals : totals + len(steps) * LANES] = 0
        for f in range(0, of_y, CHAIN):
            n = min(CHAIN, of_y - f)
            for k in range(0, len(steps), TAPS):
                weighted_sums(scratch, size, starts, f, n, steps, k, totals + k * LANES)
        for k in range(K):
            for r in range(last + 1):
                sums[(slot * K + k) * ldw + channel + r] += scratch[totals + k * LANES + r]


@compiled
def fold_sums(sums, slots, C, K, ldw, dw):
    """dw (C, K): the sum over slots, in their order, and over the places of each channel."""
    for s in range(1, slots):
        for i in range(K * ldw):
            sums[i] += sums[s * K * ldw + i]
    for k in range(K):
        for m in range(ldw - 1, C - 1, -1):
            sums[k * ldw + m - C] += sums[k * ldw + m]
        for c in range(C):
            store(dw, c * K + k, sums[k * ldw + c])


# ---- calls --------------------------------------------------------------------------------------


def correlation(plan, x, w, b, shape, dtype, finite=False):
    """The results, of a shape, of a LanePlan; finite: None if something in w is not finite."""
    C, of_x, of_y, K = shape[1], prod(x.shape[2:]), prod(shape[2:]), len(plan.taps)
    x, y, w, ldw = flat(x), np.empty(shape, dtype), flat(w), C + LANES
    weights, bias = packed(K * ldw), np.zeros(ldw, np.float32)
    repeat_weights(w, plan.taps, w.size // C, C, ldw, weights)
    if finite and zero_of(weights, K * ldw) != 0:
        return None
    if b is not None:
        repeat_weights(flat(b), ONLY, 1, C, ldw, bias)
    chunks, per = vectors(shape[0] * C, K * of_y)
    lanes = plan[:5], plan.size, plan.results
    others = weights, ldw, bias, view(y).reshape(-1), of_y
    cost = y.size * K * NANOSECONDS
    depthwise(chunks, per, C, x, of_x, *lanes, *others, cost=cost, workspace=plan.size + LANES)
    return y


def vectors(planes, work, most=64):
    """(chunks, vectors of planes in each). work: products of one plane."""
    return spans(-(-planes // LANES), -(-WORTH // (max(work, 1) * LANES)), most)


def forward(x, w, b, shape, geometry, dtype):
    """y, of a shape; None for planes that are too large."""
    plan = forward_lanes(x.shape, w.shape, shape[2:], *geometry)
    return correlation(plan, x, w, b, shape, dtype) if plan.size <= MOST else None


def backward(dy, w, b, shape, geometry, dtype):
    """dx, of a shape, or a transposed convolution with a bias; None for planes that are too large
    and weights that are not finite."""
    plan = backward_lanes(dy.shape, w.shape, shape[2:], *geometry)
    return correlation(plan, dy, w, b, shape, dtype, finite=True) if plan.size <= MOST else None


def weight_gradient(dy, x, w_shape, geometry, dtype):
    """dw; None for planes that are too large."""
    plan, steps, places_of_dy = sum_plan(x.shape, w_shape, dy.shape[2:], *geometry)
    if plan.size > MOST:
        return None
    C, K, of_x, of_y = w_shape[0], *(prod(a[2:]) for a in (w_shape, x.shape, dy.shape))
    ldw = C + LANES
    slots, per = vectors(x.shape[0] * C, K * of_y, most=16)
    sums, dw = packed(slots * K * ldw), np.empty(w_shape, dtype)
    read = flat(x), of_x, (plan.places, places_of_dy, steps, plan.starts), plan.results
    cost = dy.size * K * NANOSECONDS
    workspace = plan.size + (len(steps) + 1) * LANES
    depthwise_sums(
        slots, per, C, *read, flat(dy), of_y, K, ldw, sums, cost=cost, workspace=workspace
    )
    fold_sums(sums, slots, C, K, ldw, view(dw).reshape(-1))
    return dw
