"""Gradients on a GPU, each where backward left it, gathered in one array for each block."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from minifp.optim.block import Gradients
from minifp.optim.block_cuda import filled
from minifp.runtime.cuda.arrays import empty
from minifp.runtime.cuda.source import THREADS, Text, module_of, type_of

GATHER = Text(__name__, "gather.cu")
MOST, CHUNK = 24, 8192  # gradients of one launch; elements of one block of threads
NEVER = 2**40  # the first block of threads of a gradient that there is not


class Gathered:
    """Where gradients of these sizes and formats are gathered: the same places in every step.

    flats: an array for each block of parameters. squares: (n), the sum of squares of each chunk.
    """

    def __init__(self, blocks: Sequence[Gradients]) -> None:
        count = sum(_chunks(a) for block in blocks for a in block.arrays)
        sizes = [sum(a.size for a in block.arrays) for block in blocks]
        self.flats = [empty((n,), b.arrays[0].dtype) for n, b in zip(sizes, blocks)]
        self.squares = empty((max(1, count),), np.float64)
        self.is_empty = not count

    def take(self, blocks: Sequence[Gradients], not_finite: Any, largest: Any) -> None:
        """Copy these gradients, sum up their squares, and flag those that are not finite.

        not_finite: (all parameters), integers; those of other optimizers' lie behind these.
        largest: (1), the bits of the largest |element| so far, as float32, in an integer.
        """
        if self.is_empty:
            self.squares.fill(0)
        done = first = 0
        for block, flat in zip(blocks, self.flats):
            module, start = gather_of(flat.dtype), 0
            for k in range(0, len(block.arrays), MOST):
                some = block.arrays[k : k + MOST]
                threads, arguments = _arguments(some, start)
                if threads:
                    places = flat, self.squares[done:], not_finite[first + k :], largest
                    module.launch("gather", threads, THREADS, *places, *arguments)
                done, start = done + threads, start + sum(a.size for a in some)
            first += len(block.arrays)


def _arguments(some, start):
    """How many blocks of threads there are for some gradients, and of each gradient: itself, the
    first of its blocks, and where in the flat array it begins and how much of it there is."""
    arguments, threads = [], 0
    for a in some:
        arguments += [a if a.flags.c_contiguous else a.copy(), threads, start, a.size]
        threads, start = threads + _chunks(a), start + a.size
    nothing = [arguments[0], NEVER, start, 0]
    return threads, arguments + nothing * (MOST - len(some))


def _chunks(a):
    return -(-a.size // CHUNK)


def gather_of(dtype: Any) -> Any:
    """The module of the kernel that gathers gradients of a format."""
    pointers = "".join(f", const G *x_{k}, size b_{k}, size s_{k}, size n_{k}" for k in range(MOST))
    find = [
        f"if (block >= b_{k}) {{ x = x_{k}; chunk = block - b_{k}; start = s_{k}; n = n_{k}; "
        f"k = {k}; }}"
        for k in range(MOST)
    ]
    text = filled(GATHER.read(), {"POINTERS": pointers, "FIND": "\n  ".join(find)})
    types = [f"typedef {type_of(dtype)} G;", f"#define CHUNK {CHUNK}", f"#define THREADS {THREADS}"]
    return module_of("\n".join([*types, text]))
