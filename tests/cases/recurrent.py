"""Recurrent layers over whole sequences."""

import numpy as np
from bounds import UNIT, Interval, excess, growth, stepwise

import minifp as fp
from cases.case import Case
from minifp.formats import float64


def lstm(steps, batch, inputs, hidden):
    def theirs(t, x, h, c, *weights):
        options = True, 1, 0.0, False, False, False  # bias, layers, dropout, train, both ways, ...
        y, _, c_n = t.lstm(x, (h[None], c[None]), list(weights), *options)
        return y, c_n[0]

    gates = 4 * hidden
    shapes = (steps, batch, inputs), *[(batch, hidden)] * 2, (gates, inputs), (gates, hidden)
    return Case("lstm", fp.ops.lstm, (*shapes, (gates,), (gates,)), -1.0, 1.0, theirs)


CASES = [
    *(lstm(5, 2, 3, 4), lstm(2, 2, 3, 1), lstm(1, 1, 1, 2), lstm(3, 0, 2, 2)),
]


# ---- how far rounding may carry the results -----------------------------------------------------


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


@stepwise
def lstm_forward(call):
    """Written from the equations in Hochreiter and Schmidhuber's notation, one step at a time."""
    x, h, c, w_ih, w_hh, b_ih, b_hh = call.wide()
    hs, cs, gates = call.results
    size, worst = h.shape[-1], 0.0
    n = x.shape[-1] + size + 2
    for t in range(len(x)):
        z = x[t] @ w_ih.T + b_ih + h @ w_hh.T + b_hh
        dz = (
            np.abs(x[t]) @ np.abs(w_ih.T) + np.abs(h) @ np.abs(w_hh.T) + np.abs(b_ih) + np.abs(b_hh)
        )
        is_g = np.arange(4 * size) // size == 2
        gate = np.where(is_g, np.tanh(z), _sigmoid(z))  # both have slopes of at most 1
        worst = max(worst, excess(gates[t], gate, dz + np.abs(gate), n))
        i, f, g, o = np.split(gates[t].astype(float64), 4, axis=-1)
        c = f * c + i * g
        worst = max(worst, excess(cs[t], c, np.abs(f * c) + np.abs(i * g) + np.abs(c), 2))
        c = cs[t].astype(float64)
        h = o * np.tanh(c)
        worst = max(worst, excess(hs[t], h, np.abs(h), 1))
        h = hs[t].astype(float64)
    return worst


@stepwise
def lstm_dz(call):
    """The steps in reverse, each with an interval for dh and dc."""
    dy, dc, c0, cs, gates, w_hh = call.wide()
    dz, dh0, dc0 = call.results
    stored, size, worst = dz.dtype, dy.shape[-1], 0.0
    unit = growth(4 * size) * UNIT
    dh, e_dh, e_dc = np.zeros_like(dc), 0.0, 0.0
    for t in reversed(range(len(dy))):
        i, f, g, o = np.split(gates[t], 4, axis=-1)
        before, tanh_c = (cs[t - 1] if t else c0), np.tanh(cs[t])
        e_dh = e_dh + unit * (np.abs(dh) + np.abs(dy[t]))
        dh = dh + dy[t]
        slope = o * (1 - tanh_c**2)
        e_dc = e_dc + e_dh * slope + unit * (np.abs(dc) + np.abs(dh) * o)
        dc = dc + dh * slope
        factors = np.concatenate([g * i * (1 - i), before * f * (1 - f), i * (1 - g * g)], axis=-1)
        last = tanh_c * o * (1 - o)
        step = np.concatenate([np.tile(dc, 3) * factors, dh * last], axis=-1)
        error = np.concatenate([np.tile(e_dc, 3) * np.abs(factors), e_dh * np.abs(last)], axis=-1)
        worst = max(worst, Interval(step, error + unit * np.abs(step), stored).excess(dz[t]))
        rows = dz[t].astype(float64)
        dh = Interval(rows @ w_hh, unit * (np.abs(rows) @ np.abs(w_hh)), stored)
        dc = Interval(dc * f, e_dc * f + unit * np.abs(dc * f), stored)
        if t == 0:
            worst = max(worst, dh.excess(dh0), dc.excess(dc0))
        dh, e_dh, dc, e_dc = dh.value, dh.error, dc.value, dc.error
    return worst
