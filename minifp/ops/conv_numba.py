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

from math import prod

import numpy as np

from minifp.cpu import twin
from minifp.cpu.compile import compiled, part
from minifp.cpu.gemm import pack_rows
from minifp.cpu.half import flat, load, store
from minifp.cpu.pool import aligned, chunked
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
from minifp.ops.conv_plan_numba import MANY, backward_plan, forward_plan, weight_plan

FAR = 128  # channels of pixels that are so far apart that few of them fit into the L1 cache
KC = 128  # places in a panel, which stays in the L1 cache
APART = COLUMNS + LANES  # rows of a panel
STEPS, PLAIN = (np.arange(KC, dtype=np.int32) * apart for apart in (APART, COLUMNS))


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
                                store(out, at + q, 0)
                        else:
                            source = ((image * C + c) * H + h) * W + start * sw + b - left
                            for q in range(start):
                                store(out, at + q, 0)
                            to = at + start
                            if sw == 1:
                                q = 0
                                while q + LANES <= inside:
                                    widen(x, source + q, out, to + q)
                                    q += LANES
                                for i in range(q, inside):
                                    store(out, to + i, load(x, source + i))
                            else:
                                for q in range(inside):
                                    store(out, to + q, load(x, source + q * sw))
                            for q in range(start + inside, width):
                                store(out, at + q, 0)
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
                            *(address(a, packed + k * ROWS), ROWS * K, M),
                            *(address(scratch, panel), 0, n, address(STEPS, 0), kc),
                            *(address(scratch, total), block, k),
                        )
                elif K > 0:
                    multiply(
                        *(address(a, packed), ROWS * K, M),
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
                                    store(y, to + i, load(scratch, source + i) + b)
                                    i += 1
                            else:
                                for i in range(kept):
                                    store(y, to + i * dw, load(scratch, source + i) + b)
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


@part(sums=True)
def dot(x, i, y, j, n):
    """The sum of x[i + k] y[j + k] for k below n."""
    total = np.float32(0)
    for k in range(n):
        total += load(x, i + k) * load(y, j + k)
    return total


@part
def depthwise_sums(scratch, dy, source, images, height, width, down, Q, far, begin, n, to, more):
    """sums[i] (+)= the sum over all pixels of dy times what lies i behind them, for i below n.

    dy: a picture's rows from `source` on, the next picture's `far` behind them. begin: the planes.
    """
    for i in range(n):
        total = np.float32(0)
        for image in range(images):
            of_image = np.float32(0)
            for p in range(down):
                x = begin + (image * height + p) * width + i
                of_image += dot(dy, source + image * far + p * Q, scratch, x, Q)
            total += of_image
        to[i] = to[i] + total if more else total


@chunked
def weight_sums(slot, scratch, N, x, how, dy, runs, pixels, sizes, sums, chunks, per, in_panels):
    """A slot's part of dw: the sum over some chunks, lanes along a row of the kernel's places.

    runs: (phase, shift, wide, where) of places side by side: of `wide` numbers, (j, c), of a pixel
    and those behind it. pixels: where each pixel of a whole chunk lies in a plane, times C. Where
    many results read the same, it is put side by side first: what lies a power of 2 apart falls
    into one place of the L1 cache.
    """
    O, P, Q, groups, C, deep, of_slot = sizes
    images, rows, height, width, total, parts = how[7:13]
    phases, size = how[3] * how[4], images * height * width
    M = O // groups
    panel = (total + phases * deep * C + LANES * (C + LANES) + LANES - 1) // LANES * LANES
    strips = panel + (KC * COLUMNS if in_panels else 0)
    for chunk in range(slot * per, min((slot + 1) * per, chunks)):
        fill(chunk, N, x, how, scratch)
        first, row0 = chunk // parts * images, chunk % parts * rows
        last, down = min(first + images, N), min(rows, P - row0)
        K = (last - first) * down * Q
        apart = ROWS * K + LANES
        for g in range(groups):
            if M == 1 and C == 1:
                for r in range(len(runs)):
                    phase, shift, wide, where = runs[r]
                    depthwise_sums(
                        *(scratch, dy, ((first * O + g) * P + row0) * Q, last - first),
                        *(height, width, down, Q, O * P * Q),
                        *((g * phases + phase) * size + shift, wide),
                        address(sums, slot * of_slot + g * (of_slot // groups) + where),
                        chunk - slot * per,
                    )
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
                    multiply(
                        *(address(scratch, strips), apart, M, address(scratch, begin), COLUMNS),
                        *(wide, address(pixels, 0), K, address(sums, to), far, more),
                    )
                    continue
                for n in range(0, wide, COLUMNS):
                    for k in range(0, K, KC):
                        kc = min(KC, K - k)
                        for i in range(kc):
                            source = begin + pixels[k + i] + n
                            for j in range(0, COLUMNS, LANES):
                                widen(scratch, source + j, scratch, panel + i * COLUMNS + j)
                        multiply(
                            *(address(scratch, strips + k * ROWS), apart, M),
                            *(address(scratch, panel), 0, min(COLUMNS, wide - n)),
                            *(address(PLAIN, 0), kc, address(sums, to + n), far, more + k),
                        )


@chunked
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


# ---- calls --------------------------------------------------------------------------------------


def as_pictures(shape):
    """A shape (N, C, H, W), of pictures or of sequences."""
    return shape if len(shape) == 4 else (*shape[:2], 1, *shape[2:])


def geometry_of(stride, padding, dilation):
    """The same for stride, padding and dilation."""
    return tuple(
        tuple(v) if len(v) == 2 else (one, *v)
        for v, one in ((stride, 1), (padding, 0), (dilation, 1))
    )


NO_BIAS = {2: np.empty(0, np.uint16), 4: np.empty(0, np.float32)}


def run(made, groups, x, w, b, shape, dtype):
    """The results (of a shape) of a Plan."""
    y, x, w = np.empty(shape, dtype), flat(x), flat(w)
    packed = aligned(made.weights)
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
    sums = np.empty(made.slots * made.of_slot, np.float32)
    weight_sums(
        *(made.slots, x.shape[0], flat(x), tuple(laid), flat(dy), made.runs, made.pixels),
        *((O, *counts, groups, C, made.deep, made.of_slot), sums, laid.chunks, made.per),
        M >= MANY and C >= FAR,
        cost=made.cost,
        workspace=made.workspace + LANES + KC * COLUMNS,
    )
    dw = np.empty(w_shape, to[0])
    add_slots(
        *(O, sums, made.slots, made.of_slot, groups, made.places, M, C, KH * KW, flat(dw)),
        cost=sums.size / 2,
        workspace=C,
    )
    return dw


@twin
def conv_db(dy, *, to):
    return sum_over(dy, (0, *range(2, dy.ndim)), to[0] or dy.dtype)
