"""The twins of lstm.py, but for projections: see sequence_numba.py."""

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
    put_tanhs,
    table,
    take,
)

ONE = np.float32(1)


@chunked
def forward(chunk, scratch, x, wi, wh, bias, h0, c0, hs, cs, gates, h_n, c_n, spans, steps, sizes):
    """Some sequences of the batch, through all steps."""
    B, I, H, R, S = sizes
    first = chunk * R
    rows, G = min(R, B - first), 4 * H
    high, wide = (rows + ROWS - 1) // ROWS * ROWS, (G + COLUMNS - 1) // COLUMNS * COLUMNS
    lh = H + LANES
    c = high * lh
    z0 = c + rows * H
    x0 = z0 + S * high * wide
    for r in range(rows):
        take(h0, (first + r) * H, scratch, r * lh, H)
        take(c0, (first + r) * H, scratch, c + r * H, H)
    for begin in range(0, len(spans), S):
        end = min(begin + S, len(spans))
        input_products(
            *(scratch, x, spans, begin, end, first, rows, I, wi, G, steps, x0, z0),
        )
        for t in range(begin, end):
            n = min(spans[t, 1] - spans[t, 0] - first, rows)
            if n <= 0:
                continue
            z = z0 + (t - begin) * high * wide
            multiply(
                *(address(scratch, 0), ROWS * lh, lh, 1, n, address(wh, 0), H * COLUMNS, G),
                *(address(steps, 0), H, address(scratch, z), wide, 1),
            )
            for r in range(n):
                row = spans[t, 0] + first + r
                i, at, c_r, h_r = z + r * wide, row * G, c + r * H, r * lh
                f, g, o = i + H, i + 2 * H, i + 3 * H
                put_sigmoids(scratch, i, bias, 0, gates, at, 2 * H)
                put_tanhs(scratch, g, bias, 2 * H, gates, at + 2 * H, H)
                put_sigmoids(scratch, o, bias, 3 * H, gates, at + 3 * H, H)
                for j in range(H):
                    new = scratch[f + j] * scratch[c_r + j] + scratch[i + j] * scratch[g + j]
                    scratch[c_r + j] = rounded(cs, new)
                for j in range(H):
                    new = scratch[o + j] * tanh32(scratch[c_r + j])
                    scratch[h_r + j] = rounded(hs, new)
                put(scratch, c_r, cs, row * H, H)
                put(scratch, h_r, hs, row * H, H)
    for r in range(rows):
        put(scratch, r * lh, h_n, (first + r) * H, H)
        put(scratch, c + r * H, c_n, (first + r) * H, H)


