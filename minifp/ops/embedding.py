"""y_n = w[i_n].   i: (...) integers  w: (V, D), stored  y: (..., D)

    dw[v] = sum over n with i_n = v of dy_n

The gradients of a row used several times are summed in `reduce` and rounded once: in float16 such
a sum would stop at 2048 equal parts.
"""

import numpy as np

from minifp.backend import kernel
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.ops.shape import scatter_add
from minifp.policy import GIVEN
from minifp.recording import op
from minifp.tape import Tensor


@kernel("reduce", GIVEN)
def embedding_dw(dy, i, *, rows, sum):
    return scatter_add(dy.reshape(i.size, dy.shape[-1]), i.reshape(-1), rows, sum)


def embedding_backward(dy, i, rows, to):
    return None, embedding_dw(dy, i, rows=rows, to=to[1])


@op(weights=("w",))
def embedding_(i, w):
    return w[i], (i, w.shape[0]), embedding_backward


def embedding(input, weight):
    """The rows of `weight` (V, D) that `input` (integers, any shape) names: (..., D)."""
    i = input.array if isinstance(input, Tensor) else np.asarray(input)
    if i.dtype.kind not in "iu":
        raise DTypeError(f"embedding: indices of {i.dtype}: expected integers")
    if weight.ndim != 2:
        raise ShapeError(f"embedding: weight of shape {weight.shape}, expected (V, D)")
    if i.size and (i.min() < 0 or i.max() >= weight.shape[0]):
        bad = i.min() if i.min() < 0 else i.max()
        raise ArgumentError(f"embedding: index {bad}: expected 0 to {weight.shape[0] - 1}")
    return embedding_(input if isinstance(input, Tensor) else i, weight)
