"""Compiled kernels of lstm.py: see layer_numba.py."""

from minifp.numerics.compiled import any_device
from minifp.ops.recurrent.layer_numba import backward, forward
from minifp.ops.recurrent.lstm import LSTM


@any_device
def lstm_forward(x, h, c, *weights, **how):
    return forward(LSTM, x, h, c, (*weights, None), **how)


@any_device
def lstm_dz(dy, dh, dc, before, cs, gates, w_hh, **how):
    return backward(LSTM, dy, dh, dc, (before, cs, gates), w_hh, None, **how)


@any_device
def lstm_projected(x, h, c, *weights, **how):
    return forward(LSTM, x, h, c, weights, **how)


@any_device
def lstm_projected_dz(dy, dh, dc, before, cs, gates, w_hh, w_hr, **how):
    return backward(LSTM, dy, dh, dc, (before, cs, gates), w_hh, w_hr, **how)
