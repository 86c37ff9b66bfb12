"""Formulas of rows on a GPU: one kernel for what goes along rows, and sums over rows behind it.

Arrays are read as they lie. Rows that are few, and too long for the threads that share one, are
summed as whole arrays are, by many blocks: each sum by a launch of its own.
"""

import math
from functools import cache
from typing import Any

import numpy as np

from minifp.derive.arrays import SCANS
from minifp.derive.axes import found
from minifp.derive.graph import Node, Untraceable
from minifp.derive.rows import Rows
from minifp.runtime.cuda.arrays import (
    collapsed,
    empty,
    is_aligned,
    is_on_device,
    restrided,
    steps_of,
)
from minifp.runtime.cuda.pointwise import (
    F32,
    FEW,
    entered,
    in_format,
    is_inner,
    padded,
    reduced,
    stored,
)
from minifp.runtime.cuda.row_text import PLACED, Layout, Result, RowText, tables_of
from minifp.runtime.cuda.rows import CHUNK, group_of
from minifp.runtime.cuda.source import THREADS, blocks_for, module_of
from minifp.runtime.row_calls import RowCalls

WHOLE = np.dtype("int64")  # class numbers
HELD = (1, 4)  # chunks of a row that a thread may hold
ROOM = 192  # bytes of them, in a thread's registers
FEW_ROWS = 256  # with which a GPU is not busy


class DeviceRows(RowCalls):
    """The compiled kernel on a GPU."""

    def __call__(self, *args: Any, to: Any, **settings: Any) -> Any:
        args = tuple([_as_taken(entered(a)) for a in args])
        kinds = [(a.dtype, a.shape, a.strides) if is_on_device(a) else a for a in args]
        key = *kinds, *to, *settings.items()
        try:
            plan = self.plans[key]
        except KeyError:
            plan = self.plan(key, args, to, settings)
        except TypeError:  # a setting that cannot be a key
            return None
        return None if plan is None else plan(*args)

    def plan_of(self, formula: Rows, arrays: dict, outs: tuple, settings: dict[str, Any]) -> Any:
        """The plan of a call of a formula. Raises Untraceable for what has none."""
        return Plan(formula, arrays, outs, settings)


def _as_taken(a):
    return in_format(a, WHOLE) if is_on_device(a) and a.dtype.kind in "iu" else a


def check(formula: Rows) -> None:
    """Raise Untraceable for a formula of which no kernels for a GPU are made."""
    ops = {n.op for n in formula.nodes}
    if not ops.isdisjoint({"product", *SCANS}):
        raise Untraceable("it multiplies along an axis, or adds up what is there so far")
    if not formula.loads:
        raise Untraceable("its result is of no array")
    if not formula.rows:
        return
    if len(formula.along) > 1 and not ops.isdisjoint(PLACED):
        raise Untraceable("it takes elements of rows that have several axes")
    if formula.early is not None:
        check(formula.early)
    known = {m: k for k, m in enumerate([*lines_of(formula), *formula.early_nodes, *formula.late])}
    ends = [n for n, form in zip(formula.results, formula.forms) if form in "kc"]
    for n in (*[n.args[0] for n in formula.late], *ends):
        part = formula.part(n, known)
        if not part.loads or is_placed(part):
            raise Untraceable("it takes elements of what is added up over rows")


def is_placed(formula: Any) -> bool:
    """Whether a formula has to do with the place of an element."""
    return any(n.op in PLACED for n in formula.nodes)


def lines_of(formula: Rows) -> list[Node]:
    """Of which a row has one number, and sums over rows are made."""
    lines: dict[Node, None] = {}
    for n in formula.late:
        addend = n.args[0]
        is_line = formula.along or is_placed(formula.part(addend, {}))
        is_line = is_line and formula.extent[addend] == "r"
        lines |= dict.fromkeys([addend] if is_line else formula.lines_in(addend))
    return [*lines]


