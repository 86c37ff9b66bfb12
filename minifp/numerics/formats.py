"""The table of number formats, and rounding into those that tensors are stored in.

number_format.py says what a format is, format_codes.py has the reference of all conversions.
Rounding here is to nearest, ties to even. A further format is one more entry of FORMATS, and a way
to round into it where NumPy's own cast is not good enough. DESCRIBED has, besides, formats that can
be looked at (minifp/scope/) and not trained in.
"""

import sys
from importlib import import_module
from typing import Any, Literal

import numpy as np

from minifp.errors import PrecisionError
from minifp.numerics.number_format import Format
from minifp.runtime import cpu
from minifp.typing import DType

FORMATS = {
    f.name: f
    for f in (Format("float16", 5, 10), Format("float32", 8, 23), Format("float64", 11, 52))
}
# All that can be explained, the widest first. float8: E4M3 without Inf ("fn": finite, with NaN) and
# E5M2, as in the OCP's 8-bit Floating Point Specification (OFP8), revision 1.0.
DESCRIBED = {
    f.name: f
    for f in (
        *reversed(FORMATS.values()),
        Format("bfloat16", 8, 7),
        Format("float8_e4m3fn", 4, 3, nan="last"),
        Format("float8_e5m2", 5, 2),
    )
}

float16, float32, float64 = (f.dtype for f in FORMATS.values())
int32, int64, uint8, bool_ = (np.dtype(n) for n in ("int32", "int64", "uint8", "bool"))


SPELLED = {  # names that others have for a format -> its own
    **dict.fromkeys(("fp16", "f16", "float16", "half"), float16.name),
    **dict.fromkeys(("fp32", "f32", "float32", "float"), float32.name),
    **dict.fromkeys(("fp64", "f64", "float64", "double"), float64.name),
}


def format_of(dtype: DType) -> Format:
    """The Format of a floating dtype, given as a dtype or by name."""
    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name
    if name not in FORMATS:
        raise PrecisionError(f"no number format {name!r}: expected one of {', '.join(FORMATS)}")
    return FORMATS[name]


NATIVE = {float16, float32, float64}


def as_dtype(dtype: Any) -> np.dtype:
    """The dtype named by a string, a NumPy type or a dtype. Raises PrecisionError otherwise."""
    if isinstance(dtype, np.dtype) and dtype in NATIVE:
        return dtype
    try:
        found = None if dtype is None else np.dtype(dtype).newbyteorder("=")
    except (TypeError, ValueError, SyntaxError, Warning):  # NumPy's, for odd texts
        found = None
    if (
        found is None
        or found.kind not in "fiub"
        or (found.kind == "f" and found.name not in FORMATS)
    ):
        instead = SPELLED.get(str(dtype).lower().removeprefix("torch."))
        raise PrecisionError(
            f"no dtype {dtype!r}: expected {', '.join(FORMATS)}, an integer dtype or bool"
            + (f'; did you mean "{instead}"?' if instead else "")
        )
    return found


def is_float(dtype: np.dtype) -> bool:
    """Whether a dtype is a floating format."""
    return dtype.kind == "f"


# ---- rounding ---------------------------------------------------------------------------------
#
# NumPy converts halves one by one (3 to 9 ns, and 70 to 90 ns for each subnormal result). The same
# bits come out of integer arithmetic on whole blocks that stay in the cache (under 2 ns), and of a
# table of all 65,536 halves for the way back. Compiled, they take 0.3 ns: runtime/cpu/convert.py.

BLOCK = 16384  # elements: its temporaries, 64 KiB each, stay in the L2 cache
MANY = 2**16  # elements that are worth loading what compiles,
SOME = 2**10  # and, where it is loaded, worth a call
_WIDE_HALVES = np.arange(65536, dtype=np.uint16).view(float16).astype(float32)


def _compiled(x):
    """minifp.runtime.cpu.convert, where it can be had and is worth it for x, or else None."""
    if x.size < SOME or type(x) is not np.ndarray:
        return None
    if (x.size < MANY and "minifp.runtime.cpu.pool" not in sys.modules) or not cpu.can_compile():
        return None
    return import_module("minifp.runtime.cpu.convert")


