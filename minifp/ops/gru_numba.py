"""The twins of gru.py: see sequence_numba.py."""

import numpy as np

from minifp.cpu import twin
from minifp.cpu.half import flat, load, rounded
from minifp.cpu.math import tanh32
from minifp.cpu.pool import chunked
from minifp.cpu.tile import COLUMNS, LANES, PRODUCT, ROWS, address, multiply, up
from minifp.ops.sequence_numba import (
    INPUTS,
    alike,
    before_step,
    biases,
    input_products,
    panels,
    parts,
    put,
    put_sigmoids,
    table,
    take,
)

ONE = np.float32(1)


@chunked
def forward(chunk, scratch, x, wi, wh, b_in, b_hidden, h0, hs, gates, h_n, spans, steps, sizes):
    """Some sequences of the batch, through all steps."""
    B, I, H, R, S = sizes
    first = chunk * R
    rows, G = min(R, B - first), 3 * H
    high, wide = (rows + ROWS - 1) // ROWS * ROWS, (G + COLUMNS - 1) // COLUMNS * COLUMNS
    lh = H + LANES
    a0 = high * lh
    made = a0 + S * high * wide
    x0 = made + high * wide
    for r in range(rows):
        take(h0, (first + r) * H, scratch, r * lh, H)
    for begin in range(0, len(spans), S):
        end = min(begin + S, len(spans))
        input_products(
            *(scratch, x, spans, begin, end, first, rows, I, wi, G, steps, x0, a0),
        )
        for t in range(begin, end):
            n = min(spans[t, 1] - spans[t, 0] - first, rows)
            if n <= 0:
                continue
            multiply(
                *(address(scratch, 0), ROWS * lh, lh, 1, n, address(wh, 0), H * COLUMNS, G),
                *(address(steps, 0), H, address(scratch, made), wide, 0),
            )
            for s in range(n):
                row = spans[t, 0] + first + s
                a, q = a0 + ((t - begin) * high + s) * wide, made + s * wide
                at, h = row * 4 * H, s * lh
                for j in range(2 * H):
                    scratch[a + j] += scratch[q + j] + b_hidden[j]
                q += 2 * H
                for j in range(H):
                    scratch[q + j] = rounded(gates, scratch[q + j] + b_hidden[2 * H + j])
                put(scratch, q, gates, at + 3 * H, H)
                put_sigmoids(scratch, a, b_in, 0, gates, at, 2 * H)
                z, n_ = a + H, a + 2 * H
                for j in range(H):
                    scratch[n_ + j] += b_in[2 * H + j] + scratch[a + j] * scratch[q + j]
                for j in range(H):
                    scratch[n_ + j] = rounded(gates, tanh32(scratch[n_ + j]))
                put(scratch, n_, gates, at + 2 * H, H)
                for j in range(H):
                    y = scratch[z + j]
                    new = (ONE - y) * scratch[n_ + j] + y * scratch[h + j]
                    scratch[h + j] = rounded(hs, new)
                put(scratch, h, hs, row * H, H)
    for r in range(rows):
        put(scratch, r * lh, h_n, (first + r) * H, H)


