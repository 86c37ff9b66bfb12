"""Compiled kernels of roi_align.py: some channels of a picture at a time, beside each other.

They lie in the workspace channel by channel in each place, so that all are multiplied by one weight
at once. First the rows of a row of bins are added up, then of that the columns of each bin; back it
goes the other way round. Sums are float64: they may have as many addends as a picture has places,
and gradients as many as there are boxes.
"""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.detection.roi_align import bins_of, samples_inside
from minifp.runtime.cpu.compile.decorators import compiled
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.pool import parallel, view

PLACES = 2**16  # float32 numbers of a picture's channels that are worked on at once: the L2 cache
NANOSECONDS = 0.3  # a place, or a number of the result
SINGLE = np.dtype("float32")

# ---- weights -------------------------------------------------------------------------------------


@compiled
def weigh_samples(begin, bins, samples, first, stop, n, weights):
    """The weights of n places in each bin, added up over its samples."""
    one, half = np.float32(1), np.float32(0.5)
    for k in range(begin.shape[0]):
        share = one / samples[k, 0]
        for p in range(begin.shape[1]):
            if begin[k, p] != begin[k, p]:
                weights[k, p, 0] = np.nan
            for i in range(int(first[k, p]), int(stop[k, p])):
                u = begin[k, p] + (np.float32(i) + half) * bins[k, 0] / samples[k, 0]
                if u >= -1 and u <= n:
                    u = min(max(u, np.float32(0)), np.float32(n - 1))
                    place = int(u)
                    f = u - np.float32(place)
                    weights[k, p, place] += (one - f) * share
                    weights[k, p, min(place + 1, n - 1)] += f * share


@compiled_kernel
def roi_weights(low, high, n, count, scale, ratio, aligned):
    if low.dtype != SINGLE:
        return None
    with np.errstate(all="ignore"):
        begin, bins, samples = bins_of(low, high, count, scale, ratio, aligned)
        first, stop = samples_inside(begin, bins, samples, n)
    weights = np.zeros((*begin.shape, n), SINGLE)
    weigh_samples(begin, bins, samples, first, stop, n, weights)
    return weights


@compiled
def find_spans(weights, spans):
    """Of each bin the first of its places that has a weight, and the one behind the last."""
    for k in range(weights.shape[0]):
        for p in range(weights.shape[1]):
            first, stop = weights.shape[2], 0
            for i in range(weights.shape[2]):
                if weights[k, p, i] != 0:
                    first, stop = min(first, i), i + 1
            spans[k, p, 0], spans[k, p, 1] = min(first, stop), stop


def spans_of(weights):
    """(K, count, 2): see find_spans; of bins without any 0 and 0."""
    spans = np.empty((*weights.shape[:2], 2), np.int64)
    find_spans(weights, spans)
    return spans


# ---- forward -------------------------------------------------------------------------------------


@parallel
def align_regions(chunk, scratch, width, C, H, W, order, ends, down, across, rows, columns, x, y):
    """order: boxes, picture by picture; ends: where those of each end; width: of channels that are
    worked on at once. rows, columns: the spans of weights."""
    parts = (C + width - 1) // width
    n, c0 = chunk // parts, chunk % parts * width
    first, last, P, Q = ends[n - 1] if n else 0, ends[n], down.shape[1], across.shape[1]
    if first == last:
        return
    wide = min(width, C - c0)
    plane, scratch = scratch[: H * W * wide], scratch[H * W * wide :]
    line, sums = scratch[: 2 * W * wide].view(np.float64), scratch[2 * W * wide :]
    sums, means = sums[: 2 * wide].view(np.float64), sums[2 * wide :]
    for c in range(wide):
        at = (n * C + c0 + c) * H * W
        for i in range(H * W):
            plane[i * wide + c] = load(x, at + i)
    for at in range(first, last):
        k = order[at]
        left, right = W, 0
        for q in range(Q):
            if columns[k, q, 0] < columns[k, q, 1]:
                left, right = min(left, columns[k, q, 0]), max(right, columns[k, q, 1])
        length = max(right - left, 0) * wide
        for p in range(P):
            row = line[:length]
            row[:] = 0
            for h in range(rows[k, p, 0], rows[k, p, 1]):
                weight = down[k, p, h]
                if weight != 0:
                    here = plane[(h * W + left) * wide : (h * W + left) * wide + length]
                    for i in range(length):
                        row[i] += weight * here[i]
            for q in range(Q):
                sums[:] = 0
                for w in range(columns[k, q, 0], columns[k, q, 1]):
                    weight = across[k, q, w]
                    if weight != 0:
                        here = row[(w - left) * wide : (w - left + 1) * wide]
                        for c in range(wide):
                            sums[c] += weight * here[c]
                for c in range(wide):
                    means[(p * Q + q) * wide + c] = sums[c]
        to = (k * C + c0) * P * Q
        for c in range(wide):
            for i in range(P * Q):
                store(y, to + c * P * Q + i, means[i * wide + c])


