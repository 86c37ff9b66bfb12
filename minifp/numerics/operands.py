"""What enters a product, rounded to a narrow format with a scale: so FP8 is trained.

    x  ->  round(s x) / s        s = 2^floor(log2(largest / amax)),   amax = max |x|

Tensor cores multiply codes of 8 bits, add the products in float32, and multiply the sum by 1/(s t),
the scales of both operands (Micikevicius et al. 2022, arXiv:2209.05433). Since s is a power of two,
x s and its way back are exact, and so the products of what is returned here, summed in float32, are
those of the codes, times 2^-k: the same sums, bit for bit, until float32 under- or overflows. What
is returned stays in the format in which x is stored, which always holds it: a number of that format
that is rounded to fewer bits, or to a coarser grid, is one of its numbers again. (But for what
would be rounded up beyond its largest: that becomes the largest of both.) So every kernel that
multiplies stored numbers is, without a change, one for operands in few bits.

Which amax, is the switch operand_scale, in the words of the field:

    current    that of the tensor, as it is now (Transformer Engine's Float8CurrentScaling, with
               power_2_scale)
    delayed    the largest that it had in the last steps: see amax_history.py. "delayed:16" of 16,
               1,024 by itself
    row        that of each row: of the numbers that are summed together, or more where windows
               overlap, as a picture's channels; each result is a product of one row with another
    off        s = 1: what is too small becomes 0

Which s follows from it, behind "current" and "delayed":

    factor=power_of_two    the above, which is what they are by themselves
    factor=exact           s = largest / amax, divided in float32 (Transformer Engine's
                           DelayedScaling, and its Float8CurrentScaling by itself)

With the exact factor the way back rounds: what enters is c (1 / s), c being the code, with 1 / s
and the product each rounded to float32. No narrower format has such numbers, so they enter in
float32, whatever x is stored in, and sums differ from those of the codes by these roundings, of
2^-24.

What s x exceeds the format by saturates. Inf and NaN stay, so that a step that overflowed is still
skipped; a tensor (or row) with one of them, or with nothing but zeros, has s = 1.

Inside of a sequence the state that enters the next step's product has a scale for each sequence
under "current" and "delayed", too: a tensor's would have all sequences wait for each other at every
step.
"""

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache, partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from minifp.errors import PrecisionError
from minifp.numerics import precision_grammar
from minifp.numerics.amax_history import call_of, delayed_amax
from minifp.numerics.formats import (
    downcast,
    float32,
    float64,
    format_of,
    is_compiled,
    round_to,
    upcast,
    wider,
    worth_compiling,
)
from minifp.numerics.number_format import Format, operand_format
from minifp.runtime.cuda.arrays import is_on_device

CURRENT, ROW, DELAYED = "current", "row", "delayed"
NOW = (None, CURRENT, ROW)  # what needs no history
STEPS, MOST_DIGITS = 1024, 6  # of DELAYED, as in Transformer Engine; and of another count
FACTOR, EXACT, POWER_OF_TWO = "factor", "exact", "power_of_two"
FACTORS: dict[tuple, bool] = {(): False, ((FACTOR, POWER_OF_TWO),): False, ((FACTOR, EXACT),): True}
BY_DIVISION = tuple(f"{of}+{FACTOR}={EXACT}" for of in (CURRENT, f"{DELAYED}:N"))
SCALES = (CURRENT, ROW, DELAYED, f"{DELAYED}:N (the largest of the last N steps)", *BY_DIVISION)
OPERAND_FIELDS = ("operands", "gradient_operands")
SAVED = ACTIVATIONS, OPERANDS = ("activations", "operands")  # what the tape keeps for backward
STATE = "enter"  # what kernels of sequences call the rounding of a state that enters a product
MOST = 126  # log2 of the largest scale, and of 1 over the smallest: both are normal in float32
Axes = tuple[int, ...] | Callable[..., tuple[int, ...]]


class Operand(NamedTuple):
    """An argument of a kernel that enters its products, or STATE.

    summed: the axes along which it is summed, of those that it has, or a function that tells them
    from the kernel's settings. is_gradient: whether it is one.
    """

    name: str
    summed: Axes
    is_gradient: bool


