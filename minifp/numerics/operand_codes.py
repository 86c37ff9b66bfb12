"""An operand of a product as its codes: one byte a number in FP8, and from what its scale follows.

    x  ->  c = round(s x)  ->  c / s        s = 2^floor(log2(largest / amax))

c / s is what operands.py rounds x to, bit for bit; here the codes are kept, and not the number in
the format of x. What has no code has none here: an array with Inf where the format has no Inf. On a
GPU, where nobody waits to know, its NaN are read as Inf where amax is Inf; only beside NaN, which
is then amax, does Inf become NaN.
"""

from importlib import import_module
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from minifp.numerics.formats import downcast, float32, float64, is_compiled, upcast
from minifp.numerics.operands import CURRENT, Rounding, compiles, rounds
from minifp.runtime.cuda.arrays import collapsed, is_on_device, steps_of
from minifp.runtime.device import address


class OperandCodes(NamedTuple):
    """An operand that was rounded with one scale.

    codes: of its shape, in its format. amax: what the scale follows from, an array without
    dimensions, or None where the scale is 1. largest: the largest magnitude, where it is another
    number, or None. to: how it was rounded. dtype: that of what enters.
    """

    codes: Any
    amax: Any
    largest: float | None
    to: Rounding
    dtype: np.dtype

    @property
    def largest_before(self) -> float:
        """The largest magnitude of x, before it was rounded (on the CPU)."""
        return float(self.amax if self.largest is None else self.largest)

    def decoded(self) -> Any:
        """The operand as it entered the product."""
        most, top = self.to.limits(self.dtype)
        if is_on_device(self.codes):
            kernels = import_module("minifp.runtime.cuda.operands")
            is_scaled = self.to.scale is not None
            return kernels.decoded(self.codes, self.amax, self.dtype, is_scaled, most, top)
        scale = scale_in(self.amax, self.to)
        if compiles_both(self.codes, self.dtype):
            kernels = import_module("minifp.runtime.cpu.kernels.operand_codes")
            return kernels.decoded(self.codes, self.dtype, scale, top)
        wide = upcast(self.codes, float64 if self.dtype == float64 else float32)
        with np.errstate(all="ignore"):  # Inf and NaN are values here
            return downcast(within(wide * (1 / wide.dtype.type(scale)), top), self.dtype)


def coded(x: Any, to: Rounding, amax: float | None, largest: float | None) -> OperandCodes | None:
    """An operand's codes; None where not all of its numbers have one.

    amax: what it is scaled by, None for no scale; largest: the largest magnitude in it. On a GPU
    both are found there, and not asked for. to: not "row". x: not empty.
    """
    if is_on_device(x):
        kernels = import_module("minifp.runtime.cuda.operands")
        top, is_scaled = kernels.amax(x, tuple(range(x.ndim))), to.scale == CURRENT
        most, _ = to.limits(x.dtype)
        codes = kernels.encoded(x, to.format.stored, top, is_scaled, most)
        return OperandCodes(codes, top, None, to, x.dtype)
    assert largest is not None
    if not (isfinite(largest) or to.format.has_inf):
        return None
    codes = encoded(x, to, scale_in(amax, to), to.format.max)
    own = None if amax == largest else largest
    scaled_by = None if amax is None else np.asarray(amax)
    return OperandCodes(codes, scaled_by, own, to, to.enters_in(x.dtype))


def encoded(x: np.ndarray, to: Rounding, scale: float, most: float) -> np.ndarray:
    """The codes of s x, in the order in memory of what `rounded` returns."""
    if compiles_both(x, to.format.stored):
        kernels = import_module("minifp.runtime.cpu.kernels.operand_codes")
        return kernels.encoded(x, to.format.stored, scale, most)
    if compiles(x) and rounds(to.format) and not x.flags.forc:
        x = np.ascontiguousarray(x)
    wide = upcast(x, float64 if x.dtype == float64 else float32)
    with np.errstate(all="ignore"):  # Inf and NaN are values here, and small numbers become 0
        return downcast(within(wide * wide.dtype.type(scale), most), to.format.stored)


def within(x: np.ndarray, most: float) -> np.ndarray:
    """x, of which what is finite is no larger than `most`."""
    return np.where(np.isfinite(x), np.clip(x, -most, most), x)


def scale_in(amax: Any, to: Rounding) -> float:
    """The scale that follows from amax; 1 of None."""
    return 1.0 if amax is None else float(to.factor(amax))


def compiles_both(x: np.ndarray, dtype: np.dtype) -> bool:
    """Whether compiled kernels read x and write a dtype."""
    return compiles(x) and is_compiled(dtype) and dtype != float64


def place_of(x: Any) -> tuple:
    """What is equal for arrays of the same elements in the same order, and for no others: of
    reshaped views, too."""
    sizes, (steps,) = collapsed(x.shape, [steps_of(x, x.shape)])
    return address(x), x.dtype, *sizes, *steps
