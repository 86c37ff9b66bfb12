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
from minifp.numerics.rules import GIVEN
from minifp.ops.public import public
from minifp.ops.recurrent import sequence
from minifp.ops.recurrent.layer import INPUTS, STATE, Cell, backward, forward, sigmoid


def gru_cell(a, a_h, b_ih, b_hh, h, *, accumulate, store):
    """(r, z, n, q; None; h_t) of one step."""
    if b_ih is not None:
        a, a_h = ([accumulate(x + b) for x, b in zip(*p)] for p in ((a, b_ih), (a_h, b_hh)))
    r, z = (store(sigmoid(accumulate(x + y))) for x, y in zip(a[:2], a_h[:2]))
    q = store(a_h[2])
    n = store(np.tanh(a[2] + r * q))
    return (r, z, n, q), None, (1 - z) * n + z * h


def gru_cell_backward(d, _, before, r, z, n, q, *, store):
    """(da_r da_z da_n; da_r da_z dq; the gradient of the h before, but for products; None)."""
    da_n = d * (1 - z) * (1 - n * n)
    da_r, da_z = da_n * q * (r * (1 - r)), d * (before - n) * (z * (1 - z))
    return (da_r, da_z, da_n), (da_r, da_z, da_n * r), d * z, None


GRU = Cell(gru_cell, gru_cell_backward, sums=3, gates=4, saved=(1, 4))


@kernel("dot", "x", "x", "x", operands=INPUTS)
def gru_forward(x, h, w_ih, w_hh, b_ih, b_hh, *, steps, dot, accumulate, store, enter):
    """h_t (N, H) and r, z, n, q (N, 4H) of every row, and the last h of every sequence (B, H)."""
    weights = w_ih, w_hh, b_ih, b_hh, None
    given = {"dot": dot, "accumulate": accumulate, "store": store, "enter": enter}
    return forward(GRU, x, h, None, weights, steps=steps, **given)


@kernel("dot", GIVEN, GIVEN, GIVEN, operands={"w_hh": (0,)}, gradients=STATE)
def gru_da(dy, dh, before, gates, w_hh, *, steps, dot, store, enter):
    """[da_r da_z da_n] and [da_r da_z dq] of every row (N, 3H), and the gradient of the first h.
    before: the h that each row read (N, H)."""
    saved = before, gates
    given = {"dot": dot, "store": store, "enter": enter}
    return backward(GRU, dy, dh, None, saved, w_hh, None, steps=steps, **given)


def gru_backward(dy, dh, x, h0, w_ih, w_hh, y, gates, *, to, batch_sizes, reverse):
    steps, formats = (
        sequence.steps_of(x.shape, batch_sizes, reverse),
        (dy.dtype, dy.dtype, to[1] or dy.dtype),
    )
    before = sequence.states_before(sequence.rows_of(y), h0, steps)
    da_in, da_h, dh0 = gru_da(
        sequence.rows_of(dy), dh, before, gates, w_hh, steps=steps, to=formats
    )
    dx, *dws = sequence.weight_gradients(da_in, da_h, x, w_ih, before, (to[0], *to[2:]))
    return dx, dh0, *dws


@op(weights=("w_ih", "w_hh", "b_ih", "b_hh"))
def gru_op(x, h, w_ih, w_hh, b_ih, b_hh, *, batch_sizes, reverse):
    steps = sequence.steps_of(x.shape, batch_sizes, reverse)
    hs, gates, h_n = gru_forward(sequence.rows_of(x), h, w_ih, w_hh, b_ih, b_hh, steps=steps)
    y = hs.reshape(*x.shape[:-1], hs.shape[-1])
    return (y, h_n), (x, h, w_ih, w_hh, y, gates), gru_backward


@public("F", autocast="recurrence")
def gru(
    x: Tensor,
    h: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    batch_sizes: tuple[int, ...] | None = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """h_t of every step (T, B, H) and the last h (B, H), from x (T, B, I) and the first h (B, H).

    batch_sizes: how many sequences each step has, for x packed as (N, I); h_t is then (N, H).
    reverse: from each sequence's last step to its first. Raises ShapeError, DTypeError or
    ArgumentError for an argument that does not fit.
    """
    tensors = {"x": x, "h": h, "w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh}
    sequence.check_sequence("gru", 3, batch_sizes, tensors)
    return gru_op(x, h, w_ih, w_hh, b_ih, b_hh, batch_sizes=batch_sizes, reverse=reverse)
