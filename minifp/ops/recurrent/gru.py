"""One layer of gated recurrent units over a whole sequence (Cho et al. 2014).

In the variant of cuDNN and PyTorch: r multiplies a product, not the state. With sigma the logistic
function and the weights' blocks in the order r, z, n:

    r = sigma(x_t w_irT + b_ir + h_{t-1} w_hrT + b_hr)        q = h_{t-1} w_hnT + b_hn
    z = sigma(x_t w_izT + b_iz + h_{t-1} w_hzT + b_hz)        n = tanh(x_t w_inT + b_in + r q)
    h_t = (1 - z) n + z h_{t-1}

x: (T, B, I), or packed (see sequence.py)  w_ih: (3H, I)  w_hh: (3H, H)  b: (3H)  h: (T, B, H), all
stored: r, z, n, q and h_t are rounded once at every step. Backward runs the steps in reverse; with
a the sums inside sigma and tanh, each da and dq is rounded once:

    da_n = dh (1 - z) (1 - n^2)   dq = da_n r   da_r = da_n q r (1 - r)
    da_z = dh (h_{t-1} - n) z (1 - z)           dh_{t-1} = dh z + [da_r da_z dq] w_hh + dy_{t-1}
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.numerics.kernels import kernel
from minifp.numerics.policy import GIVEN
from minifp.ops.public import public
from minifp.ops.recurrent.sequence import (
    check_sequence,
    rows_of,
    sigmoid,
    state_before,
    steps_of,
    weight_gradients,
)


@kernel("dot", "x", "x", "x")
def gru_forward(x, h, w_ih, w_hh, b_ih, b_hh, *, steps, dot, accumulate, store):
    """h_t (N, H) and r, z, n, q (N, 4H) of every row, and the last h of every sequence (B, H)."""
    size = h.shape[-1]
    a_in = dot(x, w_ih.T)
    if b_ih is not None:
        a_in += b_ih
        a_in = accumulate(a_in)
    hs, gates = np.empty((len(x), size), x.dtype), np.empty((len(x), 4 * size), x.dtype)
    h, w = h.copy(), np.ascontiguousarray(w_hh.T)
    for start, stop in steps:
        before, a, gate = h[: stop - start], a_in[start:stop], gates[start:stop]
        a_h = dot(before, w)
        if b_hh is not None:
            a_h += b_hh
            a_h = accumulate(a_h)
        gate[:, : 2 * size] = store(sigmoid(accumulate(a[:, : 2 * size] + a_h[:, : 2 * size])))
        gate[:, 3 * size :] = store(a_h[:, 2 * size :])
        r, z, n, q = blocks(gate)
        n[...] = store(np.tanh(a[:, 2 * size :] + r * q))
        hs[start:stop] = h[: stop - start] = store((1 - z) * n + z * before)
    return hs, gates, h


def blocks(gates):
    """Views of the four blocks of columns."""
    size = gates.shape[-1] // 4
    return tuple(gates[:, k * size : (k + 1) * size] for k in range(4))


@kernel("dot", GIVEN, GIVEN, GIVEN)
def gru_da(dy, dh, h0, hs, gates, w_hh, *, steps, dot, store):
    """[da_r da_z da_n] and [da_r da_z dq] of every row (N, 3H), and the gradient of the first h."""
    size = dh.shape[-1]
    da_in, da_h = np.empty((2, len(dy), 3 * size), dy.dtype)
    dh = dh.copy()
    for k in reversed(range(len(steps))):
        start, stop = steps[k]
        r, z, n, q = blocks(gates[start:stop])
        d = dh[: stop - start] + dy[start:stop]
        da_n = d * (1 - z) * (1 - n * n)
        da_z = d * (state_before(hs, h0, steps, k) - n) * (z * (1 - z))
        da_in[start:stop] = store(np.concatenate([da_n * q * (r * (1 - r)), da_z, da_n], axis=1))
        da_h[start:stop, : 2 * size] = da_in[start:stop, : 2 * size]
        da_h[start:stop, 2 * size :] = store(da_n * r)
        dh[: stop - start] = store(d * z + dot(da_h[start:stop], w_hh))
    return da_in, da_h, dh


def gru_backward(dy, dh, x, h0, w_ih, w_hh, y, gates, *, to, batch_sizes, reverse):
    steps, hs = steps_of(x.shape, batch_sizes, reverse), rows_of(y)
    formats = dy.dtype, dy.dtype, to[1] or dy.dtype
    da_in, da_h, dh0 = gru_da(rows_of(dy), dh, h0, hs, gates, w_hh, steps=steps, to=formats)
    dx, *dws = weight_gradients(da_in, da_h, x, w_ih, hs, h0, steps, (to[0], *to[2:]))
    return dx, dh0, *dws


@op(weights=("w_ih", "w_hh", "b_ih", "b_hh"))
def gru_op(x, h, w_ih, w_hh, b_ih, b_hh, *, batch_sizes, reverse):
    steps = steps_of(x.shape, batch_sizes, reverse)
    hs, gates, h_n = gru_forward(rows_of(x), h, w_ih, w_hh, b_ih, b_hh, steps=steps)
    y = hs.reshape(*x.shape[:-1], hs.shape[-1])
    return (y, h_n), (x, h, w_ih, w_hh, y, gates), gru_backward


@public("F", autocast="recurrence")
def gru(
    x: Tensor, h: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
    b_hh: Tensor | None = None, *, batch_sizes: tuple[int, ...] | None = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """h_t of every step (T, B, H) and the last h (B, H), from x (T, B, I) and the first h (B, H).

    batch_sizes: how many sequences each step has, for x packed as (N, I); h_t is then (N, H).
    reverse: from each sequence's last step to its first. Raises ShapeError, DTypeError or
    ArgumentError for an argument that does not fit.
    """
    tensors = {"x": x, "h": h, "w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh}
    check_sequence("gru", 3, batch_sizes, tensors)
    return gru_op(x, h, w_ih, w_hh, b_ih, b_hh, batch_sizes=batch_sizes, reverse=reverse)
