"""Kernels of lstm.py for a GPU: a product and a kernel a step, see sequence_cuda.py."""

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.ops.recurrent.sequence_cuda import before, launch, ours
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.product import multiply, product
from minifp.runtime.cuda.source import Text

TEXT = Text(__name__, "lstm.cu")


def all_steps(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, *, steps, to):
    """(hs, cs, qs, gates, h, c): qs is hs without projection. None for what is not ours."""
    found = ours(to, x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr)
    if found is None:
        return None
    x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr = found
    P, H, N, X = h.shape[1], c.shape[1], len(x), x.dtype
    z, h, c = product(x, w_ih.T, float32), h.copy(), c.copy()
    cs, gates, hs = empty((N, H), X), empty((N, 4 * H), X), empty((N, P), X)
    qs, module = hs if w_hr is None else empty((N, H), X), TEXT(X=X)
    biased, projected = int(b_ih is not None), int(w_hr is not None)
    arrays = z, *((b_ih, b_hh) if biased else (h, h)), c, h, qs, cs, gates
    for start, stop in steps:
        n = stop - start
        multiply(h[:n], w_hh.T, z[start:stop], accumulate=True)
        launch(module, "lstm_step", n, H, *arrays, n, H, start, biased, projected)
        if projected:
            multiply(qs[start:stop], w_hr.T, hs[start:stop])
            h[:n] = hs[start:stop]
    return hs, cs, qs, gates, h, c


def all_steps_dz(dy, dh, dc, c0, cs, gates, w_hh, w_hr, *, steps, to):
    """(dz, dhs, dh, dc): dhs is dy without projection. None for what is not ours."""
    found = ours(to, dy, dh, dc, c0, cs, gates, w_hh, w_hr)
    if found is None:
        return None
    dy, dh, dc, c0, cs, gates, w_hh, w_hr = found
    H, X, projected = c0.shape[1], dy.dtype, w_hr is not None
    dz, dh, dc, module = empty(gates.shape, X), dh.copy(), dc.copy(), TEXT(X=X)
    dhs, dq = (empty(dy.shape, X), empty(c0.shape, X)) if projected else (dy, dy)
    for k in reversed(range(len(steps))):
        start, stop = steps[k]
        n = stop - start
        if projected:
            dhs[start:stop] = dh[:n] + dy[start:stop]
            multiply(dhs[start:stop], w_hr, dq[:n])
        where = start, 0 if projected else start, int(not projected), *before(steps, k)
        launch(module, "lstm_step_dz", n, H, dq, dh, dc, c0, cs, gates, dz, n, H, *where)
        multiply(dz[start:stop], w_hh, dh[:n])
    return dz, dhs, dh, dc


@compiled_kernel
def lstm_forward(x, h, c, w_ih, w_hh, b_ih, b_hh, *, steps, to):
    found = all_steps(x, h, c, w_ih, w_hh, b_ih, b_hh, None, steps=steps, to=to)
    return found and (*found[:2], *found[3:])


@compiled_kernel
def lstm_dz(dy, dh, dc, c0, cs, gates, w_hh, *, steps, to):
    found = all_steps_dz(dy, dh, dc, c0, cs, gates, w_hh, None, steps=steps, to=to)
    return found and (found[0], *found[2:])


@compiled_kernel
def lstm_projected(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, *, steps, to):
    return all_steps(x, h, c, w_ih, w_hh, b_ih, b_hh, w_hr, steps=steps, to=to)


@compiled_kernel
def lstm_projected_dz(dy, dh, dc, c0, cs, gates, w_hh, w_hr, *, steps, to):
    return all_steps_dz(dy, dh, dc, c0, cs, gates, w_hh, w_hr, steps=steps, to=to)
