"""How far a stored result may be from the exact one, and kernel calls caught while they happen.

The bound on a kernel's result y, computed in float32 and rounded once to what it is stored in:

    |stored - exact| <= ulp(exact) / 2 + growth(n) 2^-24 M          (the half ulp only if narrower)

The exact result is that of the kernel's own reference, run in float64 on the same stored arguments:
this says nothing about the equation, which gradcheck and PyTorch do. n is the largest number of
addends in a sum. M bounds what the roundings add up to, divided by their number:

- of a sum of products, sum |a||b|: every partial sum is at most that large (Higham, "Accuracy and
  Stability of Numerical Algorithms", 2002, section 3.1). It is found by running the reference with
  sums of absolute values;
- element by element, the result itself;
- where a sum goes through further arithmetic, what first-order error analysis gives: the families
  in tests/cases register it (`magnitude`).
"""

from dataclasses import dataclass
from functools import cached_property
from math import log2

import numpy as np

from minifp.numerics import kernels
from minifp.numerics.accumulate import directed
from minifp.numerics.formats import downcast, float32, float64, format_of, is_float, upcast

UNIT = 2.0**-24  # the unit roundoff of float32
ELEMENTARY = 16  # roundings of one element: at most 8 operations, or functions with 2 ulp or more


def growth(addends):
    """How the error of a float32 sum grows: as n in the worst order, as log n in blocks."""
    return ELEMENTARY + min(addends, 16 + 4 * log2(max(addends, 1)))


def half_ulp(dtype, x):
    """Half the gap between numbers of a format at x."""
    return format_of(dtype).ulp(x) / 2


def excess(stored, exact, magnitude, addends=1):
    """The error in units of the bound: at most 1 everywhere, or what is stored is wrong.

    What overflows must be Inf, with its sign, or NaN where the format has no Inf, and NaN NaN.
    """
    exact, format = np.asarray(exact, float64), format_of(stored.dtype)
    slack = growth(addends) * UNIT * np.asarray(magnitude, float64)
    bound = np.broadcast_to(slack, exact.shape)
    if format.bits < 32:
        bound = bound + half_ulp(format, np.abs(exact) + bound)
    else:
        bound = bound + UNIT * np.abs(exact) + 2.0**-149
    with np.errstate(all="ignore"):
        rounded, stored = upcast(downcast(exact, stored.dtype), float64), upcast(stored, float64)
        error = np.abs(stored - exact) / bound
    lost = ~np.isfinite(stored) | ~np.isfinite(rounded)
    near = np.abs(np.abs(exact) - format.max) <= bound + half_ulp(format, format.max)
    same = (stored == rounded) | (np.isnan(stored) & np.isnan(rounded)) | near
    error = np.where(lost, np.where(same, 0.0, np.inf), error)
    return float(error.max(initial=0.0))


