"""How far rounding may carry the results of the recurrent kernels.

Forward, each step is checked from the state that was stored. Backward the state between steps is an
interval: see bounds.py. Sums of products err by growth(n) 2^-24 sum |a||b|; sigma, tanh and relu
have slopes of at most 1, so they pass that error on, and add a few roundings of their own.
"""

import numpy as np
from bounds import UNIT, Interval, excess, growth, stepwise

from minifp.numerics.formats import float64, upcast


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


def _sum_of_products(x, w, b):
    """x wT + b, and the same of absolute values."""
    b = np.zeros(len(w)) if b is None else b
    return x @ w.T + b, np.abs(x) @ np.abs(w.T) + np.abs(b)


def _differ(stored, state):
    """0 where the last state is the stored one, Inf where not."""
    return 0.0 if np.array_equal(upcast(stored, float64), state, equal_nan=True) else np.inf


@stepwise
def rnn_forward(call):
    x, h, w_ih, w_hh, b_ih, b_hh = call.wide()
    hs, h_n = call.results
    worst, n = 0.0, x.shape[-1] + h.shape[-1] + 2
    for start, stop in call.params["steps"]:
        before, of_x = h[: stop - start], _sum_of_products(x[start:stop], w_ih, b_ih)
        z, m = np.add(of_x, _sum_of_products(before, w_hh, b_hh))
        new = np.tanh(z) if call.params["nonlinearity"] == "tanh" else np.maximum(z, 0)
        worst = max(worst, excess(hs[start:stop], new, m + np.abs(new), n))
        h[: stop - start] = upcast(hs[start:stop], float64)
    return max(worst, _differ(h_n, h))


@stepwise
def gru_forward(call):
    x, h, w_ih, w_hh, b_ih, b_hh = call.wide()
    hs, gates, h_n = call.results
    size, worst = h.shape[-1], 0.0
    n = x.shape[-1] + size + 2
    for start, stop in call.params["steps"]:
        before = h[: stop - start]
        a, m = _sum_of_products(x[start:stop], w_ih, b_ih)
        a_h, m_h = _sum_of_products(before, w_hh, b_hh)
        stored, rz = upcast(gates[start:stop], float64), slice(2 * size)
        r, z, new, q = np.split(stored, 4, axis=-1)
        of_n = a[:, 2 * size :] + r * q
        exact = [_sigmoid(a + a_h)[:, rz], np.tanh(of_n), a_h[:, 2 * size :]]
        magnitude = [(m + m_h)[:, rz], m[:, 2 * size :] + np.abs(r * q), m_h[:, 2 * size :]]
        exact, magnitude = np.concatenate(exact, 1), np.concatenate(magnitude, 1)
        worst = max(worst, excess(gates[start:stop], exact, magnitude + np.abs(exact), n))
        exact, m = (1 - z) * new + z * before, np.abs((1 - z) * new) + np.abs(z * before)
        worst = max(worst, excess(hs[start:stop], exact, m, 2))
        h[: stop - start] = upcast(hs[start:stop], float64)
    return max(worst, _differ(h_n, h))


@stepwise
def lstm_forward(call):
    *given, b_hh = call.wide()
    hs, cs, gates, h_n, c_n = call.results
    return _lstm_forward(call, *given, b_hh, None, hs, cs, hs, gates, h_n, c_n)


@stepwise
def lstm_projected(call):
    return _lstm_forward(call, *call.wide(), *call.results)


def _lstm_forward(call, x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, hs, cs, qs, gates, h_n, c_n):
    """Written from the equations in Hochreiter and Schmidhuber's notation, one step at a time."""
    size, worst = c.shape[-1], 0.0
    n = x.shape[-1] + h.shape[-1] + 2
    for start, stop in call.params["steps"]:
        alive, rows = slice(stop - start), slice(start, stop)
        a, m = _sum_of_products(x[rows], w_ih, b_ih)
        a_h, m_h = _sum_of_products(h[alive], w_hh, b_hh)
        is_g = np.arange(4 * size) // size == 2
        gate = np.where(is_g, np.tanh(a + a_h), _sigmoid(a + a_h))
        worst = max(worst, excess(gates[rows], gate, m + m_h + np.abs(gate), n))
        i, f, g, o = np.split(upcast(gates[rows], float64), 4, axis=-1)
        new, m = f * c[alive] + i * g, np.abs(f * c[alive]) + np.abs(i * g)
        worst = max(worst, excess(cs[rows], new, m + np.abs(new), 2))
        c[alive] = upcast(cs[rows], float64)
        q = o * np.tanh(c[alive])
        worst = max(worst, excess(qs[rows], q, np.abs(q), 1))
        if w_hr is not None:
            new, m = _sum_of_products(upcast(qs[rows], float64), w_hr, None)
            worst = max(worst, excess(hs[rows], new, m + np.abs(new), size))
        h[alive] = upcast(hs[rows], float64)
    return max(worst, _differ(h_n, h), _differ(c_n, c))


