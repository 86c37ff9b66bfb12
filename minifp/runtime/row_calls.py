"""Formulas of rows: calls are planned, once for each kind of them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.derive.arrays import WHOLE_NUMBERS
from minifp.derive.dtypes import COMPILED
from minifp.derive.graph import Untraceable
from minifp.derive.rows import Rows
from minifp.derive.trace_rows import RowFormulas

MOST = 4096  # plans that are remembered
COUNTED = 2**24  # places that float32 can name
FLOAT32 = np.dtype("float32")
FLOATS = COMPILED


class RowCalls:
    """The compiled kernel of what reduces along axes: see Kernel.compiled.

    out: the words of the rule for the formats of results, where a call does not say them.
    """

    plan_of: Callable[..., Any]  # (formula, arrays, formats of results, settings): a plan, or None

    def __init__(self, reference: Callable[..., Any], out: tuple[str, ...]) -> None:
        self.formulas, self.out = RowFormulas(reference), out
        self.plans: dict[Any, Any] = {}
        self.__name__, self.__doc__ = reference.__name__, reference.__doc__

    def plan(self, key: Any, args: tuple, to: tuple, settings: dict[str, Any]) -> Any:
        """The plan of a call, which is remembered under a key, or None for what has none."""
        if len(self.plans) > MOST:
            self.plans.clear()
        self.plans[key] = plan = self.new_plan(args, to, settings)
        return plan

    def new_plan(self, args: tuple, to: tuple, settings: dict[str, Any]) -> Any:
        """The same, made anew."""
        arrays = {k: a for k, a in enumerate(args) if hasattr(a, "dtype")}
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
        if WHOLE_NUMBERS in formula.loads.values() and COUNTED < max(sum(shapes.values(), ())):
            return None
        try:
            return self.plan_of(formula, arrays, outs, settings)
        except Untraceable as reason:
            self.formulas.refused = str(reason)
            return None

    def formats(self, formula: Rows, args: tuple, to: tuple) -> tuple | None:
        """In what results are stored; None for what is not ours."""
        named = dict(zip(self.formulas.arguments, args))
        by_rule = [
            {named[w].dtype for w in out.split()} if out.split()[0] in named else {FLOAT32}
            for out in self.out
        ]
        told = zip(to, by_rule, formula.shapes)
        outs = [dtype or (only(rule) if shape else FLOAT32) for dtype, rule, shape in told]
        return tuple(outs) if FLOATS.issuperset(outs) else None


def only(dtypes: set) -> Any:
    """The dtype, where there is one; which is the wider of several is not told here: None."""
    return next(iter(dtypes)) if len(dtypes) == 1 else None
