"""Compiled kernels of glu_prelu.py."""

import numpy as np

from minifp.numerics.compiled import any_device, compiled_kernel
from minifp.numerics.dispatch import pointwise, summed
from minifp.numerics.formats import float32


def _beside(w, ndim):
    return w.reshape(()) if w.size == 1 else w.reshape(-1, *(1,) * (ndim - 2))


@pointwise
def leaky(x, w):
    return np.where(x > 0, x, w * x)


@pointwise
def leaky_dx(dy, x, w):
    return np.where(x > 0, dy, w * dy)


@pointwise
def leaky_dw(dy, x):
    return np.where(x > 0, 0, dy * x)


@any_device
def prelu_forward(x, w, *, to):
    return leaky(x, _beside(w, x.ndim), to=to)


@any_device
def prelu_dx(dy, x, w, *, to):
    return leaky_dx(dy, x, _beside(w, x.ndim), to=to)


@any_device
def prelu_dw(dy, x, *, shape, to):
    channels = tuple(n if i == 1 and shape not in ((), (1,)) else 1 for i, n in enumerate(x.shape))
    dtype = to[0] or (dy.dtype if shape else float32)
    found = summed(leaky_dw, (dy, x), dy.shape, channels, dtype)
    return None if found is None else found.reshape(shape)


def _sigmoid(b):
    return 1 / (1 + np.exp(-b))


@pointwise
def gate(a, b):
    return a * _sigmoid(b)


@pointwise
def gate_da(dy, b):
    return dy * _sigmoid(b)


@pointwise
def gate_db(dy, a, b):
    e = np.exp(-abs(b))
    more = 1 / (1 + e)
    return dy * (a * more * (e * more))  # the sigmoids of b and -b, in either order


@compiled_kernel
def glu_forward(x, *, axis, to):
    return gate(*np.split(x, 2, axis), to=to)


@compiled_kernel
def glu_dx(dy, x, *, axis, to):
    a, b = np.split(x, 2, axis)
    halves = gate_da(dy, b, to=to), gate_db(dy, a, b, to=to)
    return None if halves[0] is None else np.concatenate(halves, axis)