class Rounding(NamedTuple):
    """To what an operand is rounded. scale: "current", "row", "delayed", perhaps with a count of
    steps, or None. summed: as in Operand. is_exact: whether the factor is no power of two."""

    format: Format
    scale: str | None
    summed: Axes = ()
    is_exact: bool = False

    @property
    def words(self) -> str:
        """ "float8_e4m3fn (operand_scale=current)"."""
        factor = f"+{FACTOR}={EXACT}" if self.is_exact else ""
        return f"{self.format.name} (operand_scale={self.scale or 'off'}{factor})"

    def factor(self, amax: Any, dtype: np.dtype = float32) -> np.ndarray:
        """s, of each amax (array of a dtype)."""
        of = quotient_of if self.is_exact else scale_of
        return of(amax, self.format.max).astype(dtype)

    def enters_in(self, dtype: np.dtype) -> np.dtype:
        """In what format an array of a dtype enters."""
        return wider(dtype, float32) if self.is_exact else dtype

    def limits(self, dtype: np.dtype) -> tuple[float, float]:
        """The largest s x, and the largest number that enters in a dtype."""
        largest, top = limits(self.format, dtype)
        return largest, format_of(dtype).max if self.is_exact else top


# ---- the switches -------------------------------------------------------------------------------


def checked_operands(precision: Any) -> None:
    """Raise PrecisionError for switches of a Precision that would do nothing."""
    for field, stored in zip(OPERAND_FIELDS, (("activations", "weights"), ("gradients",))):
        name = getattr(precision, field)
        if name is None:
            continue
        format, held = operand_format(name), [format_of(getattr(precision, s)) for s in stored]
        if format is None or format.bits >= 32 or all(map(format.holds, held)):
            raise PrecisionError(
                f"{field}={name} has no effect on numbers stored in "
                f"{' and '.join(dict.fromkeys(f.name for f in held))}: expected off, or a format "
                "of fewer bits, such as float8_e4m3fn"
            )
    scale = precision.operand_scale
    if scale is not None and not rounds_operands(precision):
        raise PrecisionError(
            f"operand_scale={scale} without operands to scale: expected operand_scale=off, or a "
            "format, such as operands=float8_e4m3fn"
        )


def checked_saved(precision: Any) -> None:
    """Raise PrecisionError for a `saved` of a Precision that is none, would do nothing, or that
    backward could not read."""
    saved, scale = precision.saved, precision.operand_scale
    if saved not in SAVED:
        raise PrecisionError(f"saved={saved!r}: expected {' or '.join(SAVED)}")
    if saved == ACTIVATIONS:
        return
    if precision.operands is None:
        raise PrecisionError(
            "saved=operands without operands to save: expected saved=activations, or a format, "
            "such as operands=float8_e4m3fn"
        )
    if scale == ROW:
        raise PrecisionError(
            "saved=operands with operand_scale=row: the forward product has a scale for each row "
            "that it sums, but the backward products sum along other axes and need other scales: "
            "expected operand_scale=current, delayed or off, or saved=activations"
        )
    format, stored = operand_format(precision.operands), format_of(precision.activations)
    if format is None or format.bytes >= stored.bytes:
        raise PrecisionError(
            f"saved=operands saves nothing: an operand in {precision.operands} takes as many "
            f"bytes as an activation in {stored.name}: expected saved=activations, or operands "
            "with fewer bits, such as float8_e4m3fn"
        )


def checked_scale(scale: Any) -> str | None:
    """An operand_scale as a precision keeps it. Raises PrecisionError for one that is none."""
    if scale is None:
        return None
    read = read_scale(scale)
    if read is None:
        raise PrecisionError(f"operand_scale={scale!r}: expected {', '.join(SCALES)} or off")
    word, is_exact = read
    return precision_grammar.written_settings(word, [(FACTOR, EXACT)] if is_exact else [])


