"""What is counted: different numbers, and how often each is there. None of it has a gradient."""

from typing import Any

import numpy as np

from minifp.autograd.op import takes_tensor
from minifp.autograd.tape import Tensor
from minifp.checks import check_count
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.formats import as_native, downcast
from minifp.ops.arguments import as_axis
from minifp.ops.on_host import on_host
from minifp.ops.public import public
from minifp.ops.reductions.min_max import as_int64

WHY = "how many different numbers there are is known when they have been compared"


@public("fp Tensor")
@on_host(WHY)
@takes_tensor
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different numbers in their order, or, along `dim`, the different slices: no gradient.

    With return_inverse, return_counts a tuple, with the place of each number of input among them,
    in input's shape (along dim, of each slice), and how often each is there, in int64. They are
    sorted whether `sorted` asks for it or not; each NaN is a number of its own.
    """
    axis = None if dim is None else as_axis(dim, input.ndim, "unique: dim")
    stored = input.array if isinstance(input, Tensor) else np.asarray(input)
    values, inverse, counts = np.unique(
        as_native(stored), return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    inverse = inverse.reshape(stored.shape if axis is None else -1)
    others = [inverse] * bool(return_inverse) + [counts] * bool(return_counts)
    first = Tensor(downcast(values, stored.dtype))
    return (first, *(Tensor(as_int64(part)) for part in others)) if others else first


@public("fp Tensor")
@on_host(WHY)
@takes_tensor
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, ... is among integers (n), at least `minlength` of them: int64.

    weights (n): what each counts, and the result in float32 for weights in float32, or else in
    float64; no gradient. Raises DTypeError for other than integers, ShapeError for other shapes,
    ArgumentError for numbers below 0.
    """
    numbers = input.array if isinstance(input, Tensor) else np.asarray(input)
    if numbers.dtype.kind not in "iu":
        raise DTypeError(f"bincount: input of {input.dtype}: expected integers")
    shape = numbers.shape if weights is None else np.shape(weights)
    if numbers.ndim != 1 or shape != numbers.shape:
        raise ShapeError(
            f"bincount: input of shape {numbers.shape}, weights of shape {shape}: expected (n)"
        )
    if numbers.size and numbers.min() < 0:
        raise ArgumentError(f"bincount: {numbers.min()}: expected integers of at least 0")
    least = check_count("bincount: minlength", minlength, 0)
    if weights is None:
        return Tensor(as_int64(np.bincount(numbers, minlength=least)))
    amounts = as_native(weights.array if isinstance(weights, Tensor) else np.asarray(weights))
    counts = np.bincount(numbers, amounts, least)
    is_single = amounts.dtype.kind == "f" and amounts.dtype.itemsize == 4
    return Tensor(downcast(counts, amounts.dtype) if is_single else counts)
