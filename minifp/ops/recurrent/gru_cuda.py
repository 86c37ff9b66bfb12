"""Kernels of gru.py for a GPU: a product and a kernel a step, see sequence_cuda.py."""

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.ops.recurrent.sequence_cuda import before, launch, ours
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.pointwise import cast
from minifp.runtime.cuda.product import multiply, product
from minifp.runtime.cuda.source import Text

TEXT = Text(__name__, "gru.cu")


@compiled_kernel
def gru_forward(x, h, w_ih, w_hh, b_ih, b_hh, *, steps, to):
    found = ours(to, x, h, w_ih, w_hh, b_ih, b_hh)
    if found is None:
        return None
    x, h, w_ih, w_hh, b_ih, b_hh = found
    (B, H), N, X = h.shape, len(x), x.dtype
    a_in, a_h, h = product(x, w_ih.T, float32), empty((B, 3 * H), float32), h.copy()
    hs, gates, module = empty((N, H), X), empty((N, 4 * H), X), TEXT(X=X)
    biased = b_ih is not None
    arrays = a_in, a_h, *((b_ih, b_hh) if biased else (h, h)), h, hs, gates
    for start, stop in steps:
        n = stop - start
        multiply(h[:n], w_hh.T, a_h[:n])
        launch(module, "gru_step", n, H, *arrays, n, H, start, int(biased))
    return hs, gates, h


@compiled_kernel
def gru_da(dy, dh, h0, hs, gates, w_hh, *, steps, to):
    found = ours(to, dy, dh, h0, hs, gates, w_hh)
    if found is None:
        return None
    dy, dh, h0, hs, gates, w_hh = found
    (N, H), X = dy.shape, dy.dtype
    da_in, da_h, dh = empty((N, 3 * H), X), empty((N, 3 * H), X), cast(dh, float32)
    arrays, module = (dy, dh, h0, hs, gates, da_in, da_h), TEXT(X=X)
    for k in reversed(range(len(steps))):
        start, stop = steps[k]
        n = stop - start
        launch(module, "gru_step_da", n, H, *arrays, n, H, start, *before(steps, k))
        multiply(da_h[start:stop], w_hh, dh[:n], accumulate=True)
    return da_in, da_h, cast(dh, X)
