"""The kernel of embedding.py for a GPU: see indexing_cuda.py."""

from minifp.numerics.compiled import compiled_kernel
from minifp.ops.shaping.indexing_cuda import add_places


@compiled_kernel
def embedding_dw(dy, i, *, rows, padding_idx, to):
    dy = dy.reshape(1, i.size, dy.shape[-1])
    skipped = -1 if padding_idx is None else padding_idx
    dw = add_places(dy, i, rows, to[0] or dy.dtype, skipped=skipped)
    return None if dw is None else dw[0]