@twin
def lstm_forward(x, h, c, w_ih, w_hh, b_ih, b_hh, *, steps, to):
    N, I = x.shape
    B, H = h.shape
    if not alike(to, x, h, c, w_ih, w_hh, b_ih, b_hh) or not x.size or not h.size:
        return None
    cost = N * 4 * H * (I + H) * PRODUCT
    chunks, R = parts(B, cost)
    high, wide = up(R, ROWS), up(4 * H, COLUMNS)
    S = max(1, min(len(steps), INPUTS * 4 // (high * wide)))
    hs, cs, gates = (np.empty((N, n), x.dtype) for n in (H, H, 4 * H))
    h_n, c_n = np.empty((2, B, H), x.dtype)
    forward(
        *(chunks, flat(x), panels(w_ih, True), panels(w_hh, True), biases(4 * H, b_ih, b_hh)),
        *(flat(h), flat(c), *map(flat, (hs, cs, gates, h_n, c_n)), np.array(steps, np.int64)),
        *(table(max(I, H)), (B, I, H, R, S)),
        cost=cost,
        workspace=high * (2 * H + LANES) + S * high * (wide + I + LANES),
    )
    return hs, cs, gates, h_n, c_n


@chunked
def backward(chunk, scratch, dy, dh_n, dc_n, c0, cs, gates, w, dz, dh0, dc0, spans, steps, sizes):
    """The gradients of z of some sequences, through all steps in reverse."""
    B, H, R = sizes
    first = chunk * R
    rows, G = min(R, B - first), 4 * H
    high, wide = (rows + ROWS - 1) // ROWS * ROWS, (H + COLUMNS - 1) // COLUMNS * COLUMNS
    lz = G + LANES
    dh, dc, made, z = 0, rows * H, 2 * rows * H, 2 * rows * H + high * wide
    i = z + high * lz
    f, g, o, c = i + H, i + 2 * H, i + 3 * H, i + 4 * H
    before, dq, t = i + 5 * H, i + 6 * H, i + 7 * H
    for r in range(rows):
        take(dh_n, (first + r) * H, scratch, dh + r * H, H)
        take(dc_n, (first + r) * H, scratch, dc + r * H, H)
    for k in range(len(spans) - 1, -1, -1):
        n = min(spans[k, 1] - spans[k, 0] - first, rows)
        if n <= 0:
            continue
        for r in range(n):
            row, dc_r, z_r = spans[k, 0] + first + r, dc + r * H, z + r * lz
            take(gates, row * G, scratch, i, G)
            take(cs, row * H, scratch, c, H)
            before_step(scratch, cs, c0, spans, k, first + r, H, before)
            for j in range(H):
                scratch[dq + j] = scratch[dh + r * H + j] + load(dy, row * H + j)
            for j in range(H):
                scratch[t + j] = tanh32(scratch[c + j])
            for j in range(H):
                y = scratch[t + j]
                scratch[dc_r + j] += scratch[dq + j] * scratch[o + j] * (ONE - y * y)
            for j in range(H):
                y = scratch[i + j]
                new = scratch[dc_r + j] * scratch[g + j] * (y * (ONE - y))
                scratch[z_r + j] = rounded(dz, new)
            for j in range(H):
                y = scratch[f + j]
                new = scratch[dc_r + j] * scratch[before + j] * (y * (ONE - y))
                scratch[z_r + H + j] = rounded(dz, new)
            for j in range(H):
                y = scratch[g + j]
                new = scratch[dc_r + j] * scratch[i + j] * (ONE - y * y)
                scratch[z_r + 2 * H + j] = rounded(dz, new)
            for j in range(H):
                y = scratch[o + j]
                new = scratch[dq + j] * scratch[t + j] * (y * (ONE - y))
                scratch[z_r + 3 * H + j] = rounded(dz, new)
            for j in range(H):
                scratch[dc_r + j] = rounded(dz, scratch[dc_r + j] * scratch[f + j])
            put(scratch, z_r, dz, row * G, G)
        multiply(
            *(address(scratch, z), ROWS * lz, lz, 1, n, address(w, 0), G * COLUMNS, H),
            *(address(steps, 0), G, address(scratch, made), wide, 0),
        )
        for r in range(n):
            for j in range(H):
                scratch[dh + r * H + j] = rounded(dz, scratch[made + r * wide + j])
    for r in range(rows):
        put(scratch, dh + r * H, dh0, (first + r) * H, H)
        put(scratch, dc + r * H, dc0, (first + r) * H, H)


@twin
def lstm_dz(dy, dh, dc, c0, cs, gates, w_hh, *, steps, to):
    N, (B, H) = len(dy), dh.shape
    if not alike(to, dy, dh, dc, c0, cs, gates, w_hh) or not dy.size:
        return None
    cost = N * 4 * H * H * PRODUCT
    chunks, R = parts(B, cost)
    high, wide = up(R, ROWS), up(H, COLUMNS)
    dz, dh0, dc0 = np.empty((N, 4 * H), dy.dtype), *np.empty((2, B, H), dy.dtype)
    backward(
        *(chunks, *map(flat, (dy, dh, dc, c0, cs, gates)), panels(w_hh, False)),
        *(*map(flat, (dz, dh0, dc0)), np.array(steps, np.int64), table(4 * H), (B, H, R)),
        cost=cost,
        workspace=2 * high * H + high * (wide + 4 * H + LANES) + 11 * H,
    )
    return dz, dh0, dc0