class Carried:
    """The gradient of a state on its way back: for each number an interval that holds it."""

    def __init__(self, value, dtype):
        self.value, self.error, self.dtype = value, np.zeros_like(value), dtype

    def plus(self, dy, unit):
        """The sum with dy of the first sequences: value and error."""
        value, error = self.value[: len(dy)], self.error[: len(dy)]
        return value + dy, error + unit * (np.abs(value) + np.abs(dy))

    def set(self, value, error):
        """Take new ones, rounded, for the first sequences."""
        interval = Interval(value, error, self.dtype)
        self.value[: len(value)], self.error[: len(value)] = interval.value, interval.error

    def excess(self, stored):
        """Whether what was stored at the end is inside."""
        return Interval(self.value, self.error, self.dtype).excess(stored)


def _product(rows, w, unit):
    """rows w with its error."""
    return rows @ w, unit * (np.abs(rows) @ np.abs(w))


@stepwise
def rnn_dz(call):
    dy, dh, hs, w_hh = call.wide()
    dz, dh0 = call.results
    worst, unit, dh = 0.0, growth(dy.shape[-1]) * UNIT, Carried(dh, dz.dtype)
    for start, stop in reversed(call.params["steps"]):
        d, e = dh.plus(dy[start:stop], unit)
        h = hs[start:stop]
        slope = 1 - h * h if call.params["nonlinearity"] == "tanh" else h > 0
        held = Interval(d * slope, e * slope + unit * np.abs(d), dz.dtype)
        worst = max(worst, held.excess(dz[start:stop]))
        dh.set(*_product(upcast(dz[start:stop], float64), w_hh, unit))
    return max(worst, dh.excess(dh0))


@stepwise
def gru_da(call):
    dy, dh, before, gates, w_hh = call.wide()
    da_in, da_h, dh0 = call.results
    steps, worst, unit = call.params["steps"], 0.0, growth(3 * dy.shape[-1]) * UNIT
    dh = Carried(dh, da_in.dtype)
    for start, stop in reversed(steps):
        d, e = dh.plus(dy[start:stop], unit)
        r, z, n, q = np.split(gates[start:stop], 4, axis=-1)
        h = before[start:stop]
        of_n, e_n = d * (1 - z) * (1 - n * n), (1 - z) * (e * (1 - n * n) + unit * np.abs(d))
        of_z, steep = d * (h - n) * z * (1 - z), z * (1 - z) * (np.abs(h) + np.abs(n))
        of_r, e_r = of_n * q * r * (1 - r), e_n * np.abs(q) * r * (1 - r)
        step = np.concatenate([of_r, of_z, of_n], axis=-1)
        error = np.concatenate([e_r, (e + unit * np.abs(d)) * steep, e_n], axis=-1)
        held = Interval(step, error + unit * np.abs(step), da_in.dtype)
        of_q = Interval(of_n * r, e_n * r + unit * np.abs(of_n * r), da_in.dtype)
        rows, rz = da_h[start:stop], 2 * dy.shape[-1]
        worst = max(worst, held.excess(da_in[start:stop]), of_q.excess(rows[:, rz:]))
        worst = max(worst, _differ(rows[:, :rz], upcast(da_in[start:stop, :rz], float64)))
        value, error = _product(upcast(rows, float64), w_hh, unit)
        dh.set(d * z + value, e * z + unit * np.abs(d * z) + error)
    return max(worst, dh.excess(dh0))


@stepwise
def lstm_dz(call):
    *given, w_hh = call.wide()
    dz, dh0, dc0 = call.results
    return _lstm_dz(call, *given, w_hh, None, dz, None, dh0, dc0)


@stepwise
def lstm_projected_dz(call):
    return _lstm_dz(call, *call.wide(), *call.results)


def _lstm_dz(call, dy, dh, dc, before, cs, gates, w_hh, w_hr, dz, dhs, dh0, dc0):
    steps, worst, unit = call.params["steps"], 0.0, growth(gates.shape[-1]) * UNIT
    dh, dc = Carried(dh, dz.dtype), Carried(dc, dz.dtype)
    for start, stop in reversed(steps):
        rows = slice(start, stop)
        d, e = dh.plus(dy[rows], unit)
        if w_hr is not None:
            worst = max(worst, Interval(d, e, dz.dtype).excess(dhs[rows]))
            held = Interval(*_product(upcast(dhs[rows], float64), w_hr, unit), dz.dtype)
            d, e = held.value, held.error
        i, f, g, o = np.split(gates[rows], 4, axis=-1)
        tanh_c = np.tanh(cs[rows])
        dc_t, e_dc = dc.plus(d * o * (1 - tanh_c**2), unit)
        e_dc = e_dc + e * o * (1 - tanh_c**2) + unit * np.abs(d) * o
        factors = [g * i * (1 - i), before[rows] * f * (1 - f), i * (1 - g * g)]
        steep = [*map(np.abs, factors[:2]), i]  # 1 - g^2 errs by more than its own ulp
        last = tanh_c * o * (1 - o)
        step = np.concatenate([*(dc_t * f for f in factors), d * last], axis=-1)
        error = [e_dc * np.abs(f) + unit * np.abs(dc_t) * s for f, s in zip(factors, steep)]
        error = np.concatenate([*error, (e + unit * np.abs(d)) * np.abs(last)], axis=-1)
        worst = max(worst, Interval(step, error, dz.dtype).excess(dz[rows]))
        dh.set(*_product(upcast(dz[rows], float64), w_hh, unit))
        dc.set(dc_t * f, e_dc * f + unit * np.abs(dc_t * f))
    return max(worst, dh.excess(dh0), dc.excess(dc0))
