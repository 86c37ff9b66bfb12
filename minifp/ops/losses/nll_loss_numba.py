"""The compiled kernel of the gradient in nll_loss.py: only what the targets name is not 0, and so
little is written that it is not worth a second thread."""

import math

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.runtime.cpu.compile.decorators import compiled, inline
from minifp.runtime.cpu.kernels.half import store
from minifp.runtime.cpu.kernels.pool import flat
from minifp.runtime.cpu.kernels.sums import single

UNWEIGHTED, ONE = np.empty(0, float32), np.float32(1)


@inline
def weight_of(w, c):
    """What a row of class c weighs."""
    return w[c] if w.size else ONE


@compiled
def nll_gradients(n, step, ignored, mean, apart, dl, t, w, dx):
    """Write what is not 0. w: (n) weights of classes, or (0) where each weighs 1."""
    total = 0.0
    for c in t:
        if c != ignored:
            total += weight_of(w, c)
    share = 1 / total if mean else 1.0
    for r in range(t.size):
        c = t[r]
        if c != ignored:
            at = (r * n + c) if step == 1 else (r // step * n + c) * step + r % step
            store(dx, at, -(weight_of(w, c) * np.float32(dl[r * apart] * share)))


@compiled_kernel
def nll_loss_dx(dl, x, t, w, *, ignore_index, reduction, to):
    dx = np.zeros(x.shape, to[0])
    if dx.size:
        n, step, dl = x.shape[min(x.ndim - 1, 1)], math.prod(x.shape[2:]), single(dl)
        t, w = flat(np.asarray(t, np.int64)), UNWEIGHTED if w is None else single(w)
        mean = reduction == "mean"
        nll_gradients(n, step, int(ignore_index), mean, int(dl.size > 1), dl, t, w, flat(dx))
    return dx
