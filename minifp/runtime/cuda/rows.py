"""Kernels that go along rows: how many threads share one, and whether 16 bytes are read at once.

See the end of common.cuh. A row is what lies along one axis of a C-contiguous array.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from minifp.runtime.cuda.arrays import cupy, is_aligned
from minifp.runtime.cuda.source import THREADS, blocks_for
from minifp.runtime.shapes import as_one

CHUNK = 8  # elements that a thread takes at once, as in common.cuh
# For rows up to this long: the threads that share one, and the threads of a block. First for rows
# whose elements lie side by side, then for those that lie beside each other themselves.
ALONG = ((CHUNK, 1, THREADS), (1024, 32, THREADS), (8192, THREADS, THREADS), (math.inf, 512, 512))
ACROSS = ((32, 1, THREADS), (512, 8, THREADS), (math.inf, 16, 512))


class Rows(NamedTuple):
    """rows of n elements that lie `step` apart: the sizes, and the launch of a kernel."""

    rows: int
    n: int
    step: int
    group: int  # threads that share a row
    threads: int  # of a block

    @property
    def blocks(self) -> int:
        """How many blocks take all rows."""
        return blocks_for(self.rows, self.threads // self.group)

    @property
    def sizes(self) -> tuple:
        """What a kernel is told."""
        return self.rows, self.n, self.step, self.group

    def packed(self, *arrays: Any) -> int:
        """1 where chunks of all arrays can be read as packs, or else 0."""
        return int(self.step == 1 and self.n % CHUNK == 0 and all(map(is_aligned, arrays)))


def rows_along(shape: tuple[int, ...], axis: int) -> Rows:
    """The rows along an axis of a shape: none of its sizes is 0."""
    axis %= len(shape)
    n, step = shape[axis], math.prod(shape[axis + 1 :])
    rows = math.prod(shape) // n
    return Rows(rows, n, step, *threads_of(n, step == 1))


def threads_of(n: int, is_along: bool) -> tuple[int, int]:
    """(threads that share a row of n elements, threads of a block). is_along: whether elements of a
    row lie side by side, or else rows do."""
    return next(g for g in (ALONG if is_along else ACROSS) if n <= g[0])[1:]


def contiguous(x: Any) -> Any:
    """x, or a copy of it in C order."""
    return cupy().ascontiguousarray(x)


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
