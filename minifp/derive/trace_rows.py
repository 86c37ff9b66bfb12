"""References that reduce along axes are traced: `RowFormulas(reference)(arguments, settings)`.

A formula is for all calls whose arguments have the same formats and as many axes, of which the same
have size 1. How long they are a formula is told, as it is told settings.
"""

from functools import partial
from typing import Any

from minifp.derive.arrays import SCANS, WHOLE_NUMBERS, Array, ArrayTrace
from minifp.derive.dtypes import name_of
from minifp.derive.rows import Rows
from minifp.derive.symbol import Untraceable
from minifp.derive.trace import STORED, Variants


class RowFormulas(Variants):
    """The formulas of a reference that reduces along axes."""

    def __call__(self, args: list, settings: dict[str, Any]) -> Rows | None:
        """The formula of a call, or None. args: arrays, numbers or None; settings: those of the
        call, with the shapes of the arguments as ''."""
        plain = {k: v for k, v in settings.items() if k not in ("", "shape")}
        told = _of_shape(args, settings.get("shape"))
        trace = partial(self.trace, args, plain, settings)
        return self.find((*map(_kind, args), told), plain, settings, trace)

    def trace(
        self, args: list, plain: dict[str, Any], settings: dict[str, Any], folds: bool = False
    ) -> Rows:
        """The formula of a call, made anew. Raises Untraceable, or whatever the reference does.
        folds: see Trace."""
        trace = ArrayTrace(folds)
        symbols = [self._entered(trace, k, a) for k, a in enumerate(args)]
        keywords = {n: trace.setting(v, n) for n, v in plain.items() if n not in self.arguments}
        if "shape" in settings:
            keywords["shape"] = _shape(trace, symbols, args, settings["shape"])
        primitives = self.keywords & {"sum", "prod", *SCANS}
        keywords |= {name: getattr(Array, name) for name in primitives}
        results = self.reference(*symbols, **keywords)
        several = isinstance(results, tuple)
        results = list(results) if several else [results]
        if not all(isinstance(r, Array) for r in results):
            raise Untraceable("its result is of no array")
        return Rows(self.name, trace, results, several)

    def _entered(self, trace, k, a):
        if a is None:
            return None
        if type(a) in (int, float):
            return trace.setting(a, self.arguments[k])
        name = name_of(a.dtype) if a.dtype.kind not in "iu" else WHOLE_NUMBERS
        if name not in (*STORED, WHOLE_NUMBERS):
            raise Untraceable(f"argument {self.arguments[k]} is of {a.dtype}")
        return trace.array(k, name, a.shape)


def _of_shape(args, shape):
    """What a formula depends on of a shape that it is told: whose it is, or which sizes are 1."""
    for k, a in enumerate(args):
        if shape is not None and getattr(a, "shape", None) == shape:
            return k
    return shape and tuple([n == 1 for n in shape])


def _shape(trace, symbols, args, shape):
    """A shape that a reference is told: of an argument, or of axes that no argument has."""
    told = _of_shape(args, shape)
    if isinstance(told, int):
        return symbols[told].shape
    return tuple(map(trace.size, trace.new_axes("shape", shape)))


def _kind(a):
    """What a formula depends on of an argument: its format, and which of its sizes are 1."""
    shape = getattr(a, "shape", None)
    return type(a) if shape is None else (a.dtype, *[n == 1 for n in shape])
