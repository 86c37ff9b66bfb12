"""Compiled kernels of lstm.py, but for projections: see sequence_numba.py."""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.recurrent.sequence_numba import (
    INPUTS,
    alike,
    biases,
    input_products,
    load_run,
    load_run_before,
    panels,
    parts,
    state_products,
    store_run,
    store_sigmoids,
    store_tanhs,
    table,
)
from minifp.runtime.cpu.half import flat, load, rounded
from minifp.runtime.cpu.math import tanh32
from minifp.runtime.cpu.pool import parallel
from minifp.runtime.cpu.tile import COLUMNS, LANES, PRODUCT, ROWS, address, up

ONE = np.float32(1)


@parallel
def lstm_steps(
    chunk, scratch, x, wi, wh, bias, h0, c0, hs, cs, gates, h_n, c_n, spans, steps, sizes
):
    """Some sequences of the batch, through all steps."""
    B, I, H, R, S = sizes
    first = chunk * R
    rows, G = min(R, B - first), 4 * H
    high, wide = (rows + ROWS - 1) // ROWS * ROWS, (G + COLUMNS - 1) // COLUMNS * COLUMNS
    cells, strips = rows * H, 2 * rows * H
    z0 = strips + high * (H + LANES)
    x0 = z0 + S * high * wide
    for r in range(rows):
        load_run(h0, (first + r) * H, address(scratch, r * H), H)
        load_run(c0, (first + r) * H, address(scratch, cells + r * H), H)
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
            state_products(scratch, 0, n, H, wh, G, steps, strips, z, 1)
            for r in range(n):
                row = spans[t, 0] + first + r
                i, f = address(scratch, z + r * wide), address(scratch, z + r * wide + H)
                g, o = address(f, H), address(f, 2 * H)
                h, c = address(scratch, r * H), address(scratch, cells + r * H)
                store_sigmoids(i, address(bias, 0), gates, row * G, 2 * H)
                store_tanhs(g, address(bias, 2 * H), gates, row * G + 2 * H, H)
                store_sigmoids(o, address(bias, 3 * H), gates, row * G + 3 * H, H)
                for j in range(H):
                    c[j] = rounded(cs, f[j] * c[j] + i[j] * g[j])
                for j in range(H):
                    h[j] = rounded(hs, o[j] * tanh32(c[j]))
                store_run(c, cs, row * H, H)
                store_run(h, hs, row * H, H)
    for r in range(rows):
        store_run(address(scratch, r * H), h_n, (first + r) * H, H)
        store_run(address(scratch, cells + r * H), c_n, (first + r) * H, H)


@compiled_kernel
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
    lstm_steps(
        *(chunks, flat(x), panels(w_ih, True), panels(w_hh, True), biases(4 * H, b_ih, b_hh)),
        *(flat(h), flat(c), *map(flat, (hs, cs, gates, h_n, c_n)), np.array(steps, np.int64)),
        *(table(max(I, H)), (B, I, H, R, S)),
        cost=cost,
        workspace=high * (3 * H + LANES) + S * high * (wide + I + LANES),
    )
    return hs, cs, gates, h_n, c_n


@parallel
def lstm_steps_dz(
    chunk, scratch, dy, dh_n, dc_n, c0, cs, gates, w, dz, dh0, dc0, spans, steps, sizes
):
    """The gradients of z of some sequences, through all steps in reverse."""
    B, H, R = sizes
    first = chunk * R
    rows, G = min(R, B - first), 4 * H
    high, wide = (rows + ROWS - 1) // ROWS * ROWS, (H + COLUMNS - 1) // COLUMNS * COLUMNS
    cells, made, z0 = rows * H, 2 * rows * H, 2 * rows * H + high * wide
    strips = z0 + rows * G
    i = address(scratch, strips + high * (G + LANES))
    f, g, o, c = address(i, H), address(i, 2 * H), address(i, 3 * H), address(i, 4 * H)
    before, dq, t = address(i, 5 * H), address(i, 6 * H), address(i, 7 * H)
    for r in range(rows):
        load_run(dh_n, (first + r) * H, address(scratch, r * H), H)
        load_run(dc_n, (first + r) * H, address(scratch, cells + r * H), H)
    for k in range(len(spans) - 1, -1, -1):
        n = min(spans[k, 1] - spans[k, 0] - first, rows)
        if n <= 0:
            continue
        for r in range(n):
            row, z = spans[k, 0] + first + r, address(scratch, z0 + r * G)
            dh, dc = address(scratch, r * H), address(scratch, cells + r * H)
            zf, zg, zo = address(z, H), address(z, 2 * H), address(z, 3 * H)
            load_run(gates, row * G, i, G)
            load_run(cs, row * H, c, H)
            load_run_before(cs, c0, spans, k, first + r, before, H)
            for j in range(H):
                dq[j] = dh[j] + load(dy, row * H + j)
            for j in range(H):
                t[j] = tanh32(c[j])
            for j in range(H):
                dc[j] += dq[j] * o[j] * (ONE - t[j] * t[j])
            for j in range(H):
                z[j] = rounded(dz, dc[j] * g[j] * (i[j] * (ONE - i[j])))
            for j in range(H):
                zf[j] = rounded(dz, dc[j] * before[j] * (f[j] * (ONE - f[j])))
            for j in range(H):
                zg[j] = rounded(dz, dc[j] * i[j] * (ONE - g[j] * g[j]))
            for j in range(H):
                zo[j] = rounded(dz, dq[j] * t[j] * (o[j] * (ONE - o[j])))
            for j in range(H):
                dc[j] = rounded(dz, dc[j] * f[j])
            store_run(z, dz, row * G, G)
        state_products(scratch, z0, n, G, w, H, steps, strips, made, 0)
        for r in range(n):
            dh, sums = address(scratch, r * H), address(scratch, made + r * wide)
            for j in range(H):
                dh[j] = rounded(dz, sums[j])
    for r in range(rows):
        store_run(address(scratch, r * H), dh0, (first + r) * H, H)
        store_run(address(scratch, cells + r * H), dc0, (first + r) * H, H)


@compiled_kernel
def lstm_dz(dy, dh, dc, c0, cs, gates, w_hh, *, steps, to):
    N, (B, H) = len(dy), dh.shape
    if not alike(to, dy, dh, dc, c0, cs, gates, w_hh) or not dy.size:
        return None
    cost = N * 4 * H * H * PRODUCT
    chunks, R = parts(B, cost)
    high, wide = up(R, ROWS), up(H, COLUMNS)
    dz, dh0, dc0 = np.empty((N, 4 * H), dy.dtype), *np.empty((2, B, H), dy.dtype)
    lstm_steps_dz(
        *(chunks, *map(flat, (dy, dh, dc, c0, cs, gates)), panels(w_hh, False)),
        *(*map(flat, (dz, dh0, dc0)), np.array(steps, np.int64), table(4 * H), (B, H, R)),
        cost=cost,
        workspace=2 * high * H + high * (wide + 8 * H + LANES) + 11 * H,
    )
    return dz, dh0, dc0
