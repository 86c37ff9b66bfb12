"""One layer of a simple recurrent network over a whole sequence (Elman 1990).

    z = x_t w_ihT + b_ih + h_{t-1} w_hhT + b_hh        h_t = tanh(z)  or  relu(z)

x: (T, B, I), or packed (see sequence.py)  w_ih: (H, I)  w_hh: (H, H)  b: (H)  h: (T, B, H), all
stored: h_t is rounded once at every step, z never is (but its partial sums are, where `accumulate`
is narrower). Backward runs the steps in reverse, and each dz is rounded once:

    dz = (1 - h_t^2) dh_t  or  [h_t > 0] dh_t          dh_{t-1} = dz w_hh + dy_{t-1}
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.checks import check_choice
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.public import public
from minifp.ops.recurrent import sequence
from minifp.ops.recurrent.layer import INPUTS, STATE, Cell, backward, forward, gate_sums

NONLINEARITIES = ("tanh", "relu")


def check_nonlinearity(name, nonlinearity):
    """Raise ArgumentError for what is neither "tanh" nor "relu"."""
    check_choice(f"{name}: nonlinearity", nonlinearity, NONLINEARITIES)


def rnn_cell(a, a_h, b_ih, b_hh, h, *, nonlinearity, accumulate, store):
    """(no gates, None, h_t) of one step."""
    (z,) = gate_sums(a, a_h, b_ih, b_hh, accumulate)
    return (), None, np.tanh(z) if nonlinearity == "tanh" else np.maximum(z, 0)


def rnn_cell_backward(d, _, h, *, nonlinearity, store):
    """(dz, None, None, None) of one step."""
    return (d * (1 - h * h if nonlinearity == "tanh" else h > 0),), None, None, None


RNN = Cell(rnn_cell, rnn_cell_backward, sums=1, gates=0, saved=(1,))


@kernel("dot", "x", "x", operands=INPUTS)
def rnn_forward(
    x, h, w_ih, w_hh, b_ih, b_hh, *, steps, nonlinearity, dot, accumulate, store, enter
):
    """h_t of every row (N, H), and the last h of every sequence (B, H). x: rows (N, I)."""
    weights, given = (w_ih, w_hh, b_ih, b_hh, None), {"steps": steps, "nonlinearity": nonlinearity}
    given |= {"dot": dot, "accumulate": accumulate, "store": store, "enter": enter}
    return forward(RNN, x, h, None, weights, **given)


@kernel("dot", GIVEN, GIVEN, operands={"w_hh": (0,)}, gradients=STATE)
def rnn_dz(dy, dh, hs, w_hh, *, steps, nonlinearity, dot, store, enter):
    """dz (N, H), and the gradient of the first h. dy: of h_t (N, H); dh: of the last h (B, H)."""
    given = {"steps": steps, "nonlinearity": nonlinearity}
    given |= {"dot": dot, "store": store, "enter": enter}
    return backward(RNN, dy, dh, None, (hs,), w_hh, None, **given)


def rnn_backward(dy, dh, x, h0, w_ih, w_hh, y, *, to, nonlinearity, batch_sizes, reverse):
    steps, hs = sequence.steps_of(x.shape, batch_sizes, reverse), sequence.rows_of(y)
    given = {"steps": steps, "nonlinearity": nonlinearity, "to": (dy.dtype, to[1] or dy.dtype)}
    dz, dh0 = rnn_dz(sequence.rows_of(dy), dh, hs, w_hh, **given)
    before = sequence.states_before(hs, h0, steps)
    dx, *dws = sequence.weight_gradients(dz, dz, x, w_ih, before, (to[0], *to[2:]))
    return dx, dh0, *dws


@op(weights=("w_ih", "w_hh", "b_ih", "b_hh"))
def rnn_op(x, h, w_ih, w_hh, b_ih, b_hh, *, nonlinearity, batch_sizes, reverse):
    steps = sequence.steps_of(x.shape, batch_sizes, reverse)
    given = {"steps": steps, "nonlinearity": nonlinearity}
    hs, h_n = rnn_forward(sequence.rows_of(x), h, w_ih, w_hh, b_ih, b_hh, **given)
    y = hs.reshape(*x.shape[:-1], hs.shape[-1])
    return (y, h_n), (x, h, w_ih, w_hh, y), rnn_backward


@public("F", autocast="recurrence")
def rnn(
    x: Tensor,
    h: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
    *,
    nonlinearity: str = "tanh",
    batch_sizes: tuple[int, ...] | None = None,
    reverse: bool = False,
) -> tuple[Tensor, Tensor]:
    """h_t of every step (T, B, H) and the last h (B, H), from x (T, B, I) and the first h (B, H).

    batch_sizes: how many sequences each step has, for x packed as (N, I); h_t is then (N, H).
    reverse: from each sequence's last step to its first. Raises ShapeError, DTypeError or
    ArgumentError for an argument that does not fit.
    """
    check_nonlinearity("rnn", nonlinearity)
    tensors = {"x": x, "h": h, "w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh}
    sequence.check_sequence("rnn", 1, batch_sizes, tensors)
    given = {"nonlinearity": nonlinearity, "batch_sizes": batch_sizes, "reverse": reverse}
    return rnn_op(x, h, w_ih, w_hh, b_ih, b_hh, **given)