@dataclass
class Call:
    """One call of a kernel: its stored arguments, its parameters and its stored results."""

    kernel: object
    args: tuple
    params: dict
    results: tuple
    formats: object

    def wide(self):
        """The arguments in float64; Python numbers as they enter float32."""
        return [
            upcast(a, float64)
            if isinstance(a, np.ndarray) and is_float(a.dtype)
            else float(float32.type(a))
            if type(a) is float
            else a
            for a in self.args
        ]

    def run(self, sum, dot, cumsum, prod, unrounded=lambda x: x):
        given = {"sum": sum, "dot": dot, "accumulate": unrounded, "store": unrounded}
        given |= {"enter": unrounded}
        given |= {"cumsum": cumsum, "prod": prod, "cumprod": np.cumprod}
        params = {**self.params, **{want: given[want] for want in self.kernel.wants}}
        results = self.kernel.reference(*self.wide(), **params)
        return results if isinstance(results, tuple) else (results,)

    @cached_property
    def _exact(self):
        addends = [1]

        def total(x, axis=None, keepdims=False):
            y = np.sum(x, axis=axis, keepdims=keepdims)
            addends.append(x.size // max(np.size(y), 1))
            return y

        def product(a, b):
            addends.append(a.shape[-1])
            return a @ b

        def running(x, axis, reverse=False):
            addends.append(x.shape[axis])
            return directed(np.cumsum, x, axis, reverse)

        return self.run(total, product, running, np.prod), max(addends)

    def exact(self):
        return self._exact

    def magnitudes(self, exact):
        """M for each result; see the module."""
        if self.kernel.name in MAGNITUDES:
            found = MAGNITUDES[self.kernel.name](*self.wide(), exact=exact, **self.params)
            return found if isinstance(found, tuple) else (found,)
        absolute = self.run(
            lambda x, axis=None, keepdims=False: np.sum(np.abs(x), axis=axis, keepdims=keepdims),
            lambda a, b: np.abs(a) @ np.abs(b),
            lambda x, axis, reverse=False: directed(np.cumsum, np.abs(x), axis, reverse),
            lambda x, axis=None, keepdims=False: np.prod(np.abs(x), axis, keepdims=keepdims),
        )
        return tuple(np.abs(a) + np.abs(e) for a, e in zip(absolute, exact))

    def excess(self):
        """The largest error of all results, in units of the bound."""
        import cases  # noqa: F401 (whose families register what the bounds of their kernels are)

        with np.errstate(all="ignore"):
            if self.kernel.name in STEPWISE:
                return STEPWISE[self.kernel.name](self)
            exact, addends = self.exact()
            return max(
                excess(r, e, m, addends)
                for r, e, m in zip(self.results, exact, self.magnitudes(exact))
                if is_float(r.dtype)
            )


class Calls(list):
    """A list of all kernel calls in a `with` block that have something to round."""

    def __enter__(self):
        self.original, self.begun = kernels.Kernel.__call__, []
        calls = self

        def noted(kernel, *args, to=None, **params):
            calls.begun.append(params.copy())
            try:
                return calls.original(kernel, *args, to=to, **params)
            finally:
                calls.begun.pop()

        kernels.Kernel.__call__ = noted
        kernels.observers.append(self)
        return self

    def __exit__(self, *_):
        kernels.Kernel.__call__ = self.original
        kernels.observers.remove(self)

    def on_kernel(self, kernel, args, results, formats):
        args = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
        self.append(Call(kernel, args, self.begun[-1], results, formats))


MAGNITUDES, STEPWISE = {}, {}  # by kernel: M, or how to check a call


def magnitude(fn, name=None):
    """Register what gives M for the results of the kernel of its name, or this: see tests/cases.

    First order, in units of 2^-24: a sum of n addends errs by n sum|x|, an elementary operation by
    its result, and errors pass through f(x) as |f'(x)| dx.
    """
    MAGNITUDES[_kernel_named(name or fn.__name__)] = fn
    return fn


def magnitude_of_losses(name, terms):
    """The same of the kernels `each` and `total` of a loss, from the sizes of its terms."""

    def total(*args, exact, divisor, **settings):
        return 2 * terms(*args, **settings).sum() / divisor

    magnitude(lambda *args, exact, **settings: terms(*args, **settings), f"{name}_each")
    magnitude(total, f"{name}_total")


def stepwise(fn):
    """Register what gives the excess of a Call of the kernel of this name, checked step by step."""
    STEPWISE[_kernel_named(fn.__name__)] = fn
    return fn


def _kernel_named(name):
    found = [k.name for k in kernels.KERNELS if k.name.partition(".")[2] == name]
    assert len(found) == 1, f"bounds for {name}, but kernels {found}"
    return found[0]


def below_largest(x, axis):
    """How far the entries of a row lie below its largest: the relative error of e^(x - max)."""
    d = np.abs(x - x.max(axis, keepdims=True, initial=-np.inf))
    return np.where(np.isfinite(d), d, 0)


#
# Where a float32 value lies near the middle of two halves, it and the exact one may be rounded to
# different ones, and both are right. Forward, each step is checked from the state that was really
# stored. Backward the state between steps is not among the results: an interval is carried along
# that must hold it, [round(x - e), round(x + e)], because rounding is monotone.


class Interval:
    """What a stored number may be: anything between low and high."""

    def __init__(self, value, error, dtype):
        low, high = downcast(value - error, dtype), downcast(value + error, dtype)
        self.low, self.high = upcast(low, float64), upcast(high, float64)

    value = property(lambda self: (self.low + self.high) / 2)
    error = property(lambda self: (self.high - self.low) / 2)

    def excess(self, stored):
        """0 where it is inside, Inf where not. What comes of Inf and NaN is Inf or NaN."""
        stored = upcast(stored, float64)
        inside = (self.low <= stored) & (stored <= self.high)
        lost = np.isnan(self.low) | np.isnan(self.high)
        return 0.0 if np.where(lost, ~np.isfinite(stored), inside).all() else np.inf