def channels_at_once(C, H, W, size):
    """How many channels of H x W places are worked on at once, if each takes `size` numbers for
    one."""
    return max(1, min(C, 32, max(8, PLACES // (H * W * size) // 8 * 8)))


def by_picture(pictures, n):
    """The boxes in the order of their pictures, and where those of each of n pictures end."""
    order = np.argsort(pictures, kind="stable")
    return order, np.cumsum(np.bincount(pictures, minlength=n))


def prepared(down, across, pictures, n):
    """What kernels are given of boxes in n pictures."""
    down, across = np.ascontiguousarray(down), np.ascontiguousarray(across)
    return *by_picture(pictures, n), down, across, spans_of(down), spans_of(across)


@compiled_kernel
def roi_align_forward(x, down, across, pictures, *, to):
    (N, C, H, W), (K, P, _), Q = x.shape, down.shape, across.shape[1]
    y = np.empty((K, C, P, Q), to[0] or x.dtype)
    if y.size:
        width = channels_at_once(C, H, W, 1)
        given = prepared(down, across, pictures, N)
        flat = view(np.ascontiguousarray(x)).reshape(-1), view(y).reshape(-1)
        sizes = N * -(-C // width), width, C, H, W
        cost = (x.size + 9 * y.size) * NANOSECONDS
        workspace = (H * W + 2 * W + 2 + P * Q) * width
        align_regions(*sizes, *given, *flat, cost=cost, workspace=workspace)
    return y


# ---- its gradient --------------------------------------------------------------------------------


@parallel
def align_regions_dx(
    chunk, scratch, width, C, H, W, order, ends, down, across, rows, columns, dy, dx
):
    """The same boxes give back what they were made of."""
    parts = (C + width - 1) // width
    n, c0 = chunk // parts, chunk % parts * width
    first, last, P, Q = ends[n - 1] if n else 0, ends[n], down.shape[1], across.shape[1]
    wide = min(width, C - c0)
    plane, scratch = scratch[: 2 * H * W * wide].view(np.float64), scratch[2 * H * W * wide :]
    line, means = scratch[: 2 * W * wide].view(np.float64), scratch[2 * W * wide :]
    plane[:] = 0
    for at in range(first, last):
        k = order[at]
        left, right = W, 0
        for q in range(Q):
            if columns[k, q, 0] < columns[k, q, 1]:
                left, right = min(left, columns[k, q, 0]), max(right, columns[k, q, 1])
        length = max(right - left, 0) * wide
        source = (k * C + c0) * P * Q
        for c in range(wide):
            for i in range(P * Q):
                means[i * wide + c] = load(dy, source + c * P * Q + i)
        for p in range(P):
            row = line[:length]
            row[:] = 0
            for q in range(Q):
                mean = means[(p * Q + q) * wide : (p * Q + q + 1) * wide]
                for w in range(columns[k, q, 0], columns[k, q, 1]):
                    weight = across[k, q, w]
                    if weight != 0:
                        here = row[(w - left) * wide : (w - left + 1) * wide]
                        for c in range(wide):
                            here[c] += weight * mean[c]
            for h in range(rows[k, p, 0], rows[k, p, 1]):
                weight = down[k, p, h]
                if weight != 0:
                    here = plane[(h * W + left) * wide : (h * W + left) * wide + length]
                    for i in range(length):
                        here[i] += weight * row[i]
    for c in range(wide):
        at = (n * C + c0 + c) * H * W
        for i in range(H * W):
            store(dx, at + i, plane[i * wide + c])


@compiled_kernel
def roi_align_dx(dy, down, across, pictures, *, shape, to):
    (N, C, H, W), (P, Q) = shape, dy.shape[2:]
    dx = np.empty(shape, to[0] or dy.dtype)
    if dx.size:
        width = channels_at_once(C, H, W, 2)
        given = prepared(down, across, pictures, N)
        flat = view(np.ascontiguousarray(dy)).reshape(-1), view(dx).reshape(-1)
        sizes = N * -(-C // width), width, C, H, W
        cost = (dx.size + 9 * dy.size) * NANOSECONDS
        workspace = (2 * H * W + 2 * W + P * Q) * width
        align_regions_dx(*sizes, *given, *flat, cost=cost, workspace=workspace)
    return dx
