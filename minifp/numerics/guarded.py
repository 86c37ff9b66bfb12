"""The derived kernel of a user's reference: nothing is believed that tracing cannot see.

minifp's own references keep to what it sees. Others may read what changes between calls, and there
is a kernel for each state of that. Or a symbol may have answered something else than an array
would, as to `type(x) is np.ndarray`: the first result of each formula is held against that of the
reference. Where nothing can be derived, or that fails, the reference computes.
"""

import inspect
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from minifp.derive.dtypes import name_of
from minifp.derive.outside import Outside
from minifp.derive.trace import REASONS, SCALARS, reason_of
from minifp.numerics.formats import downcast, float32, format_of, is_float, upcast
from minifp.runtime.cuda import capturing
from minifp.runtime.cuda.arrays import is_on_device, to_host

MOST = 64  # formulas of a reference, and states of what it reads beside its arguments
FEW, LARGE = 2**15, 2**22  # numbers that the reference computes again: of a map, and else at most
PRECISION = 2.0**-9  # to which results agree, beyond what float32 costs the reference
ALIKE = 1 - 2.0**-6  # of them: a rounding may change whole numbers, and on which side a number lies


class Guarded:
    """Stands in for the kernel that `make()` derives from a reference: see Kernel.compiled.
    formulas: of what was called last.
    """

    def __init__(self, make: Callable[[], Any], kernel: Any) -> None:
        self.make, self.kernel = make, kernel
        parameters = inspect.signature(kernel.reference).parameters.values()
        self.defaults = {p.name: p.default for p in parameters if type(p.default) in SCALARS}
        self.outside = Outside(kernel.reference)
        self.compiled: dict[Any, Any] = {}
        self.is_refused = False
        self.formulas = make().formulas

    def __call__(self, *args: Any, to: Any, **settings: Any) -> Any:
        if self.is_refused or len(args) > len(self.kernel.names):
            return None
        for name in self.kernel.names[len(args) :]:
            if name in settings or name in self.defaults:
                args = (*args, settings.pop(name, self.defaults.get(name)))
        try:
            state = self.outside.state()
            if state not in self.compiled:
                self.compiled[state] = self.make()
            self.formulas = self.compiled[state].formulas
            results = self.compiled[state](*args, to=to, **settings)
        except REASONS as error:  # the reference says what is wrong, if it is not only here
            self.formulas.refused = reason_of(error)
            return None
        if len(self.compiled) + self.formulas.count > MOST:
            self.refuse("its settings, or the values it reads from elsewhere, change too often")
        elif results is not None and self.formulas.is_new:
            self.verify(results, args, settings)
        return None if self.is_refused else results

    def refuse(self, why: str) -> None:
        """Leave all further calls to the reference, and warn."""
        self.is_refused, self.formulas.refused = True, why
        warnings.warn(
            f"{self.kernel.name} is no longer compiled, its NumPy reference computes: {why}",
            RuntimeWarning,
            stacklevel=5,
        )

    def verify(self, results: Any, args: tuple, settings: dict[str, Any]) -> None:
        """Hold results against those of the reference: of a map some, and all if they are not too
        many."""
        several = results if isinstance(results, tuple) else (results,)
        size, shape = max(a.size for a in (*args, *several) if hasattr(a, "size")), several[0].shape
        is_map = self.kernel.rule.role == "map" and "shape" not in settings
        if capturing.now is not None or size > LARGE and not is_map:
            return
        at: Any = ...
        if is_map and size > FEW:
            places = np.linspace(0, math.prod(shape) - 1, FEW, dtype=np.int64)
            at = np.unravel_index(places, shape)
        host, stored = ([taken(a, shape, at) for a in x] for x in (args, several))
        formats = np.dtype("float64"), float32  # it may write into what it is given in the last
        runs = [self.kernel.computed(host, settings, compute) for compute in formats]
        double, single = [run if isinstance(run, tuple) else (run,) for run in runs]
        why = next(filter(None, map(difference, stored, single, double)), "")
        if why:
            self.refuse(why)
        self.formulas.is_new = size == 0  # where there is nothing to compare


def taken(a: Any, shape: tuple[int, ...], at: Any) -> Any:
    """Elements of an array that broadcasts to a shape, or all of it, copied; else what is given."""
    a = to_host(a) if is_on_device(a) else a
    if not isinstance(a, np.ndarray):
        return a
    return a.copy() if at is ... else np.broadcast_to(a, shape)[at]


def difference(y: np.ndarray, single: Any, double: Any) -> str:
    """How a result differs from what the reference gives in float32 and in float64, by more than
    roundings do; "" if it does not."""
    single, double = np.asarray(single), np.asarray(double)
    both_float = is_float(single.dtype) and is_float(y.dtype)
    stored = downcast(single, y.dtype) if both_float else single
    if (stored.dtype, stored.shape) != (y.dtype, y.shape):
        gave = f"{name_of(y.dtype)} {y.shape}"
        return f"compiled it gave {gave}, in NumPy {single.dtype} {single.shape}"
    format = format_of(y.dtype) if both_float else None
    if y.dtype.kind == "V":
        y, stored = upcast(y, float32), upcast(stored, float32)
    alike = (y == stored) | (y != y) & (stored != stored)
    if format is not None:
        with np.errstate(all="ignore"):
            cost, size = np.abs(single - double), np.abs(double)
            usual = np.median(size[np.isfinite(size)]) if np.isfinite(size).any() else 0
            tiny = 2 * format.smallest_subnormal + 2.0**-20 * usual
            near = np.abs(y - double) <= PRECISION * size + 8 * cost + tiny
        alike |= near & np.isfinite(cost)
    if not y.size or alike.mean() >= ALIKE:
        return ""
    i = np.unravel_index(np.argmin(alike), y.shape)
    return f"compiled it gave {y[i]}, in NumPy {stored[i]}; does it check a type?"
