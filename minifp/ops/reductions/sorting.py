"""Sorting along an axis.

    y = x in order: y_j = x at i_j        dx = dy put back to where each number was

x, y: stored; nothing is rounded. The order is stable, also the descending one: equal numbers stay
in their order. NaN is larger than any number, as in PyTorch.
"""

import numpy as np

from minifp.autograd.op import takes_tensor
from minifp.autograd.tape import Tensor
from minifp.errors import ArgumentError
from minifp.ops.arguments import as_axis, is_integer
from minifp.ops.public import public
from minifp.ops.reduce import array_of
from minifp.ops.reductions.min_max import SELECTIONS, ValuesAndIndices
from minifp.runtime.cuda.arrays import is_on_device


def order_of(x, axis, descending):
    """The places (int64) of the numbers of an array in their order along an axis."""
    if not descending:
        order = np.argsort(x, axis, kind="stable")
        return order if is_on_device(order) else np.asarray(order, np.int64)
    last = x.shape[axis] - 1  # sorted backwards and turned round, equal ones are in order again
    return last - np.flip(order_of(np.flip(x, axis), axis, False), axis)


@public("fp Tensor", autocast="exact")
@takes_tensor
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False
) -> ValuesAndIndices:
    """The numbers along `dim` in their order: a named tuple (values, indices).

    The order of equal ones is kept whether `stable` asks for it or not.
    """
    axis = as_axis(dim, input.ndim, "sort: dim")
    indices = order_of(array_of(input), axis, descending)
    return ValuesAndIndices(SELECTIONS["sort"](input, indices, axis=axis), Tensor(indices))


@public("fp Tensor")
@takes_tensor
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The places (int64) of the numbers along `dim` in their order; equal ones as they come."""
    return Tensor(order_of(array_of(input), as_axis(dim, input.ndim, "argsort: dim"), descending))


@public("fp Tensor", autocast="exact")
@takes_tensor
def topk(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> ValuesAndIndices:
    """The k largest (or smallest) along `dim`, the first of equal ones first: (values, indices).

    They are sorted whether `sorted` asks for it or not. Raises ArgumentError for a k that is not
    from 0 to the axis's size.
    """
    axis = as_axis(dim, input.ndim, "topk: dim")
    n = input.shape[axis]
    if not is_integer(k) or not 0 <= k <= n:
        raise ArgumentError(f"topk: k={k!r}: expected an integer from 0 to {n}")
    order = order_of(array_of(input), axis, largest)
    first = (slice(None),) * axis + (slice(k),)
    indices = order[first].copy()
    return ValuesAndIndices(SELECTIONS["topk"](input, indices, axis=axis), Tensor(indices))
