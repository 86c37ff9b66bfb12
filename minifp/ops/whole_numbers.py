"""Counts, positions and class numbers that are stored as activations: told where they are lost.

A format with m mantissa bits has all integers up to 2^(m+1): float16 up to 2,048, bfloat16 to 256.
Beyond, neighbours become one, and a running total stands still. Of activations that is as it should
be; of a number that stands for something it is a wrong answer, which nobody sees.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.errors import PrecisionWarning
from minifp.numerics.formats import as_native, format_of, is_float
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda.arrays import is_on_device

NARROW = 23  # mantissa bits of float32, from which on nothing is told
FEW = 32  # numbers that tell most arrays from whole numbers
OFTEN, SMALL = 16, 4096  # writes before a tensor counts as a running total, and its largest size
SHARE = 8  # of what is added, more than one part in so many must not be lost


def limit_of(dtype: np.dtype) -> float | None:
    """The integer up to which a narrow format has all; None of integers and of wider formats."""
    if not is_float(dtype):
        return None
    bits = format_of(dtype).mantissa_bits
    return 2.0 ** (bits + 1) if bits < NARROW else None


def is_whole(x: np.ndarray) -> bool:
    """Whether all numbers are integers."""
    return bool((x == np.rint(x)).all())


def warn_of_whole(given: Any, stored: Any, what: str) -> None:
    """Warn where whole numbers became others as they were stored in a narrow format.

    given, stored: arrays of one shape; those of a GPU are not looked at, as that would wait for it.
    """
    limit = limit_of(stored.dtype)
    if limit is None or not given.size or is_on_device(given):
        return
    given = as_native(given)
    if given.dtype.kind == "b":
        return
    if not is_whole(given.flat[:FEW]):
        if given.ndim != 2:
            return
        beyond = (given.max(0) > limit) | (given.min(0) < -limit)  # columns of a table
        which = [i for i in np.flatnonzero(beyond) if is_whole(given[:, i])]
        given, stored = given[:, which], as_native(stored)[:, which]
        if not which:
            return
    if (given.max() > limit or given.min() < -limit) and is_whole(given):
        now = as_native(stored)
        other = (now != given) & np.isfinite(now)
        if other.any():
            first = other.argmax() if given.ndim else 0
            old, new = given.flat[first], now.flat[first]
            told(
                f"{what}: {np.count_nonzero(other)} of {given.size} whole numbers are others in "
                f"{format_of(stored.dtype).name}, which has all integers up to {limit:,.0f} only "
                f"({old:.10g} is now {new:.10g})"
            )


def warn_of_equal(stored: Any, what: str) -> None:
    """Warn where neighbours in a row of numbers that all differ are one in a narrow format."""
    if limit_of(stored.dtype) is None or is_on_device(stored):
        return
    x = as_native(stored)
    equal = np.count_nonzero((x[1:] == x[:-1]) & np.isfinite(x[1:]))
    if equal:
        told(
            f"{what}: of {x.size} numbers {equal} equal the one before in "
            f"{format_of(stored.dtype).name}, which has no more numbers between them"
        )


def told(text: str) -> None:
    """Warn once of numbers that were no activations."""
    warn_once(
        "whole numbers",
        f'{text}. Of what is counted, or stands for a place or a class, give dtype="float32", or '
        "keep integers",
        category=PrecisionWarning,
    )


# ---- running totals -----------------------------------------------------------------------------


def watched(add: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The method `add_`, which tells of a running total from which addends are lost: a tensor
    without gradient of at most SMALL numbers in a narrow format, written to OFTEN before."""

    @wraps(add)
    def add_(self: Tensor, *args: Any, **settings: Any) -> Tensor:
        if self.storage.version < OFTEN or self.array.size > SMALL or self.requires_grad:
            return add(self, *args, **settings)
        if limit_of(self.array.dtype) is None or is_on_device(self.array):
            return add(self, *args, **settings)
        before = np.array(as_native(self.array), np.float64)
        add(self, *args, **settings)
        if self.exact is None:
            warn_of_lost(self, before, *args, **settings)
        return self

    return add_


def warn_of_lost(total: Tensor, before: np.ndarray, other: Any, alpha: float = 1, **_: Any) -> None:
    """Warn where a count became another, or where of all that was added to a total more than an
    eighth did not come into it."""
    addend = np.asarray(other.cpu() if isinstance(other, Tensor) else other, np.float64) * alpha
    addend = np.broadcast_to(addend, before.shape)
    now = np.array(as_native(total.array), np.float64)
    with np.errstate(invalid="ignore"):
        lost = np.abs(now - before - addend)
        share = 0 if is_whole(addend) and is_whole(before) else 1 / SHARE
        much = lost.sum() > np.abs(addend).sum() * share  # not of Inf and NaN
    if much:
        worst = np.unravel_index(lost.argmax(), lost.shape)
        warn_once(
            "running total",
            f"x += y: a running total in {format_of(total.array.dtype).name} loses what is added: "
            f"{before[worst]:.10g} + {addend[worst]:.6g} is now {now[worst]:.10g}. Make it in "
            'float32, fp.zeros(1, dtype="float32"), or add up Python numbers: total += loss.item()',
            category=PrecisionWarning,
        )
