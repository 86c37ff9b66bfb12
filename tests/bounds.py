"""How far a stored result may be from the exact one, and kernel calls caught while they happen.

The bound on a kernel's result y, computed in float32 and rounded once to what it is stored in:

    |stored - exact| <= ulp(exact) / 2 + growth(n) 2^-24 M          (the half ulp only if narrower)

The exact result is that of the kernel's own reference, run in float64 on the same stored arguments:
this says nothing about the equation, which gradcheck and PyTorch do. n is the largest number of
addends in a sum. M bounds what the roundings add up to, divided by their number:

- of a sum of products, sum |a||b|: every partial sum is at most that large (Higham, "Accuracy and
  Stability of Numerical Algorithms", 2002, section 3.1). It is found by running the reference with
  sums of absolute values;
- element by element, the result itself;
- where a sum goes through further arithmetic (MAGNITUDES), what first-order error analysis gives.
"""

from dataclasses import dataclass
from math import log2, prod

import numpy as np

from minifp import backend
from minifp.formats import FORMATS, float16, float32, float64, narrow

UNIT = 2.0**-24  # the unit roundoff of float32
ELEMENTARY = 16  # roundings of one element: at most 8 operations, or functions with 2 ulp or more


def growth(addends):
    """How the error of a float32 sum grows: as n in the worst order, as log n in blocks."""
    return ELEMENTARY + min(addends, 16 + 4 * log2(max(addends, 1)))


def half_ulp(dtype, x):
    """Half the gap between numbers of a format at x."""
    return FORMATS[np.dtype(dtype).name].ulp(x) / 2


def excess(stored, exact, magnitude, addends=1):
    """The error in units of the bound: at most 1 everywhere, or what is stored is wrong.

    What overflows must be Inf, with its sign, and NaN must be NaN.
    """
    stored, exact = np.asarray(stored), np.asarray(exact, float64)
    slack = growth(addends) * UNIT * np.asarray(magnitude, float64)
    bound = np.broadcast_to(slack, exact.shape)
    if stored.dtype == float16:
        bound = bound + half_ulp(float16, np.abs(exact) + bound)
    else:
        bound = bound + UNIT * np.abs(exact) + 2.0**-149
    largest = FORMATS[stored.dtype.name].max
    with np.errstate(all="ignore"):
        rounded = narrow(exact, stored.dtype).astype(float64)
        error = np.abs(stored.astype(float64) - exact) / bound
    lost = ~np.isfinite(stored) | ~np.isfinite(rounded)
    near = np.abs(np.abs(exact) - largest) <= bound + half_ulp(stored.dtype, largest)
    same = (stored == rounded) | (np.isnan(stored) & np.isnan(exact)) | near
    error = np.where(lost, np.where(same, 0.0, np.inf), error)
    return float(error.max(initial=0.0))


# ---- kernel calls -------------------------------------------------------------------------------