class Plan:
    """A call of one formula, for arrays of these formats and strides.

    lines: what the kernel stores beside results. launch: of the kernel; None where each sum has one
    of its own.
    """

    def __init__(self, formula: Rows, arrays: dict, outs: tuple, settings: dict) -> None:
        check(formula)
        self.formula, self.outs, self.settings = formula, outs, settings
        self.sizes, self.parts = formula.sizes(settings[""]), dict[Any, Any]()
        self.early, self.launch, self.lines = None, None, list[Node]()
        if not formula.rows:
            return
        if formula.early is not None:
            single = (F32,) * len(formula.early_nodes)
            self.early = Plan(formula.early, arrays, single, settings)
        read = {a for n in formula.nodes for a in n.args}
        self.stored = {n: d for n, d in zip(formula.results, outs) if n not in read}
        results = results_of(formula, outs)
        self.lines = [r.node for r in results if r.name[0] == "w"]
        if results:
            across = tuple([a for a in formula.axes if a not in formula.along])
            launch = Launch(self, arrays, across, results)
            self.launch = launch if launch.is_one or is_placed(formula) else None

    def shape(self, axes: tuple) -> tuple[int, ...]:
        """How long axes are."""
        return tuple([1 if a is None else self.sizes[a] for a in axes])

    def __call__(self, *args: Any) -> Any:
        """The results."""
        formula, numbers = self.formula, Numbers(self, args)
        written: Any = ()
        if self.early is not None:
            for n, y in zip(formula.early_nodes, self.early(*args)):
                numbers.learn(n, y, ())
        if self.launch is not None:
            written = self.launch(numbers)
            for n, y in zip(self.lines[::-1], written[::-1]):
                numbers.learn(n, y, self.launch.across)
        elif formula.rows:
            for n in formula.row_sums:
                numbers.reduce(n, F32)
        if formula.rows:
            for n in formula.late:
                numbers.reduce(n, self.stored.get(n, F32))
        results = {r.name: y for r, y in zip(self.launch.results if self.launch else (), written)}
        several = [
            results[f"y{i}"] if f"y{i}" in results else numbers.stored(*of)
            for i, of in enumerate(zip(formula.results, formula.shapes, self.outs))
        ]
        return tuple(several) if formula.several else several[0]


def results_of(formula: Rows, outs: tuple) -> list[Result]:
    """What the kernel of a formula stores: results, and lines."""
    across = tuple([a for a in formula.axes if a not in formula.along])
    of = zip(formula.results, formula.forms, formula.shapes, outs)
    results = [Result(f"y{i}", *r) for i, r in enumerate(of) if r[1] in "er"]
    return results + [Result(f"w{i}", n, "r", across, F32) for i, n in enumerate(lines_of(formula))]


def example_text(formula: Rows, outs: list[str]) -> str:
    """The text of the kernel for rows in one piece, read in chunks as they come."""
    results = results_of(formula, tuple(map(np.dtype, outs)))
    return text_of(formula, tuple(results), Layout((1, 1), 32, True, 0, False, False))


class Numbers:
    """What is known in a call: arguments, and what was computed of them, with its axes."""

    def __init__(self, plan: Plan, args: tuple) -> None:
        self.plan, self.places = plan, dict[Node, int]()
        of = plan.formula.arguments
        self.arrays = {k: (args[k], of[k]) for k in plan.formula.loads}

    def learn(self, node: Node, y: Any, axes: tuple) -> None:
        """Know a node, along these axes."""
        self.places[node] = max(self.arrays, default=0) + 1
        self.arrays[self.places[node]] = y, axes

    def part(self, node: Node, axes: tuple) -> tuple[Any, list]:
        """The formula of a node, of what is known, and the arrays that it reads along axes."""
        parts = self.plan.parts
        if (node, axes) not in parts:
            parts[node, axes] = self.plan.formula.part(node, self.places)
        part = parts[node, axes]
        return part, [self.view(k, axes) for k in part.loads]

    def view(self, k: int, axes: tuple) -> Any:
        """An array as it lies along axes of the call."""
        x, own = self.arrays[k]
        steps = dict(zip(own, x.strides))
        shape = tuple([self.plan.sizes[a] if a in steps else 1 for a in axes])
        return restrided(x, shape, tuple([steps.get(a, 0) for a in axes]))

    def reduce(self, n: Node, dtype: Any) -> None:
        """Know a sum, of what is known."""
        gone, left = n.value
        axes = tuple([a for a in self.plan.formula.axes if a in {*map(found, gone + left)}])
        summed = tuple([axes.index(a) for a in map(found, gone) if a is not None])
        part, arrays = self.part(n.args[0], axes)
        whole, settings = self.plan.shape(axes), self.plan.settings
        y = reduced(part, arrays, whole, summed, dtype, settings, 1.0, n.op)
        self.learn(n, y, tuple([a for i, a in enumerate(axes) if i not in summed]))

    def stored(self, node: Node, axes: tuple, dtype: Any) -> Any:
        """A result, of what is known."""
        own, shape = tuple([a for a in axes if a is not None]), self.plan.shape(axes)
        if node in self.places:
            y, known = self.arrays[self.places[node]]
            if y.dtype == dtype and known == own:
                return y.reshape(shape)
        part, arrays = self.part(node, own)
        y = stored(part, arrays, self.plan.shape(own), dtype, None, self.plan.settings)
        return y.reshape(shape)