def read_scale(scale: Any) -> tuple[str, bool] | None:
    """("delayed:16", True) of "delayed:16+factor=exact": whose amax, and whether the factor is no
    power of two; None of what is no operand_scale."""
    base, settings = precision_grammar.read_settings(scale) if isinstance(scale, str) else ("", [])
    word, steps = precision_grammar.read_count(base, MOST_DIGITS) or ("", None)
    is_exact = FACTORS.get(tuple(settings))
    is_now = steps is None and (word == CURRENT or word == ROW and not settings)
    if is_exact is None or not (word == DELAYED or is_now):
        return None
    return precision_grammar.written_count(word, None if steps == STEPS else steps), is_exact


def steps_of(scale: Any) -> int | None:
    """Of how many steps "delayed:16" takes the largest; None for another scale."""
    word, _ = read_scale(scale) or ("", False)
    of, steps = precision_grammar.read_count(word, MOST_DIGITS) or ("", None)
    return steps or STEPS if of == DELAYED else None


def rounds_operands(precision: Any) -> bool:
    """Whether it says anything of operands."""
    return any(getattr(precision, field) is not None for field in OPERAND_FIELDS)


def rounding_of(operand: Operand, precision: Any) -> Rounding | None:
    """To what a Precision rounds an operand; None where it does not."""
    name = precision.gradient_operands if operand.is_gradient else precision.operands
    format = None if name is None else operand_format(name)
    if format is None:
        return None
    scale, is_exact = read_scale(precision.operand_scale) or (None, False)
    if scale is not None and operand.name == STATE:
        scale, is_exact = ROW, False
    return Rounding(format, scale, operand.summed, is_exact)


# ---- rounding -----------------------------------------------------------------------------------


class Entering:
    """How operands enter products: each rounded anew. The tape has other ways, under saved=operands
    (autograd/kept_operands.py)."""

    def amax_of(self, x: np.ndarray) -> float:
        """The largest magnitude of an operand."""
        return amax_of(x)

    def rounded(self, x: Any, to: Rounding, summed: tuple[int, ...], amax: Any) -> Any:
        """An operand as it enters. summed, amax: as in `rounded`."""
        return rounded(x, to, summed, amax=amax)

    def reads(self, kernel: Any, x: Any) -> None:
        """Take note of what a kernel reads that is no operand, where a precision saves operands."""

    def passes(self, kernel: Any, args: Any, roundings: tuple) -> None:
        """Take note of a kernel's arguments where only shapes are asked for, and none is rounded.
        roundings: of each a Rounding, or None; () where nobody asks."""


ANEW = Entering()
entering: ContextVar[Entering] = ContextVar("entering", default=ANEW)


def entered(kernel: Any, args: Any, roundings: tuple, settings: dict[str, Any]) -> list[Any]:
    """A kernel's arguments as they enter its products. roundings: of each a Rounding, or None."""
    is_delayed = any(r is not None and r.scale not in NOW for r in roundings)
    call = call_of(kernel.name) if is_delayed else ()
    way, arrays = entering.get(), []
    for name, a, r in zip(kernel.names, args, roundings):
        if r is not None:
            summed = r.summed(**settings) if callable(r.summed) else r.summed
            is_earlier = r.scale not in NOW and a.size
            current = partial(way.amax_of, a)
            amax = earlier_amax(current, r, (*call, name)) if is_earlier else None
            a = way.rounded(a, r, summed, amax)
        else:
            way.reads(kernel, a)
        arrays.append(a)
    return arrays


def earlier_amax(current: Callable[[], float], to: Rounding, key: Any) -> float:
    """By which amax an operand is scaled with a delay. current: computes that of now; key: where
    its history is."""

    def exceeds(now, before):
        return bool(now > before and now * to.factor(before) > to.format.max)

    return delayed_amax(key, current, exceeds)


def amax_of(x: np.ndarray) -> float:
    """The largest magnitude in x: Inf or NaN where there is one."""
    if compiles(x):
        return float(import_module("minifp.runtime.cpu.kernels.operands").amax(x))
    with np.errstate(invalid="ignore"):
        return float(np.abs(upcast(x, float64 if x.dtype == float64 else float32)).max())


def compiles(x: np.ndarray) -> bool:
    """Whether compiled kernels read x."""
    return worth_compiling(x, 1) and is_compiled(x.dtype) and x.dtype != float64