@twin
def gru_forward(x, h, w_ih, w_hh, b_ih, b_hh, *, steps, to):
    N, I = x.shape
    B, H = h.shape
    if not alike(to, x, h, w_ih, w_hh, b_ih, b_hh) or not x.size or not h.size:
        return None
    cost = N * 3 * H * (I + H) * PRODUCT
    chunks, R = parts(B, cost)
    high, wide = up(R, ROWS), up(3 * H, COLUMNS)
    S = max(1, min(len(steps), INPUTS * 4 // (high * wide)))
    hs, gates, h_n = (np.empty(shape, x.dtype) for shape in ((N, H), (N, 4 * H), (B, H)))
    forward(
        *(chunks, flat(x), panels(w_ih, True), panels(w_hh, True), biases(3 * H, b_ih)),
        *(biases(3 * H, b_hh), flat(h), *map(flat, (hs, gates, h_n)), np.array(steps, np.int64)),
        *(table(max(I, H)), (B, I, H, R, S)),
        cost=cost,
        workspace=high * (H + LANES) + high * wide + S * high * (wide + I + LANES),
    )
    return hs, gates, h_n


@chunked
def backward(chunk, scratch, dy, dh_n, h0, hs, gates, w, da_in, da_h, dh0, spans, steps, sizes):
    """The gradients of what is inside sigma and tanh, of some sequences, in reverse."""
    B, H, R = sizes
    first = chunk * R
    rows, G = min(R, B - first), 3 * H
    high, wide = (rows + ROWS - 1) // ROWS * ROWS, (H + COLUMNS - 1) // COLUMNS * COLUMNS
    la = G + LANES
    d, made, a = 0, rows * H, rows * H + high * wide
    r0 = a + high * la
    z, n0, q, before, da_n = r0 + H, r0 + 2 * H, r0 + 3 * H, r0 + 4 * H, r0 + 5 * H
    for s in range(rows):
        take(dh_n, (first + s) * H, scratch, d + s * H, H)
    for k in range(len(spans) - 1, -1, -1):
        n = min(spans[k, 1] - spans[k, 0] - first, rows)
        if n <= 0:
            continue
        for s in range(n):
            row, d_s, a_s = spans[k, 0] + first + s, d + s * H, a + s * la
            take(gates, row * 4 * H, scratch, r0, 4 * H)
            before_step(scratch, hs, h0, spans, k, first + s, H, before)
            for j in range(H):
                scratch[d_s + j] += load(dy, row * H + j)
            for j in range(H):
                y = scratch[n0 + j]
                scratch[da_n + j] = scratch[d_s + j] * (ONE - scratch[z + j]) * (ONE - y * y)
            for j in range(H):
                y = scratch[r0 + j]
                new = scratch[da_n + j] * scratch[q + j] * (y * (ONE - y))
                scratch[a_s + j] = rounded(da_in, new)
            for j in range(H):
                y = scratch[z + j]
                new = scratch[d_s + j] * (scratch[before + j] - scratch[n0 + j]) * (y * (ONE - y))
                scratch[a_s + H + j] = rounded(da_in, new)
            put(scratch, a_s, da_in, row * G, 2 * H)
            put(scratch, da_n, da_in, row * G + 2 * H, H)
            for j in range(H):
                new = scratch[da_n + j] * scratch[r0 + j]
                scratch[a_s + 2 * H + j] = rounded(da_h, new)
            put(scratch, a_s, da_h, row * G, G)
            for j in range(H):
                scratch[d_s + j] *= scratch[z + j]
        multiply(
            *(address(scratch, a), ROWS * la, la, 1, n, address(w, 0), G * COLUMNS, H),
            *(address(steps, 0), G, address(scratch, made), wide, 0),
        )
        for s in range(n):
            for j in range(H):
                new = scratch[d + s * H + j] + scratch[made + s * wide + j]
                scratch[d + s * H + j] = rounded(da_in, new)
    for s in range(rows):
        put(scratch, d + s * H, dh0, (first + s) * H, H)


@twin
def gru_da(dy, dh, h0, hs, gates, w_hh, *, steps, to):
    N, (B, H) = len(dy), dh.shape
    if not alike(to, dy, dh, h0, hs, gates, w_hh) or not dy.size:
        return None
    cost = N * 3 * H * H * PRODUCT
    chunks, R = parts(B, cost)
    high, wide = up(R, ROWS), up(H, COLUMNS)
    da_in, da_h = np.empty((2, N, 3 * H), dy.dtype)
    dh0 = np.empty((B, H), dy.dtype)
    backward(
        *(chunks, *map(flat, (dy, dh, h0, hs, gates)), panels(w_hh, False)),
        *(*map(flat, (da_in, da_h, dh0)), np.array(steps, np.int64), table(3 * H), (B, H, R)),
        cost=cost,
        workspace=high * H + high * (wide + 3 * H + LANES) + 7 * H,
    )
    return da_in, da_h, dh0
