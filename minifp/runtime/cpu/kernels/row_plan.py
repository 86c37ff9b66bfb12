"""The plan of a call of a formula of rows: how arguments come to lie as rows, and its chunks."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.derive.arrays import WHOLE_NUMBERS
from minifp.derive.axes import found
from minifp.derive.dtypes import name_of
from minifp.derive.rows import Rows
from minifp.runtime.cpu.emit.beside_text import BesideText, workspace_of
from minifp.runtime.cpu.emit.rows_text import FEW, RowText
from minifp.runtime.cpu.kernels import pool
from minifp.runtime.cpu.kernels.pointwise import DEAR, FLOAT32, UNCOUNTED
from minifp.runtime.cpu.threads import get_num_threads

WORTH = 8192  # numbers that are worth a chunk
WIDE = 16384  # numbers of rows beside each other that are worth one: half of the L2 cache
NANOSECONDS = 0.01  # an operation on an element; a pass takes as long as ten


def cost_of(formula: Rows) -> int:
    """How many operations an element takes."""
    return sum(DEAR.get(n.op, 1) for n in formula.nodes if formula.extent.get(n) == "e")


class Plan:
    """A call of one formula, for arrays of these shapes."""

    def __init__(self, kernel_of: Callable[..., Any], formula: Rows, arrays: dict, outs: tuple,
                 settings: dict) -> None:  # fmt: skip
        self.formula, self.outs, self.numbers = formula, outs, formula.told(settings)
        self.early = None
        if formula.early is not None:
            single = (FLOAT32,) * len(formula.early_nodes)
            self.early = Plan(kernel_of, formula.early, arrays, single, settings)
        sizes = formula.sizes(settings[""])
        across = [a for a in formula.axes if a not in formula.along]
        self.order = [*across, *[a for a in formula.axes if a in formula.along]]
        self.sizes = sizes
        self.rows = math.prod(sizes[a] for a in across)
        self.n = math.prod(sizes[a] for a in formula.along)
        if not formula.along:
            takes = [n.value for n in formula.nodes if n.op == "take"]
            self.n = max([sizes[found(a)] for a in takes], default=1)
        self.step = self._step()
        if self.step > 1:
            self.order = [*formula.axes]
        self.is_moved = self.order != [*formula.axes]
        self.arguments = [
            self._argument(k, dtype, name_of(arrays[k].dtype)) for k, dtype in formula.loads.items()
        ]
        written = [self._result(axes) for axes in formula.shapes]
        self.results = [(shape, dtype) for (shape, _), dtype in zip(written, outs)]
        self.back = [back for _, back in written] if self.is_moved else None
        self.kernel = kernel_of(formula, outs, BesideText if self.step > 1 else RowText)
        self._divide()

    def _step(self):
        """How far the numbers of a row are apart, where they can lie as they are; or 1."""
        axes, along = self.formula.axes, self.formula.along
        places = [i for i, a in enumerate(axes) if a in along and self.sizes[a] > 1]
        if not places or any(self.formula.extent[n] == "k" for n in self.formula.late):
            return 1
        between = axes[places[0] : places[-1] + 1]
        if any(a not in along and self.sizes[a] > 1 for a in between):
            return 1
        return math.prod(self.sizes[a] for a in axes[places[-1] + 1 :])

    def _divide(self):
        """Chunks, from shapes alone: see pool.py."""
        formula, total = self.formula, self.rows * (self.n if self.formula.has_elements else 1)
        columns = sum(formula.extent[n] == "k" for n in formula.late)
        if self.step > 1:
            per = min(self.step, max(16, WIDE // self.n))
            self.chunks = self.rows // self.step * -(-self.step // per)
            self.workspace = workspace_of(formula, self.n, per)
        else:
            least = max(WORTH * self.rows // max(total, 1), 2 * FEW if columns else 1)
            self.chunks, per = pool.spans(self.rows, least)
            self.workspace = (len(formula.kept) + columns) * self.n
        self.numbers_of_chunks = per, self.step if self.step > 1 else self.rows, self.n
        self.parts = self.chunks * (len(formula.late) - columns + columns * self.n)
        work = total * NANOSECONDS * (10 * (formula.passes + 1) + cost_of(formula))
        counts = bool(formula.late) or "c" in formula.forms  # what adds the chunks' sums up
        self.is_small = self.chunks == 1 and not self.workspace and not counts
        self.is_large = self.chunks > 1 and work > pool.WORTH_A_THREAD

    def _argument(self, k, dtype, actual):
        """(k, what brings it into rows, or None for what lies so if it is contiguous)."""
        formula, own = self.formula, self.formula.arguments[k]
        extent = next(
            formula.extent[n] for n in formula.nodes if n.op == "load" and n.value[0] == k
        )
        known = [a for a in own if a is not None]
        if any(a not in self.order for a in known) or extent == "c":
            order = known  # what is taken from
        elif extent == "e":
            order = self.order
        else:
            order = [a for a in self.order if (a in formula.along) == (extent == "k")]
        wanted = tuple([self.sizes[a] for a in order])
        if known == order and actual == dtype:
            return k, None
        by_place = [own.index(a) for a in order if a in own]
        ones = tuple([self.sizes[a] if a in own else 1 for a in order])

        def rows(x):
            x = x.transpose([*by_place, *[i for i in range(x.ndim) if i not in by_place]])
            x = np.broadcast_to(x.reshape(ones), wanted)
            return np.ascontiguousarray(x, np.int64 if dtype == WHOLE_NUMBERS else None)

        return k, rows

    def _result(self, axes):
        """(shape as it is written, what brings it into its own)."""
        own = [a for a in axes if a is not None]
        shape = tuple([1 if a is None else self.sizes[a] for a in axes])
        order = [a for a in self.order if a in own]
        if own == order:
            return shape, lambda y: y
        written = tuple([self.sizes[a] for a in order])
        back = [order.index(a) for a in own]
        return written, lambda y: np.ascontiguousarray(y.transpose(back)).reshape(shape)

    def __call__(self, *args: Any) -> Any:
        """The results."""
        arrays = []
        for k, rows in self.arguments:
            x = args[k]
            if rows is not None:
                x = rows(x)
            elif not (x.flags.carray or x.flags.c_contiguous and x.flags.aligned):
                x = np.array(x, order="C")
            arrays.append(x)
        if self.early is not None:
            arrays += self.early(*args)
        results = [np.empty(shape, dtype) for shape, dtype in self.results]
        parts = np.empty(self.parts) if self.parts else pool.NOTHING
        rest = (*self.numbers_of_chunks, parts, *arrays, *results, *self.numbers)
        if self.is_large and get_num_threads() > 1:
            helpers = min(get_num_threads(), self.chunks) - 1
            pool.POOL.run(self.kernel, self.chunks, rest, self.workspace, helpers)
        elif self.is_small:
            self.kernel(UNCOUNTED, 1, pool.NOTHING, *rest)
        else:
            counter, scratch = pool.at_hand(self.workspace)
            self.kernel(counter, self.chunks, scratch, *rest)
        if self.back is not None:
            results = [back(y) for y, back in zip(results, self.back)]
        return tuple(results) if self.formula.several else results[0]
