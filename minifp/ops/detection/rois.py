"""Regions of interest: boxes, each in one picture of a batch, of which features are taken."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.checks import check_range
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.formats import float32, upcast
from minifp.numerics.rules import promote
from minifp.ops.arguments import check_constants, check_tensors
from minifp.ops.detection.boxes import warn_of_lost_pixels
from minifp.ops.reduce import array_of
from minifp.ops.windows import as_sizes
from minifp.runtime.cuda.arrays import is_on_device
from minifp.runtime.cuda.pointwise import in_format
from minifp.runtime.device import is_array_like, placed
from minifp.typing import Ints

Regions: TypeAlias = Tensor | Sequence[Tensor]


def as_regions(function: str, input: Any, boxes: Regions) -> tuple[Any, Any]:
    """(boxes (K, 4) in float32 or wider, the numbers (K) of their pictures in `input`).

    boxes: a list of boxes (L, 4) for each picture, or (K, 5) with the picture's number first.
    Raises DTypeError or ShapeError for others, and for an input that is not (N, C, H, W);
    ArgumentError for boxes that require a gradient, and (but on a GPU) for what is no picture.
    """
    check_tensors(function, input=input)
    if input.ndim != 4:
        raise ShapeError(f"{function}: input of shape {input.shape}: expected (N, C, H, W)")
    if isinstance(boxes, (list, tuple)):
        edges, pictures = of_each_picture(function, len(input), boxes)
    else:
        edges, pictures = with_numbers(function, len(input), boxes)
    wide = upcast(edges, promote([float32, edges.dtype, input.dtype]))
    return wide, placed(pictures, like=wide)


def of_each_picture(function: str, n: int, boxes: Sequence[Any]) -> tuple[Any, Any]:
    """The same of a list of boxes (L, 4) for each of n pictures."""
    if len(boxes) != n:
        raise ShapeError(
            f"{function}: boxes for {len(boxes)} pictures, input has {n}: expected a tensor (L, 4) "
            "for each, with L = 0 for a picture without boxes"
        )
    for i, some in enumerate(boxes):
        check_regions(function, f"boxes[{i}]", some, 4)
    counts = [len(some) for some in boxes]
    arrays = [array_of(some) for some in boxes if len(some)]  # those of no boxes decide no format
    edges = np.concatenate(arrays) if arrays else np.empty((0, 4), float32)
    return edges, np.repeat(np.arange(n, dtype=np.int64), counts)


def with_numbers(function: str, n: int, boxes: Any) -> tuple[Any, Any]:
    """The same of boxes (K, 5) with the picture's number first."""
    if not is_array_like(boxes):
        raise DTypeError(
            f"{function}: boxes is a {type(boxes).__name__}: expected a list of tensors (L, 4), or "
            "a tensor (K, 5) whose first column is the picture's number"
        )
    check_regions(function, "boxes", boxes, 5)
    array = array_of(boxes)
    if is_on_device(array):
        return array[:, 1:], in_format(array[:, 0], np.dtype(np.int64))
    numbers = array[:, 0]
    wrong = ~((numbers >= 0) & (numbers < n) & (np.floor(numbers) == numbers))
    if wrong.any():
        row = int(wrong.argmax())
        raise ArgumentError(
            f"{function}: boxes[{row}] is in picture {numbers[row]:g}: expected 0 to {n - 1}"
        )
    return array[:, 1:], np.array(numbers, np.int64)


def check_regions(function: str, name: str, boxes: Any, columns: int) -> None:
    """Raise for what is no constant tensor of this many columns; warn where pixels are lost."""
    check_tensors(function, **{name: boxes})
    check_constants(function, **{name: boxes})
    if boxes.ndim != 2 or boxes.shape[1] != columns:
        expected = "(K, 5), with the picture's number first" if columns == 5 else "(L, 4)"
        raise ShapeError(f"{function}: {name} of shape {boxes.shape}: expected {expected}")
    warn_of_lost_pixels(function, name, getattr(boxes, "array", boxes)[:, columns - 4 :])


def check_regions_settings(function: str, output_size: Ints, spatial_scale: float) -> Any:
    """(rows, columns) of what is made of each region. Raises ShapeError or ArgumentError."""
    check_range(f"{function}: spatial_scale", spatial_scale)
    return as_sizes(output_size, f"{function}: output_size", 1, 2)
