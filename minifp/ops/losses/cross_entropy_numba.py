"""Compiled kernels of cross_entropy.py with class numbers as targets: each row once, in the cache.

Rows lie beside each other where z has axes behind its classes; see runtime/cpu/exponentials.py.
"""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.losses.class_targets_numba import (
    NOT_STORED,
    as_rows,
    share_of,
    weight_of,
    weight_of_all,
)
from minifp.runtime.cpu.compile import compiled, inline
from minifp.runtime.cpu.exponentials import (
    NANOSECONDS,
    WORTH,
    add_to,
    exp_of_row,
    exp_of_rows,
    parts_of,
    place_of,
    read_row,
    widths,
)
from minifp.runtime.cpu.half import flat, load, store
from minifp.runtime.cpu.math import NOTHING, ONE, log32
from minifp.runtime.cpu.pool import parallel, spans
from minifp.runtime.cpu.sums import ROWS, single, sum_of_run

# ---- the losses ---------------------------------------------------------------------------------


@inline
def loss_of(log, below, weight, smoothing, of_all):
    """log: of the row's sum. below: how far its score lies below the largest, a negative number.

    of_all: the mean of all classes' weighted losses, if there is smoothing.
    """
    loss = (log - below) * weight
    return (ONE - smoothing) * loss + smoothing * of_all if smoothing else loss


@parallel
def cross_entropy_losses(chunk, scratch, per, rows, n, smoothing, ignored, z, t, w, each, parts):
    """The losses of rows, if `each` has room for them, and their sum and that of their weights."""
    row, powers = scratch[:n], scratch[n : 2 * n]
    total, weights, of_all = 0.0, 0.0, NOTHING
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        c, loss = t[r], NOTHING
        if c != ignored:
            weight = weight_of(w, c)
            m = read_row(z, r * n, n, row)
            log = np.float32(math.log(exp_of_row(row, n, m, powers)))
            if smoothing:
                for i in range(n):
                    powers[i] = (log - (row[i] - m)) * weight_of(w, i)
                of_all = np.float32(sum_of_run(powers, 0, n) / n)
            loss = loss_of(log, row[c] - m, weight, smoothing, of_all)
            weights += weight
        if each.size:
            store(each, r, loss)
        total += loss
    parts[2 * chunk], parts[2 * chunk + 1] = total, weights


@parallel
def cross_entropy_losses_beside(
    chunk, scratch, width, n, step, smoothing, ignored, z, t, w, each, parts
):
    """The same of rows beside each other."""
    at, width = place_of(chunk, width, n, step)
    first = at // (n * step) * step + at % step
    m, part, totals, powers = parts_of(scratch, width)
    logs, of_all = powers[n * width :], powers[(n + 1) * width :]
    exp_of_rows(z, at, n, step, width, ONE, scratch)
    for j in range(width):
        logs[j] = log32(np.float32(totals[j]))
        totals[j] = 0
        of_all[j] = 0
    if smoothing:
        for k in range(n):
            weight = weight_of(w, k)
            for j in range(width):
                part[j] += (logs[j] - (load(z, at + k * step + j) - m[j])) * weight
            if k % ROWS == ROWS - 1 or k == n - 1:
                add_to(totals, part, width)
        for j in range(width):
            of_all[j] = totals[j] / n
    total, weights = 0.0, 0.0
    for j in range(width):
        c, loss = t[first + j], NOTHING
        if c != ignored:
            weight = weight_of(w, c)
            below = load(z, at + c * step + j) - m[j]
            loss = loss_of(logs[j], below, weight, smoothing, of_all[j])
            weights += weight
        if each.size:
            store(each, first + j, loss)
        total += loss
    parts[2 * chunk], parts[2 * chunk + 1] = total, weights


@compiled
def cross_entropy_in_all(parts, mean, out):
    """out = the sum of the chunks' losses, in a mean divided by that of their weights."""
    total, weights = 0.0, 0.0
    for i in range(0, parts.size, 2):
        total += parts[i]
        weights += parts[i + 1]
    store(out, 0, total / weights if mean else total)


# ---- their gradients ----------------------------------------------------------------------------


