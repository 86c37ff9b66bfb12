"""One layer of an LSTM over a whole sequence (Hochreiter and Schmidhuber 1997).

For each step t, with sigma the logistic function and gates in the order i, f, g, o:

    z = x_t w_ihT + b_ih + h_{t-1} w_hhT + b_hh
    i = sigma(z_i)   f = sigma(z_f)   g = tanh(z_g)   o = sigma(z_o)
    c_t = f c_{t-1} + i g        h_t = o tanh(c_t)

x: (T, B, I)  w_ih: (4H, I)  w_hh: (4H, H)  b: (4H)  h, c: (T, B, H), all stored: gates, c_t and h_t
are rounded once at every step, z never is. Backward runs the steps in reverse; each step's dz is
rounded once, and the weights' gradients are dot products over all steps at the end.
"""

import numpy as np

from minifp.backend import kernel
from minifp.errors import ShapeError
from minifp.ops.linear import linear_db, linear_dw, linear_dx
from minifp.policy import GIVEN
from minifp.recording import op


def _sigmoid(z):
    return 1 / (1 + np.exp(-z))


@kernel("dot", "x", "x", "x")
def lstm_forward(x, h, c, w_ih, w_hh, b_ih, b_hh, *, dot, store):
    """h_t (T, B, H), c_t (T, B, H) and the gates (T, B, 4H) of every step."""
    (t_steps, batch, inputs), size = x.shape, h.shape[-1]
    z_in = dot(x.reshape(t_steps * batch, inputs), w_ih.T).reshape(t_steps, batch, 4 * size)
    z_in += b_ih + b_hh
    hs, cs = np.empty((2, t_steps, batch, size), x.dtype)
    gates = np.empty((t_steps, batch, 4 * size), x.dtype)
    w = np.ascontiguousarray(w_hh.T)
    for t in range(t_steps):
        z = z_in[t]
        z += dot(h, w)
        z_g = np.tanh(z[:, 2 * size : 3 * size])
        gate = _sigmoid(z)
        gate[:, 2 * size : 3 * size] = z_g
        gates[t] = gate = store(gate)
        i, f, g, o = (gate[:, k * size : (k + 1) * size] for k in range(4))
        cs[t] = c = store(f * c + i * g)
        hs[t] = h = store(o * np.tanh(c))
    return hs, cs, gates


@kernel("dot", GIVEN, GIVEN, GIVEN)
def lstm_dz(dy, dc, c0, cs, gates, w_hh, *, dot, store):
    """dz (T, B, 4H), and the gradients of the first h and c. dy: of h_t; dc: of the last c."""
    t_steps, batch, size = dy.shape
    dz = np.empty((t_steps, batch, 4 * size), dy.dtype)
    dh = np.zeros((batch, size), dy.dtype)
    for t in reversed(range(t_steps)):
        i, f, g, o = (gates[t, :, k * size : (k + 1) * size] for k in range(4))
        before = cs[t - 1] if t else c0
        dh = dh + dy[t]
        tanh_c = np.tanh(cs[t])
        dc = dc + dh * o * (1 - tanh_c * tanh_c)
        step = dz[t]
        step[:, :size] = dc * g * (i * (1 - i))
        step[:, size : 2 * size] = dc * before * (f * (1 - f))
        step[:, 2 * size : 3 * size] = dc * i * (1 - g * g)
        step[:, 3 * size :] = dh * tanh_c * (o * (1 - o))
        dz[t] = step = store(step)
        dh = store(dot(step, w_hh))
        dc = store(dc * f)
    return dz, dh, dc


def lstm_backward(dy, dc, x, h0, c0, w_ih, w_hh, hs, cs, gates, to):
    stored = dy.dtype
    dz, dh0, dc0 = lstm_dz(
        dy, dc, c0, cs, gates, w_hh, to=(stored, to[1] or stored, to[2] or stored)
    )
    rows = dz.reshape(-1, dz.shape[-1])
    dx = dw_ih = dw_hh = db = None
    if to[0] is not None:
        dx = linear_dx(rows, w_ih, to=to[0]).reshape(x.shape)
    if to[3] is not None:
        dw_ih = linear_dw(rows, x.reshape(len(rows), x.shape[-1]), to=to[3])
    if to[4] is not None:
        before = np.concatenate([h0[None], hs[:-1]]).reshape(len(rows), h0.shape[-1])
        dw_hh = linear_dw(rows, before, to=to[4])
    if to[5] is not None or to[6] is not None:
        db = linear_db(rows, to=to[5] or to[6])
    return dx, dh0, dc0, dw_ih, dw_hh, db, db


@op(weights=("w_ih", "w_hh", "b_ih", "b_hh"))
def lstm_(x, h, c, w_ih, w_hh, b_ih, b_hh):
    hs, cs, gates = lstm_forward(x, h, c, w_ih, w_hh, b_ih, b_hh)
    return (hs, cs[-1]), (x, h, c, w_ih, w_hh, hs, cs, gates), lstm_backward


def lstm(x, h, c, w_ih, w_hh, b_ih, b_hh):
    """h_t of every step (T, B, H) and the last c (B, H), from x (T, B, I) and the first h and c."""
    size = w_hh.shape[-1]
    expected = {
        "x": (x, (*x.shape[:2], w_ih.shape[-1])),
        "h": (h, (x.shape[1], size)),
        "c": (c, (x.shape[1], size)),
        "w_ih": (w_ih, (4 * size, w_ih.shape[-1])),
        "w_hh": (w_hh, (4 * size, size)),
        "b_ih": (b_ih, (4 * size,)),
        "b_hh": (b_hh, (4 * size,)),
    }
    for name, (value, shape) in expected.items():
        if value.shape != shape:
            raise ShapeError(f"lstm: {name} of shape {value.shape}, expected {shape}")
    if x.ndim != 3 or x.shape[0] == 0:
        raise ShapeError(f"lstm: x of shape {x.shape}, expected (T, B, I) with at least one step")
    return lstm_(x, h, c, w_ih, w_hh, b_ih, b_hh)
