"""Rows on a GPU: how many threads share one.

See the end of common.cuh.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from minifp.runtime.cuda.source import THREADS, blocks_for
from minifp.runtime.shapes import as_one

CHUNK = 8  # elements that a thread takes at once, as in common.cuh
# The threads that share a row up to so long: whose elements lie side by side, or beside which
# others do.
ALONG = ((CHUNK, 1), (1024, 32), (math.inf, THREADS))
ACROSS = ((32, 1), (512, 8), (math.inf, 16))


def group_of(n: int, is_along: bool) -> int:
    """How many threads share a row of n elements. is_along: whether they lie side by side."""
    return next(group for most, group in (ALONG if is_along else ACROSS) if n <= most)


class Rows(NamedTuple):
    """rows of n elements that lie `step` apart, along an axis of an array in C order."""

    rows: int
    n: int
    step: int
    group: int  # threads that share a row

    @property
    def blocks(self) -> int:
        """How many blocks take all rows."""
        return blocks_for(self.rows, THREADS // self.group)


def rows_along(shape: tuple[int, ...], axis: int) -> Rows:
    """The rows along an axis of a shape: none of its sizes is 0."""
    axis %= len(shape)
    n, step = shape[axis], math.prod(shape[axis + 1 :])
    return Rows(math.prod(shape) // n, n, step, group_of(n, step == 1))


def contiguous(x: Any) -> Any:
    """x, or a copy of it in C order."""
    return x if x.flags.c_contiguous else x.copy()


def as_three(x: Any, axes: tuple[int, ...]) -> Any:
    """x (A, n, D), with the numbers that are reduced along the middle axis."""
    if axes != tuple(range(axes[0], axes[0] + len(axes))):
        x = np.moveaxis(x, axes, range(-len(axes), 0))
        axes = tuple(range(x.ndim - len(axes), x.ndim))
    return as_one(contiguous(x), axes[0], len(axes))


def as_before(dx: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """What `as_three` made an array with three axes of, in its shape again."""
    if axes == tuple(range(axes[0], axes[0] + len(axes))):
        return dx.reshape(shape)
    others = [i for i in range(len(shape)) if i not in axes]
    dx = dx.reshape([shape[i] for i in (*others, *axes)])
    return contiguous(np.moveaxis(dx, range(-len(axes), 0), axes))
