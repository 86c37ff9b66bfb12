"""One layer of an LSTM over a whole sequence (Hochreiter and Schmidhuber 1997).

For each step t, with sigma the logistic function and gates in the order i, f, g, o:

    z = x_t w_ihT + b_ih + h_{t-1} w_hhT + b_hh
    i = sigma(z_i)   f = sigma(z_f)   g = tanh(z_g)   o = sigma(z_o)
    c_t = f c_{t-1} + i g        h_t = o tanh(c_t)

or, with a projection w_hr (Sak et al. 2014), q_t = o tanh(c_t) and h_t = q_t w_hrT, of P numbers.

x: (T, B, I), or packed (see sequence.py)  w_ih: (4H, I)  w_hh: (4H, P)  b: (4H)  w_hr: (P, H)
c: (T, B, H)  h: (T, B, P), where P = H without projection; all stored: gates, c_t, q_t and h_t are
rounded once at every step, z never is (but its partial sums are, where `accumulate` is narrower).
Backward runs the steps in reverse; each step's dz is rounded once, and the weights' gradients are
dot products over all steps at the end.
"""

from typing import Any, NamedTuple

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.products.linear import linear_dw
from minifp.ops.public import public
from minifp.ops.recurrent import sequence
from minifp.ops.recurrent.layer import INPUTS, STATE, Cell, backward, forward, gate_sums, sigmoid


def lstm_cell(a, a_h, b_ih, b_hh, c, *, accumulate, store):
    """(the gates i, f, g, o; c_t; o tanh(c_t)) of one step."""
    i, f, g, o = gate_sums(a, a_h, b_ih, b_hh, accumulate)
    i, f, g, o = (store(y) for y in (sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)))
    c = store(f * c + i * g)
    return (i, f, g, o), c, o * np.tanh(c)


def lstm_cell_backward(dq, dc, before, c, i, f, g, o, *, store):
    """(dz, None, None, the gradient of the c before) of one step."""
    tanh_c = np.tanh(c)
    dc = dc + dq * o * (1 - tanh_c * tanh_c)
    dz_i, dz_f = dc * g * (i * (1 - i)), dc * before * (f * (1 - f))
    return (dz_i, dz_f, dc * i * (1 - g * g), dq * tanh_c * (o * (1 - o))), None, None, dc * f


LSTM = Cell(lstm_cell, lstm_cell_backward, sums=4, gates=4, saved=(1, 1, 4))


@kernel("dot", "x", "x", "x", "x", "x", operands=INPUTS)
def lstm_forward(x, h, c, w_ih, w_hh, b_ih, b_hh, *, steps, dot, accumulate, store, enter):
    """h_t (N, H), c_t (N, H) and gates (N, 4H) of every row; the last h and c (B, H)."""
    weights = w_ih, w_hh, b_ih, b_hh, None
    given = {"dot": dot, "accumulate": accumulate, "store": store, "enter": enter}
    return forward(LSTM, x, h, c, weights, steps=steps, **given)


@kernel("dot", GIVEN, GIVEN, GIVEN, operands={"w_hh": (0,)}, gradients=STATE)
def lstm_dz(dy, dh, dc, before, cs, gates, w_hh, *, steps, dot, store, enter):
    """dz (N, 4H), and the gradients of the first h and c. dh, dc: of the last h and c (B, H);
    before: the c that each row read (N, H)."""
    saved = before, cs, gates
    given = {"dot": dot, "store": store, "enter": enter}
    return backward(LSTM, dy, dh, dc, saved, w_hh, None, steps=steps, **given)


@kernel("dot", "x", "x", "x", "x", "x", "x", operands=INPUTS | {"w_hr": (1,)})
def lstm_projected(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, *, steps, dot, accumulate, store, enter):
    """h_t (N, P), c_t, q_t (N, H) and gates (N, 4H) of every row; the last h and c."""
    weights = w_ih, w_hh, b_ih, b_hh, w_hr
    given = {"dot": dot, "accumulate": accumulate, "store": store, "enter": enter}
    return forward(LSTM, x, h, c, weights, steps=steps, **given)


