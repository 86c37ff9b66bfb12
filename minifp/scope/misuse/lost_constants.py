"""Constants that the format of a result cannot hold: an epsilon that is 0, a mask that is Inf or,
where there is no Inf, NaN.

A Python number enters a kernel in the format it computes in, float32, and is lost only when the
result is stored. So a sum with 1e-8, stored in float16 (which rounds 2^-25 = 3e-8 and less to 0),
is the other addend, also where that is 0; and a choice of -1e9 is -Inf. What multiplies is not
looked at for being small: 1e-9 x may well be meant.
"""

import math
from typing import Any

import numpy as np

from minifp.autograd.op import line_of
from minifp.numerics.formats import as_native, downcast, float64, format_of, is_float, upcast
from minifp.runtime.callers import line_of_user
from minifp.runtime.device import is_array
from minifp.scope.misuse.untrained import Tell

FORWARD = "_forward"
ADDS, CHOOSES = ("add", "sub"), ("maximum", "minimum", "where", "masked_fill")
LOOKED_AT = {
    **{f"arithmetic.{name}{FORWARD}": name for name in (*ADDS, "mul", *CHOOSES[:2])},
    **{f"where.{name}{FORWARD}": name for name in CHOOSES[2:]},
}
LIMITS = {"clamp": ("min", "max")}  # operations whose numbers are settings, which the tape has


class LostConstants:
    """Tells of them as they happen."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell

    def on_kernel(self, kernel: Any, args: tuple, results: tuple) -> None:
        """Look at the numbers among the arguments of a kernel that adds, chooses or scales."""
        name = LOOKED_AT.get(kernel.name)
        if name is None or type(results[0]) is not np.ndarray or not is_float(results[0].dtype):
            return
        for v in args:
            if isinstance(v, (int, float)) and not isinstance(v, bool):
                self._look(name, v, args, results[0])

    def on_record(self, node: Any, outputs: tuple) -> None:
        """Look at the settings of a recorded operation that limits."""
        for setting in LIMITS.get(node.op, ()):
            v, y = node.params.get(setting), outputs[0].array
            if v and becomes(v, y.dtype) == 0:
                self._tell_of_zero(f"{node.op}({setting}={v:g})", v, y.dtype, line_of(node))

    def _look(self, name, v, args, y):
        stored = becomes(v, y.dtype)
        if v and stored == 0 and name != "mul" and vanished(name, args, y):
            self._tell_of_zero(f"{name} with {v:g}", v, y.dtype, line_of_user())
        elif math.isfinite(v) and not math.isfinite(stored) and made_infinite(args, y):
            self._tell_of_infinite(name, v, y, line_of_user())

    def _tell_of_zero(self, what, v, dtype, line):
        format = format_of(dtype)
        text = (
            f"{what}, stored in {format.name}, at {line} : {v:g} is 0 there (half of the smallest "
            f"number, {format.smallest_subnormal:.2g}, and less rounds to 0), so it protects from "
            f"no division by 0 and no log of 0. Use {format.smallest_normal:.1g} or more, or "
            "compute in float32 there: x.float()"
        )
        self.tell("vanished", line, text)

    def _tell_of_infinite(self, name, v, y, line):
        format = format_of(y.dtype)
        count, largest = int(beyond(y).sum()), format.max
        near = f"{math.copysign(10.0 ** int(math.log10(largest)), v):g}"
        inf = 'float("-inf")' if v < 0 else 'float("inf")'
        became = (
            "Inf: Inf times 0 and Inf minus Inf are NaN, and a row of softmax of nothing else is "
            f"NaN. Say x.masked_fill(mask, {inf}) where Inf is meant, or {near} where a large "
            "number is"
            if format.has_inf
            else f"NaN, as {format.name} has no Inf. Say {near}, or compute in float32 there: "
            "x.float()"
        )
        text = (
            f"{name} with {v:g}, stored in {format.name}, at {line} : {v:g} is beyond the largest "
            f"number there, {largest:g}, and {count:,} of {y.size:,} results are {became}"
        )
        self.tell("infinite", line, text)


def becomes(v: float, dtype: np.dtype) -> float:
    """A Python number, rounded to a format."""
    with np.errstate(all="ignore"):
        return float(upcast(downcast(np.asarray(v, float64), dtype), float64))


def vanished(name: str, args: tuple, y: np.ndarray) -> bool:
    """Whether the result of a sum is its other addend; what chooses has lost its number anyway."""
    if name not in ADDS:
        return True
    y, others = as_native(y), [as_native(a) for a in args if is_array(a)]
    return all(np.array_equal(np.abs(y), np.abs(a), equal_nan=True) for a in others)


def made_infinite(args: tuple, y: np.ndarray) -> bool:
    """Whether a result has what is beyond its format and no argument had."""
    inputs = [a for a in args if is_array(a) and is_float(a.dtype)]
    return bool(beyond(y).any()) and not any(beyond(a).any() for a in inputs)


def beyond(x: np.ndarray) -> np.ndarray:
    """Which numbers are Inf; in a format that has none, which are NaN."""
    return np.isinf(as_native(x)) if format_of(x.dtype).has_inf else np.isnan(as_native(x))
