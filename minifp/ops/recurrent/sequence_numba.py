"""The steps of layer_numba.py on the CPU.

The weights are widened once, into the panels that products read. Each thread then takes some
sequences of the batch through all steps, without waiting for another: from step to step the product
of the state, with the cell right behind it.
"""

import numpy as np

from minifp.numerics.operands import form_of, limits
from minifp.runtime.cpu import threads
from minifp.runtime.cpu.compile.decorators import inline
from minifp.runtime.cpu.emit.steps import address_of_step, take_step
from minifp.runtime.cpu.kernels.gemm import product  # noqa: F401
from minifp.runtime.cpu.kernels.half import load, store
from minifp.runtime.cpu.kernels.operands import round_rows
from minifp.runtime.cpu.kernels.packing import pack_columns, pack_rows
from minifp.runtime.cpu.kernels.pool import WORTH_A_THREAD, aligned, parallel, view
from minifp.runtime.cpu.kernels.tile import (
    COLUMNS,
    KEPT,
    LANES,
    PRODUCT,
    ROWS,
    address,
    as_bytes,
    kind_of,
    multiply_into,
    up,
)

empty, contiguous = np.empty, np.ascontiguousarray
NO_FORM = np.int32(1), *np.zeros(3, np.float32)  # of what is not rounded
NOTHING = np.float32(-0.0)  # what can be added to any number and leaves it as it is, -0 as well

# ---- weights, and parts of the batch ------------------------------------------------------------


@parallel
def pack_panels(panel, scratch, w, sk, sn, K, N, out):
    """B (K, N) of w, whose elements lie sk and sn apart, as panels (N / COLUMNS, K, COLUMNS)."""
    n = panel * COLUMNS
    pack_columns(w, n * sn, sk, sn, K, min(COLUMNS, N - n), out[n * K :])


