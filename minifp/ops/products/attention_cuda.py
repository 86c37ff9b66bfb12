"""Kernels of attention.py for a GPU. Products are scaled by cuBLAS, before they are rounded."""

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.products.attention_numba import add_scores, mask_scores
from minifp.ops.products.matmul_cuda import SINGLE, summed_to
from minifp.ops.products.matmul_numba import scaled
from minifp.runtime.cuda.product import product, result_shape
from minifp.runtime.cuda.source import THREADS, Text, blocks_for

TEXT = Text(__name__, "attention.cu")


@compiled_kernel
def attention_scores(q, k, mask, *, scale, is_causal, to):
    adds = mask is not None and mask.dtype.kind == "f"
    s = product(q, k.swapaxes(-1, -2), SINGLE if adds else to[0], alpha=scale)
    if is_causal and s.size:
        TEXT(X=s.dtype).launch(
            "hide_later_keys", blocks_for(s.size), THREADS, s, s.size, *s.shape[-2:]
        )
    if mask is None:
        return s
    return add_scores(s, mask, to=to) if adds else mask_scores(s, mask, to=to)


@compiled_kernel
def attention_dp(dy, v, dp, *, to):
    v = v.swapaxes(-1, -2)
    return product(dy, v, to[0]) if dp is None else add_scores(product(dy, v, SINGLE), dp, to=to)


def scaled_product(a, b, scale, shape, dtype):
    """scale a b, summed to a shape over which broadcasting stretched it."""
    if result_shape(a.shape, b.shape) == tuple(shape):
        return product(a, b, dtype, alpha=scale)
    return scaled(summed_to(a, b, shape, SINGLE), alpha=scale, to=(dtype,))


@compiled_kernel
def attention_dq(ds, k, *, scale, shape, to):
    return scaled_product(ds, k, scale, shape, to[0])


@compiled_kernel
def attention_dk(ds, q, *, scale, shape, to):
    return scaled_product(ds.swapaxes(-1, -2), q, scale, shape, to[0])