@kernel("dot", GIVEN, GIVEN, GIVEN, GIVEN, operands={"w_hh": (0,), "w_hr": (0,)}, gradients=STATE)
def lstm_projected_dz(dy, dh, dc, before, cs, gates, w_hh, w_hr, *, steps, dot, store, enter):
    """dz (N, 4H), the gradient of h_t (N, P), and those of the first h and c."""
    saved = before, cs, gates
    given = {"dot": dot, "store": store, "enter": enter}
    return backward(LSTM, dy, dh, dc, saved, w_hh, w_hr, steps=steps, **given)


class Saved(NamedTuple):
    """What backward reads of a call. w_hr, qs: None without a projection."""

    x: Any
    h0: Any
    c0: Any
    w_ih: Any
    w_hh: Any
    y: Any
    cs: Any
    gates: Any
    w_hr: Any
    qs: Any


def lstm_backward(dy, dh, dc, *saved, to, batch_sizes, reverse):
    s, dy = Saved(*saved), sequence.rows_of(dy)
    steps, dw_hr = sequence.steps_of(s.x.shape, batch_sizes, reverse), None
    states = sequence.states_before(s.cs, s.c0, steps), s.cs, s.gates, s.w_hh
    formats = to[1] or dy.dtype, to[2] or dy.dtype
    if s.w_hr is None:
        formats = dy.dtype, *formats
        dz, dh0, dc0 = lstm_dz(dy, dh, dc, *states, steps=steps, to=formats)
    else:
        formats = dy.dtype, dy.dtype, *formats
        dz, dhs, dh0, dc0 = lstm_projected_dz(dy, dh, dc, *states, s.w_hr, steps=steps, to=formats)
        dw_hr = None if to[7] is None else linear_dw(dhs, s.qs, to=to[7])
    formats = to[0], *to[3:7]
    before = sequence.states_before(sequence.rows_of(s.y), s.h0, steps)
    dx, *dws = sequence.weight_gradients(dz, dz, s.x, s.w_ih, before, formats)
    return dx, dh0, dc0, *dws, dw_hr


@op(weights=("w_ih", "w_hh", "b_ih", "b_hh", "w_hr"))
def lstm_op(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, *, batch_sizes, reverse):
    steps, rows, qs = sequence.steps_of(x.shape, batch_sizes, reverse), sequence.rows_of(x), None
    weights = w_ih, w_hh, b_ih, b_hh
    if w_hr is None:
        hs, cs, gates, h_n, c_n = lstm_forward(rows, h, c, *weights, steps=steps)
    else:
        hs, cs, qs, gates, h_n, c_n = lstm_projected(rows, h, c, *weights, w_hr, steps=steps)
    y = hs.reshape(*x.shape[:-1], hs.shape[-1])
    saved = Saved(x, h, c, w_ih, w_hh, y, cs, gates, w_hr, qs)
    return (y, h_n, c_n), saved, lstm_backward


@public("F", autocast="recurrence")
def lstm(
    x: Tensor,
    h: Tensor,
    c: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    w_hr: Tensor | None = None,
    *,
    batch_sizes: tuple[int, ...] | None = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """h_t of every step (T, B, P) and the last h (B, P) and c (B, H), from x (T, B, I) and the
    first h and c.

    w_hr: (P, H), of a projection; without it P = H. batch_sizes: how many sequences each step has,
    for x packed as (N, I); h_t is then (N, P). reverse: from each sequence's last step to its
    first. Raises ShapeError, DTypeError or ArgumentError for an argument that does not fit.
    """
    weights = {"w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh, "w_hr": w_hr}
    tensors = {"x": x, "h": h, "c": c, **weights}
    sequence.check_sequence("lstm", 4, batch_sizes, tensors)
    return lstm_op(*tensors.values(), batch_sizes=batch_sizes, reverse=reverse)