def panels(w, turned):
    """w (O, I), or (turned) its transpose, widened and packed as products read it."""
    if w is None:
        return np.empty(0, np.float32)
    w = np.ascontiguousarray(w)
    (N, K), (sn, sk) = w.shape, (w.shape[1], 1)
    if not turned:
        K, N, sk, sn = N, K, sn, sk
    out = aligned(up(N, COLUMNS) * K)
    pack_panels(up(N, COLUMNS) // COLUMNS, view(w).reshape(-1), sk, sn, K, N, out, cost=w.size / 4)
    return out


def parts(batch, cost):
    """(how many chunks, sequences of each): whole strips of rows where there are enough."""
    most = threads.number if cost > WORTH_A_THREAD else 1
    size = -(-batch // most)
    size = up(size, ROWS) if batch >= ROWS * most else size
    return -(-batch // size), size


# ---- the loops ----------------------------------------------------------------------------------


@inline
def row_products(scratch, strips, enter, x, i, n, K, w, N, lines, more, kind, out, o):
    """Products of n rows of K numbers of x, from x[i] on, with packed weights (K, N): put at, or
    (more) added to, the beginning of the workspace, or, rounded to a kind, at out[o].

    strips: where in the workspace the rows are put as products read them. lines: where the rows of
    a panel begin, and then what is added. enter: how x is rounded before, if it is, and where.
    """
    form, (rounds, has_scale, largest, top), entering, at = enter
    if rounds:
        round_rows(form, has_scale, largest, top, x, i, n, K, entering, at)
        x, i = entering, at
    apart, wide = ROWS * K + LANES, (N + COLUMNS - 1) // COLUMNS * COLUMNS
    pack_rows(x, i, K, 1, n, K, scratch[strips:], apart)
    left, right, steps = address(scratch, strips), address(w, 0), address(lines[0], 0)
    c, y, added = address(scratch, 0), as_bytes(address(out, o)), address(lines[1], 0)
    far = K * COLUMNS
    multiply_into(left, apart, n, right, far, N, steps, K, c, wide, more, kind, y, N, added)


@parallel
def forward_steps(
    chunk, scratch, h, hs, qs, w_hh, w_hr, spans, step, data, lines, sizes, form, bounds, room
):
    """Some sequences of the batch, through all steps."""
    P, H, G, R, strips, _, most = sizes
    first, wide = chunk * R, (G + COLUMNS - 1) // COLUMNS * COLUMNS
    enter = form, bounds, room, first * most
    for k in range(len(spans)):
        row, n = spans[k, 0] + first, min(spans[k, 1] - spans[k, 0] - first, R)
        if n <= 0:
            continue
        row_products(scratch, strips, enter, h, first * P, n, P, w_hh, G, lines, 0, KEPT, h, 0)
        take_step(step, address(data, 0), address(scratch, 0), wide, row, first, n, H)
        if w_hr.size:
            to = kind_of(hs)
            row_products(
                scratch, strips, enter, qs, row * H, n, H, w_hr, P, lines, 0, to, hs, row * P
            )
            for i in range(n * P):
                h[first * P + i] = hs[row * P + i]


@parallel
def backward_steps(
    chunk, scratch, dh, dy, dhs, da, w_hh, w_hr, spans, step, data, lines, sizes, form, bounds, room
):
    """Some sequences of the batch, through all steps in reverse."""
    P, H, G, R, strips, more, most = sizes
    first, wide = chunk * R, (H + COLUMNS - 1) // COLUMNS * COLUMNS
    enter = form, bounds, room, first * most
    for k in range(len(spans) - 1, -1, -1):
        row, n = spans[k, 0] + first, min(spans[k, 1] - spans[k, 0] - first, R)
        if n <= 0:
            continue
        if w_hr.size:
            for i in range(n * P):
                store(dhs, row * P + i, load(dh, first * P + i) + load(dy, row * P + i))
            row_products(scratch, strips, enter, dhs, row * P, n, P, w_hr, H, lines, 0, KEPT, dh, 0)
        take_step(step, address(data, 0), address(scratch, 0), wide, row, first, n, H)
        to = kind_of(dh)
        row_products(
            scratch, strips, enter, da, row * G, n, G, w_hh, P, lines, more, to, dh, first * P
        )


def take_steps(step, arrays, w_hh, w_hr, steps, enter=None):
    """Fill arrays forward. enter: how a state that enters a product is rounded, or None."""
    stored = [arrays[name] for name in ("h", "hs", "qs")]
    run(forward_steps, step, arrays, stored, (w_hh, w_hr), True, steps, enter)


def take_steps_back(step, arrays, w_hh, w_hr, steps, enter=None):
    """Fill arrays backward."""
    dh, dy, da = arrays["dh"], arrays["dy"], arrays.get("da_h", arrays["da"])
    stored = [dh, dy, arrays.get("dhs", dy), da]
    run(backward_steps, step, arrays, stored, (w_hh, w_hr), False, steps, enter)


def rounding_of(enter, x, size):
    """(the format that states are rounded to; whether, with a scale, and its limits; the memory for
    `size` numbers of what they become)."""
    if enter is None:
        numbers = False, False, np.float32(0), np.float32(0)
        return NO_FORM, numbers, view(np.empty(0, x.dtype))
    numbers = True, enter.scale is not None, *map(np.float32, limits(enter.format, x.dtype))
    return form_of(enter.format), numbers, view(np.empty(size, x.dtype))


def run(loop, step, arrays, stored, weights, turned, steps, enter):
    """Run one of the loops on as many threads as it is worth."""
    w_hh, w_hr = weights
    B, (G, P) = len(stored[0]), w_hh.shape
    H, N = P if w_hr is None else w_hr.shape[1], len(stored[1])
    cost, most = N * G * P * PRODUCT, max(G, H, P)
    chunks, R = parts(B, cost)
    strips = up(R, ROWS) * up(most, COLUMNS)
    places = [arrays[n].__array_interface__["data"][0] if n in arrays else 0 for n in step.operands]
    data = *(view(x).reshape(-1) for x in stored), *(panels(w, turned) for w in weights)
    spans = np.array(steps, np.int64), address_of_step(step), np.array(places, np.int64)
    lines = np.arange(most, dtype=np.int32) * COLUMNS, np.full(up(most, COLUMNS), NOTHING)
    sizes = P, H, G, R, strips, int("carry" in step.operands), most
    rounding = rounding_of(enter, stored[0], B * most)
    workspace = strips + up(R, ROWS) * (most + LANES)
    loop(chunks, *data, *spans, lines, sizes, *rounding, cost=cost, workspace=workspace)
