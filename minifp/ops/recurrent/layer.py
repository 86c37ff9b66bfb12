"""The loop over the steps of one layer: the same for every cell, which is two formulas.

    forward    a_h = h_{t-1} w_hhT,  then the cell's gates and states from a = x_t w_ihT and a_h
    backward   the cell's gradients of a and a_h,  then dh_{t-1} = da_h w_hh

With a projection w_hr, h_t = q_t w_hrT and dq_t = dh_t w_hr beside them. `enter` rounds the state
that enters a product (numerics/operands.py). So NumPy goes through the steps; layer_numba.py has
what compiled kernels do, with formulas made of the same cells.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# What enters products, and along which axes it is summed: arguments of kernels, and the state.
STATE = {"enter": (1,)}
INPUTS = {"x": (1,), "w_ih": (1,), "w_hh": (1,), **STATE}


class Cell(NamedTuple):
    """What one step computes beside products. Arrays are in blocks of H columns: a, a_h, the biases
    and gates are lists of them.

    forward(a, a_h, b_ih, b_hh, state, *, accumulate, store, ...): (gates, the new c or None, what
    the step puts out before it is rounded). The state is c, or h of a cell that has none.

    backward(d, dc, *blocks, store, ...): the gradients of (a; a_h, or None where it is the same;
    h before the step, but for products, or None; c before it, or None), from d, that of what was
    put out, and all blocks of what was saved.

    sums, gates: how many blocks there are. saved: blocks of each array that backward reads.
    """

    forward: Callable[..., Any]
    backward: Callable[..., Any]
    sums: int
    gates: int
    saved: tuple[int, ...]


def gate_sums(a, a_h, b_ih, b_hh, accumulate):
    """The blocks of x w_ihT + b_ih + b_hh + h w_hhT."""
    if b_ih is not None:
        a = [accumulate(x + accumulate(b + c)) for x, b, c in zip(a, b_ih, b_hh)]
    return [accumulate(x + h) for x, h in zip(a, a_h)]


def sigmoid(z):
    """1 / (1 + e^-z)."""
    return 1 / (1 + np.exp(-z))


def blocks(x, count):
    """Views of the blocks of columns; None of None."""
    size = 0 if x is None else x.shape[-1] // count
    return None if x is None else [x[..., k * size : (k + 1) * size] for k in range(count)]


def forward(cell, x, h, c, weights, *, steps, dot, accumulate, store, enter, **settings):
    """(hs, cs, qs, gates, h, c), of all rows and then of the last step, without what there is not:
    c, the projection's q, and gates.

    weights: w_ih, w_hh, b_ih, b_hh, w_hr, of which the last three may be None.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    (N, _), size, w = x.shape, len(w_hh) // cell.sums, w_hh.T.copy()
    a, biases = dot(x, w_ih.T), [blocks(b, cell.sums) for b in (b_ih, b_hh)]
    widths = len(w), cell.gates * size, size
    hs, gates, cs = (np.empty((N, n), x.dtype, like=x) for n in widths)
    qs = hs if w_hr is None else np.empty_like(cs)
    h, c = h.copy(), None if c is None else c.copy()
    for start, stop in steps:
        n, rows = stop - start, slice(start, stop)
        sums = blocks(a[rows], cell.sums), blocks(dot(enter(h[:n]), w), cell.sums), *biases
        state = (h if c is None else c)[:n]
        gate, new, q = cell.forward(*sums, state, accumulate=accumulate, store=store, **settings)
        for block, g in zip(blocks(gates[rows], cell.gates or 1), gate):
            block[...] = g
        qs[rows] = store(q)
        if c is not None:
            cs[rows] = c[:n] = new
        if w_hr is not None:
            hs[rows] = store(dot(enter(qs[rows]), w_hr.T))
        h[:n] = hs[rows]
    return results(
        hs, None if c is None else cs, None if qs is hs else qs, gates if cell.gates else None, h, c
    )


def backward(cell, dy, dh, dc, saved, w_hh, w_hr, *, steps, dot, store, enter, **settings):
    """(the gradients of a and a_h, of h_t where it is projected, of all rows; those of the first h
    and c), without what there is not, or what is the same. saved: arrays of all rows."""
    da, da_h = np.empty((len(dy), len(w_hh)), dy.dtype, like=dy), None
    dh, dc = dh.copy(), None if dc is None else dc.copy()
    dhs: Any = None if w_hr is None else np.empty_like(dy)
    for start, stop in reversed(steps):
        n, rows = stop - start, slice(start, stop)
        d, read = (
            dh[:n] + dy[rows],
            [b for s, k in zip(saved, cell.saved) for b in blocks(s[rows], k)],
        )
        if w_hr is not None:
            dhs[rows] = d = store(d)
            d = store(dot(enter(d), w_hr))
        of_a, of_a_h, of_h, of_c = cell.backward(
            d, None if dc is None else dc[:n], *read, store=store, **settings
        )
        step = da[rows] = store(np.concatenate(of_a, axis=-1))
        if of_a_h is not None:
            da_h = np.empty_like(da) if da_h is None else da_h
            step = da_h[rows] = store(np.concatenate(of_a_h, axis=-1))
        products = dot(enter(step), w_hh)
        dh[:n] = store(products if of_h is None else of_h + products)
        if dc is not None:
            dc[:n] = store(of_c)
    return results(da, da_h, dhs, dh, dc)


def results(*arrays):
    """Those that there are."""
    return tuple([a for a in arrays if a is not None])
