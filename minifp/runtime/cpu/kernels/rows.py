"""Formulas of rows on the CPU: calls are planned, once for each of their shapes.

A plan says how arguments are brought into rows one behind the other, what is allocated, and how
many chunks there are. Kernels are compiled for formats, not for shapes.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.derive.arrays import WHOLE_NUMBERS
from minifp.derive.axes import found
from minifp.derive.dtypes import name_of
from minifp.derive.rows import Rows
from minifp.runtime.cpu import kernels_mode, threads
from minifp.runtime.cpu.compile.machine import kernel_of
from minifp.runtime.cpu.emit.beside_text import BesideText, workspace_of
from minifp.runtime.cpu.emit.row_code import NAME
from minifp.runtime.cpu.emit.rows_text import FEW, RowText
from minifp.runtime.cpu.kernels import pool
from minifp.runtime.cpu.kernels.checked import Typed
from minifp.runtime.cpu.kernels.pointwise import DEAR, FLOAT32, UNCOUNTED, Pointwise
from minifp.runtime.row_calls import RowCalls
from minifp.typing import Function

PLAIN = (np.ndarray, int, float, type(None))


class RowKernel(RowCalls):
    """The compiled kernel on the CPU."""

    def __init__(self, reference: Callable[..., Any], out: tuple[str, ...]) -> None:
        super().__init__(reference, out)
        self.kernels: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *args: Any, to: Any, **settings: Any) -> Any:
        key = (
            *[(a.dtype, a.shape) if type(a) is np.ndarray else a for a in args],
            *to,
            *settings.items(),
        )
        try:
            plan = self.plans[key]
        except KeyError:
            plan = self.plan(key, args, to, settings)
        except TypeError:  # a setting that cannot be a key
            return None
        return None if plan is None else plan(*args)

    def new_plan(self, args: tuple, to: tuple, settings: dict[str, Any]) -> Any:
        """See RowCalls."""
        return super().new_plan(args, to, settings) if all(type(a) in PLAIN for a in args) else None

    def plan_of(self, formula: Rows, arrays: dict, outs: tuple, settings: dict[str, Any]) -> Any:
        """The plan of a call of a formula, or None."""
        shapes = settings[""]
        if any(0 in shape for shape in shapes.values()):
            return self.empty(formula, outs, shapes)
        if not formula.rows:
            return self.pointwise(formula, outs, settings)
        return Plan(self.kernel, formula, arrays, outs, settings)

    def empty(self, formula: Rows, outs: tuple, shapes: dict) -> Any:
        """What makes results of no numbers; None where they have some."""
        sizes = formula.sizes(shapes)
        several = [tuple([1 if a is None else sizes[a] for a in axes]) for axes in formula.shapes]

        def run(*args):
            results = tuple([np.empty(shape, dtype) for shape, dtype in zip(several, outs)])
            return results if formula.several else results[0]

        return run if all(0 in shape for shape in several) else None

    def pointwise(self, formula: Rows, to: tuple, settings: dict) -> Any:
        """What computes a formula that reduces nothing."""
        (axes, *others), kernels = formula.shapes, Pointwise(self.formulas, None)  # type: ignore
        sizes = formula.sizes(settings[""])
        shape = tuple([1 if a is None else sizes[a] for a in axes])
        wanted = {k: _beside(own, axes, sizes) for k, own in formula.arguments.items()}

        def run(*args):
            arrays = [args[k].reshape(wanted[k]) for k in formula.loads]
            ys = kernels.run(formula, arrays, to, settings)
            ys = [y if y.shape == shape else np.broadcast_to(y, shape).copy() for y in ys]
            return tuple(ys) if formula.several else ys[0]

        return run if all(o == axes for o in others) and None not in wanted.values() else None

    def kernel(self, formula: Rows, outs: tuple, writer: type[RowText]) -> Callable[..., Any]:
        """What is called of a formula."""
        key = formula, outs, writer
        if key not in self.kernels:
            written = writer(formula, tuple([name_of(d) for d in outs]))
            kernel = kernel_of(NAME, written.text(), self.__name__)
            if kernels_mode() == "checked":
                kernel = Typed(kernel, self.__name__, written.code.dtypes)
            self.kernels[key] = kernel
        return self.kernels[key]


def _beside(own, axes, sizes):
    """The shape of an array of axes `own` as it broadcasts to `axes`; None if they lie in another
    order."""
    if [a for a in own if a is not None] != [a for a in axes if a is not None and a in own]:
        return None
    return tuple([sizes[a] if a is not None and a in own else 1 for a in axes])


# ---- plans ---------------------------------------------------------------------------------------

WORTH = 8192  # numbers that are worth a chunk
WIDE = 16384  # numbers of rows beside each other that are worth one: half of the L2 cache
NANOSECONDS = 0.01  # an operation on an element; a pass takes as long as ten


def cost_of(formula: Rows) -> int:
    """How many operations an element takes."""
    return sum(DEAR.get(n.op, 1) for n in formula.nodes if formula.extent.get(n) == "e")


class Plan:
    """A call of one formula, for arrays of these shapes."""

    def __init__(
        self, kernel_of: Function, formula: Rows, arrays: dict, outs: tuple, settings: dict
    ) -> None:
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
        if self.is_large and threads.number > 1:
            pool.POOL.run(self.kernel, self.chunks, rest, self.workspace)
        elif self.is_small:
            self.kernel(UNCOUNTED, 1, pool.NOTHING, *rest)
        else:
            counter, scratch = pool.at_hand(self.workspace)
            self.kernel(counter, self.chunks, scratch, *rest)
        if self.back is not None:
            results = [back(y) for y, back in zip(results, self.back)]
        return tuple(results) if self.formula.several else results[0]
