"""Formulas of rows on the CPU: calls are planned, once for each of their shapes.

A plan says how arguments are brought into rows one behind the other, what is allocated, and how
many chunks there are. Kernels are compiled for formats, not for shapes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.derive.arrays import WHOLE_NUMBERS
from minifp.derive.rows import Rows
from minifp.derive.trace_rows import RowFormulas
from minifp.runtime.cpu import kernels_mode
from minifp.runtime.cpu.checked import Typed
from minifp.runtime.cpu.machine import kernel_of
from minifp.runtime.cpu.pointwise import FLOAT32, FLOATS, Pointwise
from minifp.runtime.cpu.row_code import NAME
from minifp.runtime.cpu.row_plan import Plan, sizes_of
from minifp.runtime.cpu.rows_text import RowText

MOST = 4096  # plans that are remembered
COUNTED = 2**24  # places that float32 can name
PLAIN = (np.ndarray, int, float, type(None))


class RowKernel:
    """The compiled kernel of what reduces along axes: see Kernel.compiled.

    out: the words of the rule for the formats of results, where a call does not say them.
    """

    def __init__(self, reference: Callable[..., Any], out: tuple[str, ...]) -> None:
        self.formulas, self.out = RowFormulas(reference), out
        self.plans: dict[Any, Any] = {}
        self.kernels: dict[Any, Callable[..., Any]] = {}
        self.__name__, self.__doc__ = reference.__name__, reference.__doc__

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

    def plan(self, key: Any, args: tuple, to: tuple, settings: dict[str, Any]) -> Any:
        """The plan of a call, or None for what has none."""
        if not all(type(a) in PLAIN for a in args):
            return None
        if len(self.plans) > MOST:
            self.plans.clear()
        self.plans[key] = plan = self.new_plan(args, to, settings)
        return plan

    def new_plan(self, args: tuple, to: tuple, settings: dict[str, Any]) -> Any:
        """The same, made anew."""
        arrays = {k: a for k, a in enumerate(args) if type(a) is np.ndarray}
        shapes: dict[Any, Any] = {k: a.shape for k, a in arrays.items()}
        shapes |= {"shape": settings["shape"]} if "shape" in settings else {}
        numbers = {n: a for n, a in zip(self.formulas.arguments, args) if type(a) in (int, float)}
        settings = settings | numbers | {"": shapes}
        formula = self.formulas(list(args), settings)
        if formula is None:
            return None
        outs = self.formats(formula, args, to)
        if outs is None:
            return None
        if any(0 in shape for shape in shapes.values()):
            return self.empty(formula, outs, shapes)
        if WHOLE_NUMBERS in formula.loads.values() and COUNTED < max(sum(shapes.values(), ())):
            return None
        if not formula.rows:
            return self.pointwise(formula, outs, settings)
        return Plan(self.kernel, formula, arrays, outs, settings)

    def empty(self, formula: Rows, outs: tuple, shapes: dict) -> Any:
        """What makes results of no numbers; None where they have some."""
        sizes = sizes_of(formula, shapes)
        several = [tuple([1 if a is None else sizes[a] for a in axes]) for axes in formula.shapes]

        def run(*args):
            results = tuple([np.empty(shape, dtype) for shape, dtype in zip(several, outs)])
            return results if formula.several else results[0]

        return run if all(0 in shape for shape in several) else None

    def formats(self, formula: Rows, args: tuple, to: tuple) -> tuple | None:
        """In what results are stored; None for what is not ours."""
        named = dict(zip(self.formulas.arguments, args))
        by_rule = [
            np.result_type(*[named[w].dtype for w in out.split()]) if out.split()[0] in named
            else FLOAT32 for out in self.out
        ]  # fmt: skip
        outs = tuple([
            dtype or (rule if shape else FLOAT32)
            for dtype, rule, shape in zip(to, by_rule, formula.shapes)
        ])  # fmt: skip
        return outs if FLOATS.issuperset(outs) else None

    def pointwise(self, formula: Rows, to: tuple, settings: dict) -> Any:
        """What computes a formula that reduces nothing."""
        (axes, *others), kernels = formula.shapes, Pointwise(self.formulas, None)  # type: ignore
        sizes = sizes_of(formula, settings[""])
        shape = tuple([1 if a is None else sizes[a] for a in axes])
        wanted = {k: _beside(own, axes, sizes) for k, own in formula.arguments.items()}

        def run(*args):
            arrays = [args[k].reshape(wanted[k]) for k in formula.loads]
            results = tuple([
                y if y.shape == shape else np.broadcast_to(y, shape).copy()
                for y in kernels.run(formula, arrays, to, settings)
            ])  # fmt: skip
            return results if formula.several else results[0]

        return run if all(o == axes for o in others) and None not in wanted.values() else None

    def kernel(self, formula: Rows, outs: tuple, writer: type[RowText]) -> Callable[..., Any]:
        """What is called of a formula."""
        key = formula, outs, writer
        if key not in self.kernels:
            written = writer(formula, tuple([d.name for d in outs]))
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
