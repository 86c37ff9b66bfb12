"""Kernels of attention.py for a GPU. Scores are scaled by cuBLAS, before they are rounded."""

from minifp.numerics.compiled import compiled_kernel
from minifp.numerics.formats import is_float
from minifp.ops.products.attention_numba import add_scores, mask_scores
from minifp.ops.products.matmul_numba import SINGLE, times
from minifp.runtime.cuda.source import THREADS, Text, blocks_for

TEXT = Text(__name__, "attention.cu")


@compiled_kernel
def attention_scores(q, k, mask, *, scale, is_causal, to):
    adds = mask is not None and is_float(mask.dtype)
    s = times(q, k.swapaxes(-1, -2), SINGLE if adds else to[0], scale)
    if is_causal and s.size:
        TEXT(X=s.dtype).launch(
            "hide_later_keys", blocks_for(s.size), THREADS, s, s.size, *s.shape[-2:]
        )
    if mask is None:
        return s
    return add_scores(s, mask, to=to) if adds else mask_scores(s, mask, to=to)
