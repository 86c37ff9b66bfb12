"""Boxes that stand at every cell of feature maps: what default boxes and anchors have in common."""

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from minifp.errors import ArgumentError
from minifp.nn.detection.coordinates import coordinate_format

KEPT = 8  # sizes of pictures whose boxes are kept


class GridBoxes:
    """Called with the sizes of a picture and of its feature maps, the boxes of all cells.

    of_cell: of each feature map an array with a row for each box of a cell. Subclasses set it, and
    define `of_map`.
    """

    of_cell: list[np.ndarray]

    def __init__(self) -> None:
        self.kept: dict[tuple, np.ndarray] = {}

    def num_anchors_per_location(self) -> list[int]:
        """How many boxes a cell of each feature map has."""
        return [len(boxes) for boxes in self.of_cell]

    def __call__(
        self, image_size: tuple[int, int], grid_sizes: Sequence[tuple[int, int]]
    ) -> np.ndarray:
        """The boxes (A, 4) as x1, y1, x2, y2 in pixels, map by map, row by row, cell by cell.

        image_size: (height, width) in pixels. grid_sizes: (rows, columns) of each feature map. The
        array is kept, and cannot be written to. Raises ArgumentError for another number of maps.
        """
        if len(grid_sizes) != len(self.of_cell):
            raise ArgumentError(
                f"{type(self).__name__} for {len(self.of_cell)} feature maps was given "
                f"{len(grid_sizes)}: expected one for each of its aspect_ratios"
            )
        key = (*image_size, *map(tuple, grid_sizes), coordinate_format())
        if key not in self.kept:
            if len(self.kept) == KEPT:
                self.kept.clear()
            maps = [self.of_map(k, image_size, grid) for k, grid in enumerate(grid_sizes)]
            self.kept[key] = np.concatenate(maps)
            self.kept[key].flags.writeable = False
        return self.kept[key]

    def of_map(self, k: int, image_size: tuple[int, int], grid: tuple[int, int]) -> np.ndarray:
        """The boxes of all cells of feature map k, (A, 4)."""
        raise NotImplementedError


def pairs(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(x, y) of each cell, row by row, (cells, 1, 2), of those of the rows and of the columns."""
    return np.stack(np.broadcast_arrays(x, y[:, None]), 2).reshape(-1, 1, 2)


def check_positives(name: str, values: Sequence[float], count: int | None = None) -> None:
    """Raise ArgumentError unless these are so many finite numbers above 0."""
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        raise ArgumentError(f"{name}: {values!r}: expected a list of numbers for each feature map")
    if count is not None and len(values) != count:
        raise ArgumentError(f"{name}: {len(values)} numbers, expected {count}")
    for value in values:
        if not isinstance(value, Real) or not 0 < value < math.inf:
            raise ArgumentError(f"{name}: {value!r}: expected numbers above 0")
