"""y_n = w[i_n].   i: (...) integers  w: (V, D), stored  y: (..., D)

    dw[v] = sum over n with i_n = v of dy_n,  and 0 for v = padding_idx

The gradients of a row used several times are summed in `reduce` and rounded once: in float16 such
a sum would stop at 2048 equal parts.
"""

import numpy as np

from minifp.autograd.op import op
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.kernels import kernel
from minifp.numerics.rules import GIVEN
from minifp.ops.arguments import check_tensors
from minifp.ops.public import public
from minifp.ops.reduce import array_given
from minifp.ops.shaping.indexing import add_rows
from minifp.ops.shaping.indexing_cuda import read_places
from minifp.runtime.cuda.arrays import is_on_device


@kernel("reduce", GIVEN)
def embedding_dw(dy, i, *, rows, padding_idx, sum):
    dy, i = dy.reshape(i.size, dy.shape[-1]), i.reshape(-1)
    if padding_idx is not None:
        dy, i = dy[i != padding_idx], i[i != padding_idx]
    return add_rows(dy, i, rows, sum)


def embedding_backward(dy, i, rows, to, padding_idx):
    return None, embedding_dw(dy, i, rows=rows, padding_idx=padding_idx, to=to[1])


def rows_of(w, i):
    """w[i]."""
    read = read_places(w[None], i) if is_on_device(w) and is_on_device(i) else None
    return w[i] if read is None else read[0]


@op(weights=("w",))
def embedding_op(i, w, *, padding_idx):
    return rows_of(w, i), (i, w.shape[0]), embedding_backward


def as_padding_idx(padding_idx, rows, name="embedding"):
    """The row that padding_idx names, counted from the start; None for None.

    Raises ArgumentError for what is no integer from -rows to rows - 1.
    """
    if padding_idx is None:
        return None
    integer = isinstance(padding_idx, (int, np.integer)) and not isinstance(padding_idx, bool)
    if not integer or not -rows <= padding_idx < rows:
        raise ArgumentError(
            f"{name}: padding_idx={padding_idx!r}: expected an integer from {-rows} to {rows - 1}"
        )
    return int(padding_idx) % rows


@public("fp F", autocast="exact")
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """The rows of `weight` (V, D) that `input` (integers, any shape) names: (..., D).

    padding_idx: a row that gets no gradient; counted from the end where it is negative.
    Raises ArgumentError for an index that names no row. On a GPU the indices are not looked at, as
    one would have to wait for them: what such an index reads is NaN, and it adds to no gradient.
    """
    i = array_given("embedding: input", input)
    if i.dtype.kind not in "iu":
        raise DTypeError(f"embedding: indices of {i.dtype}: expected integers")
    check_tensors("embedding", weight=weight)
    if weight.ndim != 2:
        raise ShapeError(f"embedding: weight of shape {weight.shape}, expected (V, D)")
    if i.size and not is_on_device(i) and (i.min() < 0 or i.max() >= weight.shape[0]):
        bad = i.min() if i.min() < 0 else i.max()
        raise ArgumentError(f"embedding: index {bad}: expected 0 to {weight.shape[0] - 1}")
    padding_idx = as_padding_idx(padding_idx, weight.shape[0])
    return embedding_op(input if isinstance(input, Tensor) else i, weight, padding_idx=padding_idx)
