"""The compiled kernel of embedding.py for any device: each row's gradients are added up in their
order, and rounded once."""

from minifp.numerics.compiled import any_device
from minifp.ops.shaping.indexing_numba import add_places


@any_device
def embedding_dw(dy, i, *, rows, padding_idx, to):
    dy = dy.reshape(1, i.size, dy.shape[-1])
    skipped = -1 if padding_idx is None else padding_idx
    dw = add_places(dy, i.reshape(-1), rows, to[0] or dy.dtype, skipped=skipped)
    return None if dw is None else dw[0]
