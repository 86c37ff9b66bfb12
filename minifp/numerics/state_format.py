"""In what an optimizer's state is stored: formats, perhaps of few bits, and scales.

    x  ->  (round(s x), s)        s = 2^floor(log2(largest / amax)),   amax = max |x|

A second moment of 1e-8 is 0 in every format of 8 bits, and in float16. Codes of numbers that are
multiplied by a scale use the format's upper end, whatever the numbers are; s is a power of two, so
that only rounding changes a number. Of which numbers amax is the largest, is the switch
optimizer_state_scale, in the words of the field:

    tensor      of all of a parameter (FP8-LM, Peng et al. 2023, arXiv:2310.18313)
    block:N     of N numbers that lie one after the other, the last ones fewer; 2048 in 8-bit
                optimizers (Dettmers et al. 2021, arXiv:2110.02861), 32 in microscaling
    off         s = 1

s is chosen anew at each step, of what is stored then, and amax is rounded first: so what is read
back has the same scales and codes again. Zeros alone, and what is not finite, have s = 1.

Second moments, the means and sums of squares by whose root an update is divided, may have a format
of their own, second_moment. They span twice as many powers of two as gradients do, and where one
is rounded to 0 and the first moment is not, the update explodes. E4M3 has 18 powers of two between
its smallest number and its largest, so with one scale it loses the squares of gradients 2^9 times
smaller than the largest: FP8-LM keeps first moments in E4M3, and second ones in float16, both with
scales. A format with float32's exponents, as bfloat16, is never scaled: it need not be.
"""

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from minifp.errors import PrecisionError
from minifp.numerics import formats
from minifp.numerics.number_format import Format
from minifp.numerics.operands import scale_of
from minifp.numerics.precision_grammar import read_count, written_count

TENSOR, BLOCK = "tensor", "block"
EXPECTED = f"{TENSOR}, {BLOCK}:N with N a whole number of at least 1, as in {BLOCK}:2048, or off"


def length_of(text: Any) -> int | None:
    """How many numbers have one scale, of the switch's text; None: all of a parameter.

    Raises PrecisionError for a text that is neither "tensor" nor of the form "block:2048".
    """
    word, length = read_count(str(text)) or ("", None)
    if (word, length) == (TENSOR, None) or (word == BLOCK and length is not None):
        return length
    raise PrecisionError(f"optimizer_state_scale={text!r}: expected {EXPECTED}")


def text_of(length: int | None) -> str:
    """The text that `length_of` reads."""
    return written_count(TENSOR if length is None else BLOCK, length)


def checked_state_scale(scale: Any) -> str | None:
    """The switch's text as precisions compare it, None for off. Raises as `length_of`."""
    return None if scale is None else text_of(length_of(scale))


def takes_scale(format: Format) -> bool:
    """Whether a scale does something for a format: it has not all exponents of float32."""
    single = formats.format_of(formats.float32)
    return format.smallest_normal > single.smallest_normal or 2 * format.max <= single.max


def takes_state_scale(precision: Any) -> bool:
    """Whether a scale does something for any state of a Precision."""
    return any(takes_scale(formats.format_of(dtype)) for dtype in StateFormat.of(precision)[:2])


class StateFormat(NamedTuple):
    """In what state is stored. second: the format of second moments; first: of all other state;
    scale: the text of optimizer_state_scale, or None."""

    first: np.dtype = formats.float32
    second: np.dtype = formats.float32
    scale: str | None = None

    @classmethod
    def of(cls, precision: Any) -> "StateFormat":
        """What a Precision says."""
        first = precision.optimizer_state
        second = precision.second_moment or first
        return cls(
            formats.as_dtype(first), formats.as_dtype(second), precision.optimizer_state_scale
        )

    def bytes_of(self, size: int, second: bool) -> int:
        """How many bytes a state of a parameter takes, with its scales."""
        format = formats.format_of(self.second if second else self.first)
        has_scale = self.scale is not None and takes_scale(format)
        scales = count_of(size, length_of(self.scale)) if has_scale else 0
        return size * format.bytes + scales * formats.float32.itemsize


SINGLE = StateFormat()


def check_state(precision: Any) -> None:
    """Raise PrecisionError for a second_moment or an optimizer_state_scale of a Precision that is
    none, or would do nothing."""
    first, second, scale = StateFormat.of(precision)
    if precision.second_moment == precision.optimizer_state:
        raise PrecisionError(
            f"second_moment={precision.second_moment} equals optimizer_state, the format that "
            "second moments have anyway: expected off, or another format"
        )
    if scale is None:
        return
    names = " and ".join(dict.fromkeys(formats.name_of(dtype) for dtype in (first, second)))
    if not takes_state_scale(precision):
        why = f"state in {names}, which has the exponent range of {formats.float32.name}"
    elif formats.format_of(precision.weights).stored == formats.float64:
        why = f"weights in {formats.float64.name}, whose state is in the same format"
    else:
        return
    raise PrecisionError(
        f"optimizer_state_scale={scale} with {why}: expected off, or a format of fewer bits, such "
        "as optimizer_state=float8_e4m3fn"
    )


def count_of(size: int, length: int | None) -> int:
    """How many scales `size` numbers of one parameter have."""
    return -(-size // (length or max(size, 1)))


# ---- rounding -----------------------------------------------------------------------------------


def scales_of(amax: np.ndarray, format: Format) -> np.ndarray:
    """The scale for each largest magnitude, (k) float32."""
    once = scale_of(amax, format.max)
    with np.errstate(all="ignore"):  # Inf and NaN are values here
        return scale_of(formats.round_to(amax * once, format.stored) / once, format.max)


def encode(x: np.ndarray, starts: np.ndarray, codes: np.ndarray, scales: np.ndarray) -> None:
    """Round x, (n) float32 and not empty, into codes, (n), and their scales, (k) float32: one for
    what begins at each of `starts`, (k), the first of which is 0."""
    format = formats.format_of(codes.dtype)
    if formats.worth_compiling(x) and formats.is_compiled(codes.dtype):
        kernels = import_module("minifp.runtime.cpu.kernels.scaled_state")
        kernels.encode(x, starts, codes, scales, format.max)
        return
    scales[:] = scales_of(np.maximum.reduceat(np.abs(x), starts.astype(np.intp)), format)
    with np.errstate(all="ignore"):
        y = np.clip(x * _spread(scales, starts, x.size), -format.max, format.max)
    codes[:] = formats.downcast(np.where(np.isfinite(x), y, x), format.stored)


def decode(codes: np.ndarray, scales: np.ndarray, starts: np.ndarray, x: np.ndarray) -> None:
    """Write the numbers of codes and their scales into x, (n) float32; the others as for encode."""
    if formats.worth_compiling(codes) and formats.is_compiled(codes.dtype):
        import_module("minifp.runtime.cpu.kernels.scaled_state").decode(codes, scales, starts, x)
        return
    np.divide(formats.upcast(codes, formats.float32), _spread(scales, starts, codes.size), out=x)


def _spread(scales, starts, n):
    """The scale of each of n numbers."""
    return np.repeat(scales, np.diff(starts, append=n).astype(np.intp))
