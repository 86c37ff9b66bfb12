"""Formulas of rows on the CPU: calls are planned, once for each of their shapes.

A plan says how arguments are brought into rows one behind the other, what is allocated, and how
many chunks there are. Kernels are compiled for formats, not for shapes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.derive.dtypes import name_of
from minifp.derive.rows import Rows
from minifp.runtime.cpu import kernels_mode
from minifp.runtime.cpu.compile.machine import kernel_of
from minifp.runtime.cpu.emit.row_code import NAME
from minifp.runtime.cpu.emit.rows_text import RowText
from minifp.runtime.cpu.kernels.checked import Typed
from minifp.runtime.cpu.kernels.pointwise import Pointwise
from minifp.runtime.cpu.kernels.row_plan import Plan
from minifp.runtime.row_calls import RowCalls

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
