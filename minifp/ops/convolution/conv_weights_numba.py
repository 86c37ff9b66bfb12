"""Sums of weight gradients of convolutions: dy times the pixels it belongs to, over all pictures.

Planes are transposed to have channels last, so that lanes run along neighbouring places of the
kernel and their channels: see conv_numba.py.
"""

import numpy as np

from minifp.ops.convolution.conv_correlation_numba import fill_run
from minifp.ops.convolution.conv_plan_numba import KC
from minifp.runtime.cpu.compile.decorators import inline
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.packing import pack_rows, transpose, widen
from minifp.runtime.cpu.kernels.pool import parallel
from minifp.runtime.cpu.kernels.tile import COLUMNS, LANES, ROWS, address, multiply

STEPS = np.arange(KC, dtype=np.int32) * COLUMNS  # where the rows of a panel begin


@inline
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
                source, target = planes + (c * phases + phase) * size + f, to + phase * deep * C
                transpose(scratch, source, phases * size, scratch, target + f * C + c, C)


@inline(sums=True)
def dot(x, i, y, j, n):
    """The sum of x[i + k] y[j + k] for k below n."""
    total = np.float32(0)
    for k in range(n):
        total += load(x, i + k) * load(y, j + k)
    return total


@inline
def depthwise_sums(scratch, dy, source, shape, begin, n, to, more):
    """sums[i] (+)= the sum over all pixels of dy times what lies i behind them, for i below n.

    dy: a picture's rows from `source` on, the next picture's `far` behind them. begin: the planes.
    """
    images, height, width, down, Q, far = shape
    for i in range(n):
        total = np.float32(0)
        for image in range(images):
            of_image = np.float32(0)
            for p in range(down):
                x = begin + (image * height + p) * width + i
                of_image += dot(dy, source + image * far + p * Q, scratch, x, Q)
            total += of_image
        to[i] = to[i] + total if more else total


@parallel
def weight_sums(
    slot, scratch, N, x, how, pairs, dy, runs, pixels, sizes, sums, chunks, per, in_panels
):
    """A slot's part of dw: the sum over some chunks, lanes along a row of the kernel's places.

    runs: (phase, shift, wide, where) of places side by side: of `wide` numbers, (j, c), of a pixel
    and those behind it. pixels: where each pixel of a whole chunk lies in a plane, times C. Where
    many results read the same, it is put side by side first: what lies a power of 2 apart falls
    into one place of the L1 cache.
    """
    O, P, Q, groups, C, deep, of_slot = sizes
    images, rows, height, width, total, parts = how[7:13]
    phases, size = len(pairs), images * height * width
    M = O // groups
    panel = (total + phases * deep * C + LANES * (C + LANES) + LANES - 1) // LANES * LANES
    strips = panel + (KC * COLUMNS if in_panels else 0)
    gathered, lines, places = address(scratch, panel), address(STEPS, 0), address(pixels, 0)
    for chunk in range(slot * per, min((slot + 1) * per, chunks)):
        fill_run(chunk, N, x, how, pairs, scratch)
        first, row0 = chunk // parts * images, chunk % parts * rows
        last, down = min(first + images, N), min(rows, P - row0)
        K = (last - first) * down * Q
        apart = ROWS * K + LANES
        for g in range(groups):
            if M == 1 and C == 1:
                for r in range(len(runs)):
                    phase, shift, wide, where = runs[r]
                    source, begin = ((first * O + g) * P + row0) * Q, (g * phases + phase) * size
                    shape = last - first, height, width, down, Q, O * P * Q
                    out = address(sums, slot * of_slot + g * (of_slot // groups) + where)
                    more = chunk - slot * per
                    depthwise_sums(scratch, dy, source, shape, begin + shift, wide, out, more)
                continue
            put_channels_last(scratch, g * C * phases * size, C, phases, size, deep, total)
            for image in range(first, last):
                source = ((image * O + g * M) * P + row0) * Q
                to = strips + (image - first) * down * Q * ROWS
                pack_rows(dy, source, P * Q, 1, M, down * Q, scratch[to:], apart)
            for r in range(len(runs)):
                phase, shift, wide, where = runs[r]
                begin = total + (phase * deep + shift) * C
                to = slot * of_slot + g * (of_slot // groups) + where
                far, more = (wide + LANES - 1) // LANES * LANES, chunk - slot * per
                if not in_panels:
                    left, right = address(scratch, strips), address(scratch, begin)
                    out = address(sums, to)
                    multiply(left, apart, M, right, COLUMNS, wide, places, K, out, far, more)
                    continue
                for n in range(0, wide, COLUMNS):
                    for k in range(0, K, KC):
                        kc = min(KC, K - k)
                        for i in range(kc):
                            source = begin + pixels[k + i] + n
                            for j in range(0, COLUMNS, LANES):
                                widen(scratch, source + j, scratch, panel + i * COLUMNS + j)
                        left, out = address(scratch, strips + k * ROWS), address(sums, to + n)
                        few, past = min(COLUMNS, wide - n), more + k
                        multiply(left, apart, M, gathered, 0, few, lines, kc, out, far, past)


@parallel
def add_slots(chunk, scratch, sums, slots, of_slot, groups, places, M, C, KK, out):
    """dw of one result: the sum of the slots' parts, one after the other.

    places: for each place in the kernel, where its sums begin and how far rows are apart.
    """
    total = address(scratch, 0)
    for k in range(KK):
        at = chunk // M * (of_slot // groups) + places[k, 0] + chunk % M * places[k, 1]
        for c in range(C):
            total[c] = load(sums, at + c)
        for s in range(1, slots):
            for c in range(C):
                total[c] += load(sums, s * of_slot + at + c)
        for c in range(C):
            store(out, (chunk * C + c) * KK + k, total[c])