def upcast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """x in a format that holds all its values, without copying where it already is in it."""
    compiled = _compiled(x) if x.dtype == float16 else None
    if compiled and compiled.can_convert(x, dtype):
        return compiled.converted(x, dtype)
    if type(x) is np.ndarray and x.dtype == float16 and dtype != float16:
        x = _WIDE_HALVES.take(x.view(np.uint16), mode="clip")  # clip: not checked, all are valid
    if x.dtype == dtype:
        return x
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return x.astype(dtype)


def downcast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """x rounded once to `dtype`, to nearest even, without copying where it already is in it.

    Overflow gives Inf, as in hardware, and no warning: a caller that wants one looks for it.
    """
    if x.dtype == dtype:
        return x
    compiled = _compiled(x) if dtype == float16 else None
    if compiled and compiled.can_convert(x, dtype):
        return compiled.converted(x, dtype)
    if dtype == float16 and x.dtype == float32 and type(x) is np.ndarray and x.size:
        return _narrow_to_half(x)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return x.astype(dtype)


def _narrow_to_half(x):
    x = np.asarray(x, order="C") if not x.flags.forc else x
    order: Literal["C", "F"] = "F" if x.flags.fnc else "C"
    out = np.empty(x.shape, np.uint16, order=order)
    source, target = x.reshape(-1, order=order).view(np.uint32), out.reshape(-1, order=order)
    n = min(BLOCK, x.size)
    scratch = np.empty((3, n), np.uint32)
    for start in range(0, x.size, n):
        bits = source[start : start + n]
        sign, magnitude, half = scratch[:, : bits.size]
        np.bitwise_and(bits, 0x80000000, out=sign)
        np.bitwise_xor(bits, sign, out=magnitude)
        # Normal results: move the exponent's bias from 127 to 15, add just under half an ulp, and
        # one more where the last kept bit is odd; a carry into the exponent is as it should be.
        np.right_shift(magnitude, 13, out=half)
        half &= 1
        half += magnitude
        half += 0x100000000 - (112 << 23) + 0xFFF
        half >>= 13
        np.minimum(half, 0x7C00, out=half)
        if magnitude.max() > 0x7F800000:
            np.copyto(half, 0x7E00, where=magnitude > 0x7F800000)  # NaN
        # Subnormal results: adding 0.5, whose ulp is 2^-24, rounds to a multiple of 2^-24.
        small = magnitude < 0x38800000
        if small.any():
            as_float = magnitude.view(float32)
            with np.errstate(invalid="ignore"):  # signalling NaNs elsewhere in the block
                as_float += float32.type(0.5)
            magnitude -= 0x3F000000
            np.copyto(half, magnitude, where=small)
        sign >>= 16
        np.bitwise_or(half, sign, out=target[start : start + n], casting="unsafe")
    return out.view(float16)


def round_to(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """x rounded to the numbers of `dtype`, but still stored in x's own, wider, format."""
    if x.dtype == dtype:
        return x
    if dtype == float16 and x.dtype == float32 and type(x) is np.ndarray and x.size:
        compiled = _compiled(x)
        if compiled and x.flags.aligned:
            return compiled.rounded_to_half(x)
        return _rounded_to_half(x)
    return upcast(downcast(x, dtype), x.dtype)


def _rounded_to_half(x):
    """Adding and taking away 1.5 x 2^13 times a number's power of two leaves its first 11 bits."""
    source = np.ascontiguousarray(x).reshape(-1)
    out = np.empty_like(source)
    n = min(BLOCK, source.size)
    scratch = np.empty(n, np.uint32)
    with np.errstate(all="ignore"):
        for start in range(0, source.size, n):
            part, y = source[start : start + n], out[start : start + n]
            power = scratch[: part.size]
            np.bitwise_and(part.view(np.uint32), 0x7F800000, out=power)
            largest = power.max()
            np.maximum(power, 0x38800000, out=power)  # subnormals: the same step, 2^-24, for all
            power += (13 << 23) + 0x400000
            np.add(part, power.view(float32), out=y)
            y -= power.view(float32)
            if largest >= 0x47000000:  # 2^15: what rounds to 2^16 or more is Inf
                np.copyto(y, part * float32.type(np.inf), where=~(np.abs(part) < 65520.0))
            np.copysign(y, part, out=y)  # -0, and what rounds to it
    return out.reshape(x.shape)
