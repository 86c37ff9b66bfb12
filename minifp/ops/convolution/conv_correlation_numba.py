"""Correlations without unfolding: the kernel behind a convolution and behind its dx.

Widened planes with zeros around them, and sums that read them shifted: see conv_numba.py. Where
many results read the same, what they read is gathered into panels first.
"""

import numpy as np

from minifp.ops.convolution.conv_plan_numba import APART, KC
from minifp.runtime.cpu.compile.decorators import compiled, inline
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.packing import settle, widen, widen_second
from minifp.runtime.cpu.kernels.pool import parallel
from minifp.runtime.cpu.kernels.tile import COLUMNS, LANES, ROWS, address, multiply

STEPS = np.arange(KC, dtype=np.int32) * APART


@inline
def fill_row(x, source, step, n, out, to):
    """out[to + i] = x[source + i step] for i below n, and anything in less than a vector behind."""
    if step == 1 and source + n + LANES <= x.size:
        for i in range(0, n, LANES):
            widen(x, source + i, out, to + i)
    elif step == 2 and source + 2 * (n + LANES) <= x.size:
        for i in range(0, n, LANES):
            widen_second(x, source + 2 * i, out, to + i)
    else:
        for i in range(n):
            store(out, to + i, load(x, source + i * step))


@inline
def fill_run(chunk, N, x, how, pairs, out):
    """Widen what a chunk reads of x into planes."""
    C, H, W, sh, sw, top, left, images, rows, height, width, total, parts, _ = how
    first, row0 = chunk // parts * images, chunk % parts * rows
    in_one = sh == 1 and sw == 1 and top == 0 and left == 0 and height == H and width == W
    at = 0
    for c in range(C):
        for pair in range(len(pairs)):
            a, b = pairs[pair]
            start = max(0, (left - b + sw - 1) // sw)
            inside = max(0, min((W + left - b + sw - 1) // sw, width) - start)
            for image in range(first, first + images):
                if in_one and image < N:
                    fill_row(x, (image * C + c) * H * W, 1, H * W, out, at)
                    at += H * W
                    continue
                for r in range(height):
                    h = (row0 + r) * sh + a - top
                    if image >= N or h < 0 or h >= H:
                        for q in range(width):
                            store(out, at + q, 0)
                    else:
                        for q in range(start):
                            store(out, at + q, 0)
                        source = ((image * C + c) * H + h) * W + start * sw + b - left
                        fill_row(x, source, sw, inside, out, at + start)
                        for q in range(start + inside, width):
                            store(out, at + q, 0)
                    at += width
    for i in range(at, total):
        out[i] = 0


@compiled
def pack_weights(w, rows, ks, out, where):
    """A[m, k] = w[rows[m] + ks[k]] in strips (M / ROWS, K, ROWS) from `where` on, zeros below M."""
    M, K = len(rows), len(ks)
    for m in range(0, M, ROWS):
        for k in range(K):
            for r in range(ROWS):
                at = where + m * K + k * ROWS + r
                out[at] = load(w, rows[m + r] + ks[k]) if m + r < M else 0


@compiled(sums=True)
def zero_of(x, n):
    """0, or NaN if one of the first n numbers is not finite."""
    total = np.float32(0)
    for i in range(n):
        total += x[i] * np.float32(0)
    return total


@inline
def gather_pixels(scratch, planes, steps, table, K, f, plane, n, to):
    """The numbers that n pixels, from number f on, read at K places: a panel (K, APART).

    Vectors are copied whole: what is too much is written over by the next run of pixels, or lies
    behind the columns that are used.
    """
    width, height, down, Q = plane
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


@parallel
def correlations(chunk, scratch, N, x, how, pairs, a, steps, phases, bias, y, sizes, in_panels):
    """y = bias + the correlation of x with packed weights, for every phase of the result.

    Either the sums read the planes as they are, and some are for nothing, those between the rows;
    or, where many results read the same, what they read is gathered into panels first.
    """
    O, OH, OW, groups, high, block = sizes
    images, rows, height, width, total, parts = how[7:13]
    fill_run(chunk, N, x, how, pairs, scratch)
    first, row0 = chunk // parts * images, chunk % parts * rows
    last = min(first + images, N)
    M = O // groups
    of_group = how[0] * len(pairs) * images * height * width // groups
    panel = total + high * block
    gathered, lines = address(scratch, panel), address(STEPS, 0)
    for phase in range(len(phases)):
        K, weights, table, P, Q, h0, w0, dh, dw = phases[phase]
        down = min(rows, P - row0)
        if down <= 0 or Q <= 0:
            continue
        across, along = (Q, down) if in_panels else (width, height)
        plane = width, height, down, Q
        pixels = (last - first - 1) * along * across + (down - 1) * across + Q
        joined = across == Q and OW == Q and dh == 1 and dw == 1
        for g in range(groups):
            planes, packed = g * of_group, weights + g * high * K
            for f0 in range(0, pixels, block):
                n = min(block, pixels - f0)
                if in_panels:
                    for k in range(0, K, KC):
                        kc = min(KC, K - k)
                        for i in range(0, n, COLUMNS):
                            wide = min(COLUMNS, n - i)
                            gather_pixels(
                                scratch, planes, steps, table + k, kc, f0 + i, plane, wide, panel
                            )
                            left, out = address(a, packed + k * ROWS), address(scratch, total + i)
                            multiply(left, ROWS * K, M, gathered, 0, wide, lines, kc, out, block, k)
                elif K > 0:
                    left, places = address(a, packed), address(steps, table)
                    right, out = address(scratch, planes + f0), address(scratch, total)
                    multiply(left, ROWS * K, M, right, COLUMNS, n, places, K, out, block, 0)
                f = f0
                while f < f0 + n:
                    image, rest = f // (along * across), f % (along * across)
                    p, q = rest // across, rest % across
                    inside = joined and p < down  # and not among the zeros between two pictures
                    run = min(down * Q - rest if inside else across - q, f0 + n - f)
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
                                    store(y, to + i, load(scratch, source + i) + b)
                                    i += 1
                            else:
                                for i in range(kept):
                                    store(y, to + i * dw, load(scratch, source + i) + b)
                    f += run