class Launch:
    """The launch of the kernel of rows: see rows.cu. across: the axes of rows.

    is_one: whether it is better than one for each sum.
    """

    def __init__(self, plan: Plan, arrays: dict, across: tuple, results: list[Result]) -> None:
        formula, sizes = plan.formula, plan.sizes
        self.plan, self.across, self.results = plan, across, results
        along = tuple([a for a in formula.axes if a in formula.along])
        self.rows, self.n = (math.prod(plan.shape(axes)) for axes in (across, along))
        if not self.n and is_placed(formula):
            raise Untraceable("it takes elements of rows that have none")
        steps = [
            dict(zip(formula.arguments[k], steps_of(arrays[k], arrays[k].shape)))
            for k in formula.loads
        ]
        steps += [dict(zip(r.axes, _steps(plan.shape(r.axes)))) for r in results]
        self.loads = [i for i, k in enumerate(formula.loads) if formula.loaded[k] in "ek"]
        elements = self.loads + [
            i + len(formula.loads) for i, r in enumerate(results) if r.form == "e"
        ]
        main = steps[elements[0]] if elements else {}
        order = along + across
        is_along = is_inner(
            plan.shape(order), [main.get(a, 0) for a in order], tuple(range(len(along)))
        )
        group = group_of(self.n, is_along)
        places = [
            padded(*collapsed(plan.shape(axes), [[s.get(a, 0) for a in axes] for s in steps]))
            for axes in (across, along)
        ]
        if None in places:
            raise Untraceable("it has more than 12 axes")
        (outer, kept), (inner, reduced) = places

        def is_packed(i):
            far, near = kept[1 + i :: 1 + len(steps)], reduced[1 + i :: 1 + len(steps)]
            return near == [1] and not any(s % CHUNK for s in far)

        self.can_pack = is_along and self.n % CHUNK == 0 and all(map(is_packed, elements))
        need = -(-self.n // (CHUNK * group))
        self.is_one = self.rows >= FEW_ROWS or need <= HELD[-1]
        bytes = sum(arrays[k].itemsize for k, extent in formula.loaded.items() if extent == "e")
        bytes += 4 * len(formula.kept)
        held = next((h for h in HELD if need <= h and h * CHUNK * bytes <= ROOM), 0)
        held *= formula.passes + any(r.form == "e" for r in results) > 1
        self.layout = Layout(
            (outer, inner), group, is_along, held, False, max(self.rows, self.n) >= FEW
        )
        places_of_tables = [
            n
            for k, a in tables_of(formula).items()
            for n in (sizes[a], steps[[*formula.loads].index(k)][a])
        ]
        self.told = self.rows, self.n, *kept, *reduced, *places_of_tables
        self.numbers = tuple(map(float, formula.told(plan.settings)))

    def __call__(self, numbers: Numbers) -> list:
        """The results."""
        formula, plan = self.plan.formula, self.plan
        ys = [empty(plan.shape(r.axes), r.dtype) for r in self.results]
        if not self.rows:
            return ys
        arrays = [numbers.arrays[k][0] for k in formula.loads]
        early = [numbers.arrays[numbers.places[n]][0] for n in formula.early_nodes]
        is_packed = self.can_pack and all(is_aligned(arrays[i]) for i in self.loads)
        text = text_of(formula, tuple(self.results), self.layout._replace(is_packed=is_packed))
        blocks = blocks_for(self.rows, THREADS // self.layout.group)
        module_of(text).launch(
            "by_rows", blocks, THREADS, *self.told, *arrays, *early, *ys, *self.numbers
        )
        return ys


def _steps(shape):
    """How many elements lie between neighbours along each axis of an array in C order."""
    return [0 if n == 1 else math.prod(shape[i + 1 :]) for i, n in enumerate(shape)]


@cache
def text_of(formula: Rows, results: tuple[Result, ...], layout: Layout) -> str:
    """The text of the kernel."""
    return RowText(formula, results, layout).text()
