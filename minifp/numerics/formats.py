"""Which dtype stores which format, and rounding into it, to nearest, ties to even.

number_format.py says what a format is and has the table of those that have names, format_codes.py
the reference of all conversions. What is faster than it is here: for float16, and, where it can be
compiled, for the formats of runtime/cpu/emit/formats_ir.py.
"""

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from minifp.derive.dtypes import CODED, COMPILED, name_of, shown
from minifp.derive.dtypes import NATIVE as NATIVE_FORMATS
from minifp.derive.dtypes import dtype as Dtype
from minifp.errors import DTypeError, PrecisionError
from minifp.numerics.format_codes import codes_of, values_of
from minifp.numerics.number_format import FORMATS, Format, format_named, not_stored
from minifp.runtime import cpu
from minifp.runtime.browser import IN_BROWSER
from minifp.runtime.callers import warn_once
from minifp.runtime.cuda.arrays import is_on_device

DESCRIBED = {  # those that `fp.explain` shows, widest first
    name: FORMATS[name]
    for name in ("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
}

float16, float32, float64 = (FORMATS[n].stored for n in NATIVE_FORMATS)
bfloat16, float8_e4m3fn, float8_e5m2 = (
    shown(FORMATS[name].stored) for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")
)
int32, int64, uint8, bool_ = (np.dtype(n) for n in ("int32", "int64", "uint8", "bool"))

SPELLED = {  # names that others have for a format -> its own
    **dict.fromkeys(("fp16", "f16", "float16", "half"), float16.name),
    **dict.fromkeys(("fp32", "f32", "float32", "float"), float32.name),
    **dict.fromkeys(("fp64", "f64", "float64", "double"), float64.name),
    **dict.fromkeys(("bf16", "brain"), "bfloat16"),
    **dict.fromkeys(("e4m3fn", "fp8", "float8", "fp8_e4m3", "float8_e4m3"), "float8_e4m3fn"),
    **dict.fromkeys(("e5m2", "fp8_e5m2"), "float8_e5m2"),
}
TYPED = {  # of PyTorch's older constructors, the dtype of each
    **{"FloatTensor": float32.name, "DoubleTensor": float64.name, "HalfTensor": float16.name},
    **{"BFloat16Tensor": bfloat16.name, "LongTensor": int64.name, "IntTensor": int32.name},
    **{"ByteTensor": uint8.name, "BoolTensor": bool_.name},
}
THEIRS = {  # as ml_dtypes calls them
    **{name: name for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2")},
    **{f"{name}fn": name for name in ("float6_e3m2", "float6_e2m3", "float4_e2m1")},
}


def format_of(dtype: Any) -> Format:
    """The Format of a floating dtype, given as a dtype or by name.

    Raises PrecisionError for what is none.
    """
    number_format = _format(dtype) if isinstance(dtype, np.dtype) else None
    if number_format is None:
        number_format = dtype if isinstance(dtype, Format) else _format(as_dtype(dtype))
    if number_format is None:
        raise PrecisionError(f"no number format {dtype!r}: expected one of {names()}")
    return number_format


@cache
def _format(dtype):
    """The Format that a dtype of NumPy's stores; None where it stores none."""
    if dtype.kind == "V" and dtype.names:
        format = format_named(dtype.names[0])
        return format if format is not None and format.stored == dtype else None
    return FORMATS.get(name_of(dtype)) if dtype.kind == "f" and dtype.isnative else None


def names() -> str:
    """What formats are called, for messages."""
    return ", ".join([*FORMATS, "or its bits as in 'e5m7'"])


def as_dtype(dtype: Any) -> np.dtype:
    """The dtype named by a string, a NumPy type or dtype, a Format, or a dtype of ml_dtypes'.

    Raises PrecisionError otherwise.
    """
    if isinstance(dtype, np.dtype) and _format(dtype) is not None:
        return dtype
    if isinstance(dtype, Dtype):
        return dtype.codes
    if isinstance(dtype, Format):
        return dtype.stored
    format = format_named(dtype) if isinstance(dtype, str) else None
    if format is not None:
        return format.stored
    own = getattr(dtype, "dtype", None) if isinstance(dtype, type) else None
    if isinstance(own, Dtype):
        return own.codes  # such as fp.FloatTensor's
    if dtype is int:
        return np.dtype(np.int64)  # NumPy's has 32 bits in a browser
    try:
        kind = None if dtype is None else np.dtype(dtype).newbyteorder("=")
    except (TypeError, ValueError, SyntaxError, Warning):  # NumPy's, for odd texts
        kind = None
    if kind is not None and kind.kind == "V":
        # of ml_dtypes, or the one field that dtypes of codes once had
        name = THEIRS.get(kind.name, "") if not kind.names else kind.names[0]
        format = format_named(name)
        if format is not None and format.bytes == kind.itemsize:
            return format.stored
    if kind is None or kind.kind not in "fiub" or (kind.kind == "f" and kind.name not in FORMATS):
        instead = SPELLED.get(str(dtype).lower().removeprefix("torch."))
        raise PrecisionError(
            f"no dtype {dtype!r}: expected {names()}, an integer dtype or bool"
            + (f'; did you mean "{instead}"?' if instead else not_stored(dtype))
        )
    return kind


FLOATING = {float16, float32, float64, *CODED}  # dtypes, but for formats by bits
STORED = {np.dtype(f"{kind}{n}") for kind in "iu" for n in (1, 2, 4, 8)}
STORED |= {bool_, *FLOATING}  # what tensors have, but for formats by bits
NUMBERS = "floating numbers, integers or booleans"
INSTEAD = {  # of NumPy's dtypes, by kind: what to write in place of an array
    "c": "array.real and array.imag, or np.abs(array)",
    "f": "array.astype(np.float64), the widest that there is",
    **dict.fromkeys("OSUT", "array.astype(np.float64), if it holds numbers, all of one shape"),
    "M": 'differences as numbers, such as (array - array[0]) / np.timedelta64(1, "D")',
    "m": 'array / np.timedelta64(1, "s")',
    "V": "one field, array[name]",
}


def of_numbers(array: Any) -> Any:
    """An array in a dtype that tensors have: itself; in the machine's byte order; or codes, on the
    same memory, of those of ml_dtypes and of earlier versions. Of a class made from NumPy's, such
    as its matrix, the plain array. Raises DTypeError for others."""
    if type(array) is not np.ndarray and isinstance(array, np.ndarray):
        array = array.view(np.ndarray)
    dtype = array.dtype
    if dtype in STORED or (dtype.kind == "V" and _format(dtype) is not None):
        return array
    try:
        own = as_dtype(dtype)
    except PrecisionError:
        instead = INSTEAD.get(dtype.kind)
        raise DTypeError(
            f"data of type {dtype}: expected {NUMBERS}{f': write {instead}' if instead else ''}"
        ) from None
    return array.view(own) if own.kind == "V" else array.astype(own)


def is_float(dtype: Any) -> bool:
    """Whether a dtype is a floating format."""
    return dtype.kind == "f" or (dtype.kind == "V" and _format(dtype) is not None)


def is_narrow(dtype: Any) -> bool:
    """Whether a dtype is a floating format of fewer bits than float32."""
    return is_float(dtype) and format_of(dtype).bits < 32


USUAL = frozenset({None, float16, float32})


def is_compiled(dtype: np.dtype) -> bool:
    """Whether compiled kernels read and write a dtype, if it is a floating one."""
    return dtype.kind != "V" or dtype in COMPILED


def all_compiled(stored: tuple) -> bool:
    """Whether compiled kernels write all of these dtypes; None is one of theirs."""
    return USUAL.issuperset(stored) or all(d is None or is_compiled(d) for d in stored)


def wider(a: np.dtype, b: np.dtype) -> np.dtype:
    """The narrowest format that holds the numbers of both."""
    a, b = as_dtype(a), as_dtype(b)
    if a == b:
        return a
    if a.kind != "V" != b.kind:
        return np.promote_types(a, b)
    both = [format_of(dtype) for dtype in (a, b) if is_float(dtype)]
    holding = [*both, FORMATS["float16"], FORMATS["float32"], FORMATS["float64"]]
    return next(f.stored for f in holding if all(map(f.holds, both)))


def numbers_in(x: np.ndarray) -> np.ndarray:
    """What to hand out of an array that is stored: the array itself where NumPy has its format.

    Of another format an array on the same memory, of ml_dtypes' dtype, where that is installed and
    has it; or else a copy in float32, of which is told once.
    """
    if x.dtype.kind != "V":
        return x
    own = format_of(x.dtype).name
    theirs = {name: their_name for their_name, name in THEIRS.items()}.get(own)
    if theirs is not None and find_spec("ml_dtypes") is not None:
        return x.view(getattr(import_module("ml_dtypes"), theirs))
    warn_once(
        f"numpy of {own}",
        f".numpy() of a tensor of {own} is a copy in float32, because NumPy lacks that format: "
        "writing into it changes no tensor. If you want that, write x.float().numpy()"
        + (
            "; with ml_dtypes installed, you get an ml_dtypes array on the same memory"
            * bool(theirs)
        ),
    )
    return as_native(x)


def as_native(x: np.ndarray) -> np.ndarray:
    """An array with which NumPy can compute: itself, or in float32 where NumPy lacks its format."""
    return x if x.dtype.kind != "V" else upcast(x, float32)


def just_below(high: float, low: float, dtype: np.dtype) -> float:
    """The number before `high`, rounded, of a dtype's; `high` itself where `low` is no smaller."""
    if dtype.kind != "V":
        return float(np.nextafter(dtype.type(high), dtype.type(low)))
    format = format_of(dtype)
    code = int(codes_of(np.asarray(high, float64), format)[()])
    sign = 1 << (format.bits - 1)
    if low >= high:
        return float(values_of(code, format))
    up = code >= sign or code == 0  # in magnitude
    return float(values_of((code | sign) + 1 if up else code - 1, format))


def as_stored(value: float, dtype: np.dtype) -> Any:
    """A number as arrays of a dtype are filled with it: of that dtype where NumPy lacks it."""
    return value if dtype.kind != "V" else downcast(np.asarray(value, float64), dtype)[()]


# ---- rounding ---------------------------------------------------------------------------------
#
# NumPy converts halves one by one (3 to 9 ns, and 70 to 90 ns for each subnormal result). The same
# bits come out of integer arithmetic on whole blocks that stay in the cache (under 2 ns), and of a
# table of all 65,536 halves for the way back. Compiled, they take 0.3 ns: cpu/kernels/convert.py.

BLOCK = 16384  # elements: its temporaries, 64 KiB each, stay in the L2 cache
MANY = 2**16  # elements that are worth loading what compiles,
SOME = 2**10  # and, where it is loaded, worth a call
_WIDE_HALVES = np.arange(65536, dtype=np.uint16).view(float16).astype(float32)


def worth_compiling(x: Any, least: int = SOME) -> bool:
    """Whether kernels that are compiled can be had, and are worth a call for x. least: numbers that
    are, where such kernels are loaded."""
    if x.size < least or type(x) is not np.ndarray:
        return False
    return (
        x.size >= MANY or "minifp.runtime.cpu.kernels.pool" in sys.modules
    ) and cpu.can_compile()


def _compiled(x):
    """The compiled conversions, where they can be had and are worth it for x, or else None."""
    return import_module("minifp.runtime.cpu.kernels.convert") if worth_compiling(x) else None


def upcast(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """x in a format that holds all its values, without copying where it already is in it."""
    compiled = _compiled(x) if x.dtype == float16 or x.dtype.kind == "V" else None
    if compiled and compiled.can_convert(x, dtype):
        return compiled.converted(x, dtype)
    if x.dtype.kind == "V" and x.dtype != dtype:
        if is_on_device(x):
            return import_module("minifp.runtime.cuda.pointwise").cast(x, dtype)
        format, codes = format_of(x.dtype), x.view(x.dtype[0])
        if format.bits < 8 * format.bytes:  # in memory that was never set there is anything
            codes = np.bitwise_and(codes, codes.dtype.type(2**format.bits - 1))
        return downcast(values_of(codes, format), dtype)
    if type(x) is np.ndarray and x.dtype == float16 and dtype != float16 and not IN_BROWSER:
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
    if dtype.kind == "V":
        dtype = as_dtype(dtype)
        if is_on_device(x):
            return import_module("minifp.runtime.cuda.pointwise").cast(x, dtype)
    compiled = _compiled(x) if dtype == float16 or dtype.kind == "V" else None
    if compiled and compiled.can_convert(x, dtype):
        return compiled.converted(x, dtype)
    if x.dtype.kind == "V":
        x = upcast(x, float32)
    if dtype.kind == "V":
        wide = np.asarray(x, None if x.dtype.kind == "f" else float64)
        return codes_of(wide, format_of(dtype)).view(dtype)
    if dtype == float16 and x.dtype == float32 and type(x) is np.ndarray and x.size:
        return _cast_to_half(x) if IN_BROWSER else _narrow_to_half(x)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return x.astype(dtype)


def _cast_to_half(x):
    """NumPy's own conversion, which is the faster one in WebAssembly, with one NaN for all."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        half = x.astype(float16)
    magnitude = half.view(np.uint16) & np.uint16(0x7FFF)
    if magnitude.max() > 0x7C00:
        nan = np.copysign(half.dtype.type(np.nan), half)
        np.copyto(half, nan, where=magnitude > 0x7C00)
    return half


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
        return upcast(_cast_to_half(x), float32) if IN_BROWSER else _rounded_to_half(x)
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