@dataclass
class Call:
    """One call of a kernel: its stored arguments, its parameters and its stored results."""

    kernel: object
    args: tuple
    params: dict
    results: tuple
    formats: object

    def wide(self):
        """The arguments in float64; Python numbers as they enter float32."""
        return [
            a.astype(float64)
            if isinstance(a, np.ndarray) and a.dtype.kind == "f"
            else float(float32.type(a))
            if type(a) is float
            else a
            for a in self.args
        ]

    def run(self, sum, dot, store=lambda x: x):
        """The results of the reference in float64 with these primitives."""
        given = {"sum": sum, "dot": dot, "store": store}
        params = {**self.params, **{want: given[want] for want in self.kernel.wants}}
        results = self.kernel.reference(*self.wide(), **params)
        return results if isinstance(results, tuple) else (results,)

    def exact(self):
        """The results in float64, and the largest number of addends."""
        addends = [1]

        def total(x, axis=None, keepdims=False):
            y = np.sum(x, axis=axis, keepdims=keepdims)
            addends.append(x.size // max(np.size(y), 1))
            return y

        def product(a, b):
            addends.append(a.shape[-1])
            return a @ b

        return self.run(total, product), max(addends)

    def magnitudes(self, exact):
        """M for each result; see the module."""
        if self.kernel.name in MAGNITUDES:
            found = MAGNITUDES[self.kernel.name](*self.wide(), exact=exact, **self.params)
            return found if isinstance(found, tuple) else (found,)
        absolute = self.run(
            lambda x, axis=None, keepdims=False: np.sum(np.abs(x), axis=axis, keepdims=keepdims),
            lambda a, b: np.abs(a) @ np.abs(b),
        )
        return tuple(np.abs(a) + np.abs(e) for a, e in zip(absolute, exact))

    def excess(self):
        """The largest error of all results, in units of the bound."""
        with np.errstate(all="ignore"):
            if self.kernel.name in STEPWISE:
                return STEPWISE[self.kernel.name](self)
            exact, addends = self.exact()
            return max(
                excess(r, e, m, addends)
                for r, e, m in zip(self.results, exact, self.magnitudes(exact))
                if r.dtype.kind == "f"
            )


class Calls(list):
    """A list of all kernel calls in a `with` block that have something to round."""

    def __enter__(self):
        self.original, self.begun = backend.Kernel.__call__, []
        calls = self

        def noted(kernel, *args, to=None, **params):
            calls.begun.append(params.copy())
            try:
                return calls.original(kernel, *args, to=to, **params)
            finally:
                calls.begun.pop()

        backend.Kernel.__call__ = noted
        backend.observers.append(self)
        return self

    def __exit__(self, *_):
        backend.Kernel.__call__ = self.original
        backend.observers.remove(self)

    def on_kernel(self, kernel, args, results, formats):
        """Called by the backend."""
        args = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
        self.append(Call(kernel, args, self.begun[-1], results, formats))


# ---- M where sums go through further arithmetic -------------------------------------------------
#
# First order, in units of 2^-24: a sum of n addends errs by n sum|x|, an elementary operation by
# its result, and errors pass through f(x) as |f'(x)| dx. D is how far the entries of a row lie
# below its largest: e^(x - max) has the relative error D of its argument.


def _range(x, axis):
    d = np.abs(x - x.max(axis, keepdims=True, initial=-np.inf))
    return np.where(np.isfinite(d), d, 0)


def var_forward(x, *, exact, axes, keepdims, correction):
    n = prod(x.shape[i] for i in axes)
    c = np.abs(x - x.mean(axes, keepdims=True))
    mean = np.abs(x).mean(axes, keepdims=True)
    return np.sum(c * c + 2 * c * mean, axes, keepdims=keepdims) / max(n - correction, 0)


def var_dx(dy, x, *, exact, axes, correction):
    n = prod(x.shape[i] for i in axes)
    dy = np.expand_dims(dy, axes) if dy.ndim < x.ndim else dy
    c, mean = np.abs(x - x.mean(axes, keepdims=True)), np.abs(x).mean(axes, keepdims=True)
    return np.abs(dy) * (c + mean) * 2 / max(n - correction, 0)


def softmax_forward(x, *, exact, axis):
    return exact[0] * (1 + 2 * _range(x, axis).max(axis, keepdims=True, initial=0))


def softmax_dx(dy, y, *, exact, axis):
    return y * (np.abs(dy) + np.sum(np.abs(dy) * y, axis, keepdims=True))


def log_softmax_forward(x, *, exact, axis):
    return np.abs(exact[0]) + _range(x, axis).max(axis, keepdims=True, initial=0) + 1


def log_softmax_dx(dy, y, *, exact, axis):
    return np.abs(dy) + np.exp(y) * np.sum(np.abs(dy), axis, keepdims=True)


def cross_entropy_forward(z, t, kept, *, exact):
    return np.abs(exact[0]) + 2 * _range(z, 1).max(1, initial=0) + 1


def cross_entropy_total(z, t, kept, *, exact, divisor):
    each = 3 * _range(z, 1).max(1, initial=0) + np.log(z.shape[1]) + 1  # bounds l_n, and its error
    return np.sum(np.where(kept, each, 0)) / divisor


def cross_entropy_dz(dl, z, t, kept, *, exact, divisor):
    e = np.exp(z - z.max(1, keepdims=True, initial=-np.inf))
    p = e / e.sum(1, keepdims=True)
    p = p * (1 + 2 * _range(z, 1).max(1, keepdims=True, initial=0))
    p[np.arange(len(t)), t] += 1
    return p * np.abs(np.where(kept, dl, 0) / divisor)[:, None]


def _channels(v, ndim):
    return v.reshape(1, -1, *(1,) * (ndim - 2))


def batch_norm_statistics(x, *, exact):
    axes = (0, *range(2, x.ndim))
    mean, (m, v) = np.abs(x).mean(axes), exact
    return mean, v + 2 * np.abs(x - _channels(m, x.ndim)).mean(axes) * mean


def batch_norm_forward(x, w, b, m, v, *, exact, eps):
    n, scale = x.ndim, np.abs(w) / np.sqrt(v + eps)
    return np.abs(x - _channels(m, n)) * _channels(scale, n) + _channels(np.abs(b), n)


def batch_norm_dx(dy, x, w, m, v, *, exact, eps, constant):
    n, axes, r = x.ndim, (0, *range(2, x.ndim)), 1 / np.sqrt(v + eps)
    h, dy = np.abs(x - _channels(m, n)) * _channels(r, n), np.abs(dy)
    dw, db, count = (dy * h).sum(axes), dy.sum(axes), x.size // x.shape[1]
    dx = dy if constant else dy + _channels(db / count, n) + h * _channels(dw / count, n)
    return dx * _channels(np.abs(w) * r, n), dw, db


def layer_norm_forward(x, w, b, *, exact, eps):
    m, mean = x.mean(-1, keepdims=True), np.abs(x).mean(-1, keepdims=True)
    c = np.abs(x - m)
    v = (c * c).mean(-1, keepdims=True)
    r = 1 / np.sqrt(v + eps)
    spread = 2 + c.mean(-1, keepdims=True) * mean / (v + eps)  # the relative error of r
    y = (c * spread + mean) * r * (1 if w is None else np.abs(w))
    return y + (0 if b is None else np.abs(b)), mean, r * spread


def layer_norm_dx(dy, x, w, m, r, *, exact):
    h, rows = np.abs(x - m) * r, tuple(range(x.ndim - 1))
    g, dy = np.abs(dy if w is None else dy * w), np.abs(dy)
    dx = g + g.mean(-1, keepdims=True) + h * (g * h).mean(-1, keepdims=True)
    return r * dx, (dy * h).sum(rows), dy.sum(rows)


FUNCTIONS = (
    *(var_forward, var_dx, softmax_forward, softmax_dx, log_softmax_forward, log_softmax_dx),
    *(cross_entropy_forward, cross_entropy_total, cross_entropy_dz),
    *(batch_norm_statistics, batch_norm_forward, batch_norm_dx),
    *(layer_norm_forward, layer_norm_dx),
)


def _family(name):
    found = [k.name for k in backend.KERNELS if k.name.partition(".")[2] == name]
    assert len(found) == 1, f"bounds for {name}, but kernels {found}"
    return found[0]


MAGNITUDES = {_family(f.__name__): f for f in FUNCTIONS}


# ---- sequences, where a result is rounded between the steps -------------------------------------
#
# Where a float32 value lies near the middle of two halves, it and the exact one may be rounded to
# different ones, and both are right. Forward, each step is checked from the state that was really
# stored. Backward the state between steps is not among the results: an interval is carried along
# that must hold it, [round(x - e), round(x + e)], because rounding is monotone.


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


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


class Interval:
    """What a stored number may be: anything between low and high."""

    def __init__(self, value, error, dtype):
        low, high = narrow(value - error, dtype), narrow(value + error, dtype)
        self.low, self.high = low.astype(float64), high.astype(float64)

    value = property(lambda self: (self.low + self.high) / 2)
    error = property(lambda self: (self.high - self.low) / 2)

    def excess(self, stored):
        """0 where it is inside, Inf where not."""
        inside = (self.low <= stored) & (stored <= self.high)
        return 0.0 if inside.all() else np.inf


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


STEPWISE = {_family(f.__name__): f for f in (lstm_forward, lstm_dz)}