def rounded(
    x: np.ndarray, to: Rounding, summed: tuple[int, ...], held: Any = None, amax: Any = None
) -> np.ndarray:
    """x rounded with a scale, in the format in which it enters. summed: the axes that share one,
    for "row"; held: the dtype that is to hold it, and amax: what all of it is scaled by, if these
    are not x's own."""
    dtype = to.enters_in(x.dtype)
    if not x.size:
        return x if x.dtype == dtype else np.empty(x.shape, dtype)
    largest, top = to.limits(held or dtype)
    axes = None if to.scale != ROW else tuple(a for a in summed if -x.ndim <= a < x.ndim)
    if is_on_device(x):
        along = tuple(range(x.ndim)) if to.scale == CURRENT else axes
        kernels = import_module("minifp.runtime.cuda.operands")
        return kernels.rounded(x, to.format.stored, along, largest, top)
    if amax is None and to.scale not in (None, ROW):
        amax = amax_of(x)
    if compiles(x) and rounds(to.format):
        kernels = import_module("minifp.runtime.cpu.kernels.operands")
        if axes is not None:
            return kernels.rounded_rows(x, axes, form_of(to.format), largest, top)
        scale = 1.0 if amax is None else float(to.factor(amax))
        return kernels.rounded(x, dtype, form_of(to.format), scale, largest, top)
    wide = upcast(x, float64 if x.dtype == float64 else float32)
    with np.errstate(all="ignore"):  # Inf and NaN are values here, and small numbers become 0
        amax = np.abs(wide).max(axes, keepdims=True) if axes is not None else amax
        scale = wide.dtype.type(1) if amax is None else to.factor(amax, wide.dtype)
        y = round_to(np.clip(wide * scale, -largest, largest), to.format.stored)
        y = np.clip(y * (1 / scale), -top, top)
    return downcast(np.where(np.isfinite(wide), y, wide), dtype)


def scale_of(amax: Any, largest: float) -> np.ndarray:
    """2^floor(log2(largest / amax)), for each amax (float32 array); 1 of 0, Inf and NaN."""
    (have, power), (most, above) = np.frexp(np.asarray(amax, float64)), np.frexp(largest)
    exponent = np.clip(above - power - (have > most), -MOST, MOST)
    is_usable = np.isfinite(amax) & (np.asarray(amax) > 0)
    return np.ldexp(float32.type(1), np.where(is_usable, exponent, 0))


def quotient_of(amax: Any, largest: float) -> np.ndarray:
    """largest / amax, rounded to float32, within 2^-126 and 2^126, for each amax (float32 array); 1
    of 0, Inf and NaN."""
    amax = np.asarray(amax, float64)
    is_usable = np.isfinite(amax) & (amax > 0)
    quotient = np.where(is_usable, largest / np.where(is_usable, amax, largest), 1)
    return np.clip(quotient, 2.0**-MOST, 2.0**MOST).astype(float32)


def rounds(format: Format) -> bool:
    """Whether compiled kernels round to a format: any with some bits of mantissa, fewer than
    float32, whose normal numbers are normal in float32 too."""
    normal = format.fits_float32 and format.smallest_normal >= 2.0**-126
    return normal and 1 <= format.mantissa_bits <= 22


@cache
def form_of(format: Format) -> tuple:
    """What compiled kernels round by: how many bits of a float32's mantissa they leave out; the
    smallest normal number; 2^23 times the smallest one, to whose grid a float32 is rounded as it is
    added; and what becomes 0 where it is below."""
    smallest = format.smallest_normal
    numbers = smallest, smallest * format.eps * 2.0**23, 0.0 if format.subnormals else smallest
    return np.int32(23 - format.mantissa_bits), *map(np.float32, numbers)


@cache
def limits(format: Format, held: np.dtype) -> tuple[float, float]:
    """The largest number of a format; and the largest in its bits, with any exponent, that a dtype
    holds."""
    mantissa, exponent = np.frexp(format_of(held).max)
    steps = 2.0 ** (format.mantissa_bits + 1)
    return format.max, float(np.ldexp(np.floor(mantissa * steps) / steps, exponent))
