"""Compiled kernels of nll_loss.py: of x only what the targets name is read, and so little is
written that it is not worth a second thread.
"""

import numpy as np

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.ops.losses.class_targets_numba import NOT_STORED, as_rows, share_of, weight_of
from minifp.runtime.cpu.compile import compiled
from minifp.runtime.cpu.half import flat, load, store
from minifp.runtime.cpu.sums import single

ZERO = np.float32(0)
NOT_READ = np.empty(1, float32)


@compiled
def nll_losses(n, step, ignored, mean, x, t, w, each, loss_in_all):
    """The losses of rows, if `each` has room for them, and their sum, in a mean divided."""
    total, weights = 0.0, 0.0
    for r in range(t.size):
        c, loss = t[r], ZERO
        if c != ignored:
            weight = weight_of(w, c)
            at = (r * n + c) if step == 1 else (r // step * n + c) * step + r % step
            loss = -load(x, at) * weight
            weights += weight
        if each.size:
            store(each, r, loss)
        total += loss
    store(loss_in_all, 0, total / weights if mean else total)


@compiled
def nll_gradients(n, step, ignored, share, apart, dl, t, w, dx):
    """Write what is not 0."""
    for r in range(t.size):
        c = t[r]
        if c != ignored:
            at = (r * n + c) if step == 1 else (r // step * n + c) * step + r % step
            store(dx, at, -(weight_of(w, c) * np.float32(dl[r * apart] * share)))


@compiled_kernel
def nll_loss_each(x, t, w, *, ignore_index, to):
    each = np.empty(t.shape, to[0])
    if each.size:
        n, step, t, w = as_rows(x, t, w)
        nll_losses(n, step, int(ignore_index), False, flat(x), t, w, flat(each), NOT_READ)
    return each


@compiled_kernel
def nll_loss_total(x, t, w, *, ignore_index, reduction, to):
    if not t.size:
        return None
    n, step, t, w = as_rows(x, t, w)
    mean, each = reduction == "mean", NOT_STORED[x.dtype]
    loss = np.empty((), to[0])
    nll_losses(n, step, int(ignore_index), mean, flat(x), t, w, flat(each), flat(loss))
    return loss


@compiled_kernel
def nll_loss_dx(dl, x, t, w, *, ignore_index, reduction, to):
    dx = np.zeros(x.shape, to[0])
    if dx.size:
        n, step, t, w = as_rows(x, t, w)
        share, dl = share_of(t, w, int(ignore_index), reduction == "mean"), single(dl)
        nll_gradients(n, step, int(ignore_index), share, int(dl.size > 1), dl, t, w, flat(dx))
    return dx
