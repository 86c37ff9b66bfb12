"""Compiled kernels of gru.py: see sequence_numba.py."""

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
    table,
)
from minifp.runtime.cpu.half import flat, load, rounded
from minifp.runtime.cpu.math import tanh32
from minifp.runtime.cpu.pool import parallel
from minifp.runtime.cpu.tile import COLUMNS, LANES, PRODUCT, ROWS, address, up

ONE = np.float32(1)


@parallel
def gru_steps(chunk, scratch, x, wi, wh, b_in, b_hidden, h0, hs, gates, h_n, spans, steps, sizes):
    """Some sequences of the batch, through all steps."""
    B, I, H, R, S = sizes
    first = chunk * R
    rows, G = min(R, B - first), 3 * H
    high, wide = (rows + ROWS - 1) // ROWS * ROWS, (G + COLUMNS - 1) // COLUMNS * COLUMNS
    strips = rows * H
    a0 = strips + high * (H + LANES)
    made = a0 + S * high * wide
    x0 = made + high * wide
    bi, bh = address(b_in, 0), address(b_hidden, 0)
    for s in range(rows):
        load_run(h0, (first + s) * H, address(scratch, s * H), H)
    for begin in range(0, len(spans), S):
        end = min(begin + S, len(spans))
        input_products(
            *(scratch, x, spans, begin, end, first, rows, I, wi, G, steps, x0, a0),
        )
        for t in range(begin, end):
            n = min(spans[t, 1] - spans[t, 0] - first, rows)
            if n <= 0:
                continue
            state_products(scratch, 0, n, H, wh, G, steps, strips, made, 0)
            for s in range(n):
                row = spans[t, 0] + first + s
                h, at = address(scratch, s * H), row * 4 * H
                r = address(scratch, a0 + ((t - begin) * high + s) * wide)
                z, new = address(r, H), address(r, 2 * H)
                of_h = address(scratch, made + s * wide)
                q, b_q, b_new = address(of_h, 2 * H), address(bh, 2 * H), address(bi, 2 * H)
                for j in range(2 * H):
                    r[j] += of_h[j] + bh[j]
                for j in range(H):
                    q[j] = rounded(gates, q[j] + b_q[j])
                store_run(q, gates, at + 3 * H, H)
                store_sigmoids(r, bi, gates, at, 2 * H)
                for j in range(H):
                    new[j] += b_new[j] + r[j] * q[j]
                for j in range(H):
                    new[j] = rounded(gates, tanh32(new[j]))
                store_run(new, gates, at + 2 * H, H)
                for j in range(H):
                    h[j] = rounded(hs, (ONE - z[j]) * new[j] + z[j] * h[j])
                store_run(h, hs, row * H, H)
    for s in range(rows):
        store_run(address(scratch, s * H), h_n, (first + s) * H, H)


@compiled_kernel
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
    gru_steps(
        *(chunks, flat(x), panels(w_ih, True), panels(w_hh, True), biases(3 * H, b_ih)),
        *(biases(3 * H, b_hh), flat(h), *map(flat, (hs, gates, h_n)), np.array(steps, np.int64)),
        *(table(max(I, H)), (B, I, H, R, S)),
        cost=cost,
        workspace=high * (2 * H + LANES) + high * wide + S * high * (wide + I + LANES),
    )
    return hs, gates, h_n


@parallel
def gru_steps_da(chunk, scratch, dy, dh_n, h0, hs, gates, w, da_in, da_h, dh0, spans, steps, sizes):
    """The gradients of what is inside sigma and tanh, of some sequences, in reverse."""
    B, H, R = sizes
    first = chunk * R
    rows, G = min(R, B - first), 3 * H
    high, wide = (rows + ROWS - 1) // ROWS * ROWS, (H + COLUMNS - 1) // COLUMNS * COLUMNS
    made, a0 = rows * H, rows * H + high * wide
    strips = a0 + rows * G
    r = address(scratch, strips + high * (G + LANES))
    z, new, q = address(r, H), address(r, 2 * H), address(r, 3 * H)
    before, da_new = address(r, 4 * H), address(r, 5 * H)
    for s in range(rows):
        load_run(dh_n, (first + s) * H, address(scratch, s * H), H)
    for k in range(len(spans) - 1, -1, -1):
        n = min(spans[k, 1] - spans[k, 0] - first, rows)
        if n <= 0:
            continue
        for s in range(n):
            row, d = spans[k, 0] + first + s, address(scratch, s * H)
            da_r = address(scratch, a0 + s * G)
            da_z, da_q = address(da_r, H), address(da_r, 2 * H)
            load_run(gates, row * 4 * H, r, 4 * H)
            load_run_before(hs, h0, spans, k, first + s, before, H)
            for j in range(H):
                d[j] += load(dy, row * H + j)
            for j in range(H):
                da_new[j] = d[j] * (ONE - z[j]) * (ONE - new[j] * new[j])
            for j in range(H):
                da_r[j] = rounded(da_in, da_new[j] * q[j] * (r[j] * (ONE - r[j])))
            for j in range(H):
                da_z[j] = rounded(da_in, d[j] * (before[j] - new[j]) * (z[j] * (ONE - z[j])))
            store_run(da_r, da_in, row * G, 2 * H)
            store_run(da_new, da_in, row * G + 2 * H, H)
            for j in range(H):
                da_q[j] = rounded(da_h, da_new[j] * r[j])
            store_run(da_r, da_h, row * G, G)
            for j in range(H):
                d[j] *= z[j]
        state_products(scratch, a0, n, G, w, H, steps, strips, made, 0)
        for s in range(n):
            d, sums = address(scratch, s * H), address(scratch, made + s * wide)
            for j in range(H):
                d[j] = rounded(da_in, d[j] + sums[j])
    for s in range(rows):
        store_run(address(scratch, s * H), dh0, (first + s) * H, H)


@compiled_kernel
def gru_da(dy, dh, h0, hs, gates, w_hh, *, steps, to):
    N, (B, H) = len(dy), dh.shape
    if not alike(to, dy, dh, h0, hs, gates, w_hh) or not dy.size:
        return None
    cost = N * 3 * H * H * PRODUCT
    chunks, R = parts(B, cost)
    high, wide = up(R, ROWS), up(H, COLUMNS)
    da_in, da_h = np.empty((2, N, 3 * H), dy.dtype)
    dh0 = np.empty((B, H), dy.dtype)
    gru_steps_da(
        *(chunks, *map(flat, (dy, dh, h0, hs, gates)), panels(w_hh, False)),
        *(*map(flat, (da_in, da_h, dh0)), np.array(steps, np.int64), table(3 * H), (B, H, R)),
        cost=cost,
        workspace=high * H + high * (wide + 6 * H + LANES) + 7 * H,
    )
    return da_in, da_h, dh0
