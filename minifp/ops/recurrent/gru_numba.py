"""Compiled kernels of gru.py: see layer_numba.py."""

from minifp.numerics.compiled import any_device
from minifp.ops.recurrent.gru import GRU
from minifp.ops.recurrent.layer_numba import backward, forward


@any_device
def gru_forward(x, h, *weights, **how):
    return forward(GRU, x, h, None, (*weights, None), **how)


@any_device
def gru_da(dy, dh, before, gates, w_hh, **how):
    return backward(GRU, dy, dh, None, (before, gates), w_hh, None, **how)
