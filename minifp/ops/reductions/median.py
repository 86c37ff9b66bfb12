"""The median, of an even count the lower of the two in the middle; NaN where there is one.

of all:           dx = dy / (how many x equal y)  where x = y, else 0
along one axis:   dx = dy at the place of the median, else 0
"""

import numpy as np

from minifp.autograd.op import op, takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.numerics.kernels import kernel
from minifp.ops.public import public
from minifp.ops.reductions.min_max import SELECTIONS, ValuesAndIndices, along, extreme, selection
from minifp.ops.reductions.sorting import order_of


@kernel("reduce", "x")
def median_forward(x, *, axes, keepdims):
    ordered = np.sort(x.reshape(-1))  # NaN last
    middle = ordered[(ordered.size - 1) // 2]
    return np.where(np.isnan(ordered[-1]), ordered[-1], middle)


median_op = extreme("median", median_forward, True)
SELECTIONS["median"] = op(selection, name="median")


def place_of_median(x, axis, keepdims):
    """The place of the median along an axis, or of a NaN."""
    order, count = order_of(x, axis, False), x.shape[axis]
    is_last = np.isnan(np.take_along_axis(x, order, axis)) if x.dtype.kind == "f" else False
    missing = np.sum(is_last & np.ones_like(order, bool), axis=axis, keepdims=True)
    place = np.where(missing > 0, count - missing, (count - 1) // 2)
    return np.take_along_axis(order, place, axis)


@public("fp Tensor", autocast="exact")
@takes_tensor
def median(
    input: Tensor, dim: int | None = None, keepdim: bool = False
) -> Tensor | ValuesAndIndices:
    """The median of all; equal ones share the gradient. Along `dim`, (values, indices).

    Of an even count it is the lower one. Raises ShapeError for the median of no numbers, and
    ArgumentError for keepdim without dim.
    """
    if dim is not None:
        return along("median", place_of_median, input, dim, keepdim)
    if keepdim:
        raise ArgumentError("median: keepdim=True: expected a dim")
    return median_op(input, dim=None, keepdims=False)