@parallel
def cross_entropy_gradients(
    chunk, scratch, per, rows, n, smoothing, ignored, share, apart, dl, z, t, w, dz
):
    """dz. share: 1 / n of the loss; the gradient of row r's loss is dl[r apart]."""
    row, powers = scratch[:n], scratch[n : 2 * n]
    all_weights = weight_of_all(w, n)
    for r in range(chunk * per, min((chunk + 1) * per, rows)):
        c, f = t[r], NOTHING
        if c == ignored:
            c = 0
        else:
            f = np.float32(dl[r * apart] * share)
        scale, smooth = (ONE - smoothing) * weight_of(w, c) * f, smoothing / np.float32(n) * f
        m = read_row(z, r * n, n, row)
        over = np.float32(1 / exp_of_row(row, n, m, powers))
        if smoothing:
            for i in range(n):
                p, weight = powers[i] * over, weight_of(w, i)
                store(dz, r * n + i, p * scale + (p * all_weights - weight) * smooth)
        else:
            for i in range(n):
                store(dz, r * n + i, powers[i] * over * scale)
        p = powers[c] * over
        value = (p - ONE) * scale
        if smoothing:
            value += (p * all_weights - weight_of(w, c)) * smooth
        store(dz, r * n + c, value)


@parallel
def cross_entropy_gradients_beside(
    chunk, scratch, width, n, step, smoothing, ignored, share, apart, dl, z, t, w, dz
):
    """The same of rows beside each other."""
    at, width = place_of(chunk, width, n, step)
    first = at // (n * step) * step + at % step
    over, scale, totals, powers = parts_of(scratch, width)
    smooth = powers[n * width :]
    exp_of_rows(z, at, n, step, width, ONE, scratch)
    all_weights = weight_of_all(w, n)
    for j in range(width):
        c, f = t[first + j], NOTHING
        if c == ignored:
            c = 0
        else:
            f = np.float32(dl[(first + j) * apart] * share)
        over[j] = 1 / totals[j]
        scale[j] = (ONE - smoothing) * weight_of(w, c) * f
        smooth[j] = smoothing / np.float32(n) * f
    for k in range(n):
        row, weight = powers[k * width :], weight_of(w, k)
        for j in range(width):
            p = row[j] * over[j]
            value = p * scale[j]
            if smoothing:
                value += (p * all_weights - weight) * smooth[j]
            store(dz, at + k * step + j, value)
    for j in range(width):
        c = t[first + j] if t[first + j] != ignored else 0
        p = powers[c * width + j] * over[j]
        value = (p - ONE) * scale[j]
        if smoothing:
            value += (p * all_weights - weight_of(w, c)) * smooth[j]
        store(dz, at + c * step + j, value)


# ---- compiled kernels ----------------------------------------------------------------------------


def computed(z, t, w, ignore_index, smoothing, each):
    """The losses, written into `each` if it is not empty; their sums and their weights'."""
    n, step, t, w = as_rows(z, t, w)
    rest = (np.float32(smoothing), int(ignore_index), flat(z), t, w, flat(each))
    cost = z.size * NANOSECONDS
    if step == 1:
        chunks, per = spans(t.size, WORTH // n)
        parts = np.empty(2 * chunks)
        cross_entropy_losses(chunks, per, t.size, n, *rest, parts, cost=cost, workspace=2 * n)
    else:
        parts_of_row, width = widths(n, step)
        chunks = t.size // step * parts_of_row
        parts = np.empty(2 * chunks)
        workspace = (n + 6) * width
        cross_entropy_losses_beside(
            chunks, width, n, step, *rest, parts, cost=cost, workspace=workspace
        )
    return parts


@compiled_kernel
def cross_entropy_each(z, t, w, *, ignore_index, smoothing, to):
    each = np.empty(t.shape, to[0])
    if each.size:
        computed(z, t, w, ignore_index, smoothing, each)
    return each


@compiled_kernel
def cross_entropy_total(z, t, w, *, ignore_index, smoothing, reduction, to):
    if not t.size:
        return None
    parts = computed(z, t, w, ignore_index, smoothing, NOT_STORED[z.dtype])
    loss = np.empty((), to[0])
    cross_entropy_in_all(parts, reduction == "mean", flat(loss))
    return loss


@compiled_kernel
def cross_entropy_dz(dl, z, t, w, *, ignore_index, smoothing, reduction, to):
    dz = np.empty(z.shape, to[0])
    if not dz.size:
        return dz
    n, step, t, w = as_rows(z, t, w)
    smoothing, ignored, dl = np.float32(smoothing), int(ignore_index), single(dl)
    share = share_of(t, w, ignored, reduction == "mean")
    rest = (smoothing, ignored, share, int(dl.size > 1), dl, flat(z), t, w, flat(dz))
    cost = z.size * NANOSECONDS
    if step == 1:
        chunks, per = spans(t.size, WORTH // n)
        cross_entropy_gradients(chunks, per, t.size, n, *rest, cost=cost, workspace=2 * n)
    else:
        parts_of_row, width = widths(n, step)
        chunks = t.size // step * parts_of_row
        workspace = (n + 5) * width
        cross_entropy_gradients_beside(
            chunks, width, n, step, *rest, cost=cost, workspace=workspace
        )
    return dz
