"""Kernels of rnn.py for a GPU: a product and a kernel a step, see sequence_cuda.py."""

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import float32
from minifp.ops.recurrent.sequence_cuda import launch, ours
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.product import multiply, product
from minifp.runtime.cuda.source import Text

TEXT = Text(__name__, "rnn.cu")


@compiled_kernel
def rnn_forward(x, h, w_ih, w_hh, b_ih, b_hh, *, steps, nonlinearity, to):
    found = ours(to, x, h, w_ih, w_hh, b_ih, b_hh)
    if found is None:
        return None
    x, h, w_ih, w_hh, b_ih, b_hh = found
    z, h, H, module = product(x, w_ih.T, float32), h.copy(), h.shape[1], TEXT(X=x.dtype)
    hs, biased, relu = empty(z.shape, x.dtype), b_ih is not None, int(nonlinearity == "relu")
    arrays = z, *((b_ih, b_hh) if biased else (h, h)), h, hs
    for start, stop in steps:
        n = stop - start
        multiply(h[:n], w_hh.T, z[start:stop], accumulate=True)
        launch(module, "rnn_step", n, H, *arrays, n, H, start, int(biased), relu)
    return hs, h


@compiled_kernel
def rnn_dz(dy, dh, hs, w_hh, *, steps, nonlinearity, to):
    found = ours(to, dy, dh, hs, w_hh)
    if found is None:
        return None
    dy, dh, hs, w_hh = found
    dz, dh, H, module = empty(dy.shape, dy.dtype), dh.copy(), dh.shape[1], TEXT(X=dy.dtype)
    relu = int(nonlinearity == "relu")
    for start, stop in reversed(steps):
        n = stop - start
        launch(module, "rnn_step_dz", n, H, dy, dh, hs, dz, n, H, start, relu)
        multiply(dz[start:stop], w_hh, dh[:n])
    return dz, dh
