"""A number format, described by its bits and by what it does at its ends.

With e exponent bits, m mantissa bits and the bias b, 2^(e-1) - 1 unless given, it holds normal
numbers (1 + k/2^m) 2^(x-b) and, where x = 0, subnormal ones (k/2^m) 2^(1-b). Which codes of the
highest exponent are numbers depends on how NaN is stored:

    nan = "ieee"    the highest exponent is that of Inf and NaN alone (IEEE 754)
    nan = "last"    all ones, in both fields, are NaN, and there is no Inf (float8_e4m3fn: OFP8)
    nan = "none"    all codes are numbers (float6 and float4: OCP Microscaling Formats 1.0)
"""

import re
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Any

import numpy as np

from minifp.checks import check_choice, check_count, check_flag
from minifp.derive.dtypes import NATIVE, dtype_of, for_numpy
from minifp.errors import ArgumentError, PrecisionError
from minifp.numerics.precision_grammar import FLAGS, read_settings, written_settings

NANS = ("ieee", "last", "none")
BITS = re.compile(r"e(\d+)m(\d+)")
MEANINGS = {  # of what a name sets behind its bits, for `minifp help precision`
    "nan": "which codes are NaN: ieee (Inf and NaN have an exponent), last (all ones) or none",
    "own_bias": "what is subtracted from the stored exponent; 2^(e-1) - 1 unless set",
    "subnormals": "whether there are numbers below the smallest normal one: on or off",
    "saturates": "whether what is too large becomes the largest number, not Inf: on or off",
}
LIMITS = {"exponent_bits": (2, 11), "mantissa_bits": (0, 52)}  # float64's, in which it is computed


@dataclass(frozen=True)
class Format:
    """One number format. Limits are Python floats; `eps` is the gap between 1 and the next.

    Format("e5m7") has 5 bits of exponent and 7 of mantissa; the text may set the other fields too:
    "e4m3+nan=last", "e5m10+subnormals=off+saturates=on". name: of the format, or that text.
    exponent_bits, mantissa_bits: None where the name says them. nan: see above. own_bias: another
    bias than 2^(e-1) - 1. subnormals: whether it has any; without them, numbers below the smallest
    normal one are 0. saturates: whether numbers that are too large become the largest number
    instead of Inf (or NaN, without Inf).

    Raises PrecisionError for a name without bits if no bits are given, and ArgumentError for more
    bits than float64 has, or a bias with which float64 cannot hold all numbers.
    """

    name: str
    exponent_bits: Any = None
    mantissa_bits: Any = None
    nan: str = "ieee"
    own_bias: int | None = None
    subnormals: bool = True
    saturates: bool = False

    def __post_init__(self) -> None:
        if self.exponent_bits is None and self.mantissa_bits is None:
            bits, settings = read_settings(str(self.name))
            said = BITS.fullmatch(bits)
            if said is None:
                raise PrecisionError(
                    f"Format({self.name!r}): expected the bits of exponent and mantissa, as in "
                    "'e5m7'"
                )
            for field, text in zip(LIMITS, said.groups()):
                object.__setattr__(self, field, int(text))
            for field, text in settings:
                object.__setattr__(self, field, self._read(field, text))
            object.__setattr__(self, "name", self.text)
        for field, (least, most) in LIMITS.items():
            what = f"Format {self.name!r}: {field}"
            if check_count(what, getattr(self, field), least) > most:
                raise ArgumentError(f"{what}={getattr(self, field)}: expected at most {most}")
        check_choice(f"Format {self.name!r}: nan", self.nan, NANS)
        check_flag(f"Format {self.name!r}: subnormals", self.subnormals)
        check_flag(f"Format {self.name!r}: saturates", self.saturates)
        if self.own_bias is not None:
            self._check_bias()
        if self.nan == "ieee" and not self.mantissa_bits:
            raise ArgumentError(
                f"Format {self.name!r}: no mantissa bits to tell Inf from NaN: expected "
                "nan='last' or 'none'"
            )

    def _read(self, field, text):
        """The value of an option in a name."""
        kind = next((f.type for f in fields(self)[3:] if f.name == field), None)
        if kind is bool and text in FLAGS:
            return FLAGS[text]
        if kind is str:
            return text
        if kind is not None and kind is not bool and text.removeprefix("-").isdecimal():
            return int(text)
        raise PrecisionError(
            f"Format({self.name!r}): {field}={text}: expected nan=ieee, last or none, "
            "own_bias=a whole number, subnormals=on or off, or saturates=on or off"
        )

    def _check_bias(self):
        """Its normal numbers must be normal ones of float64: from 2^-1022 to below 2^1024."""
        low, high = 2**self.exponent_bits - 1024, 1023
        bias: Any = self.own_bias
        is_whole = isinstance(bias, (int, np.integer)) and not isinstance(bias, bool)
        if not is_whole or not low <= bias <= high:
            raise ArgumentError(
                f"Format {self.name!r}: own_bias={bias!r}: expected an integer from {low} to "
                f"{high}, so that float64 holds all its numbers"
            )

    @property
    def text(self) -> str:
        """All that it is, as a name says it: "e4m3+nan=last"."""
        said = [(field.name, getattr(self, field.name)) for field in fields(self)[3:]]
        plain = {field.name: field.default for field in fields(self)}
        settings = [(name, value) for name, value in said if value != plain[name]]
        return written_settings(f"e{self.exponent_bits}m{self.mantissa_bits}", settings)

    @property
    def stored(self) -> np.dtype:
        """The dtype that stores it: see minifp/derive/dtypes.py.

        Raises PrecisionError for a format of numbers that float32 does not hold, in which minifp
        computes, unless it is float64.
        """
        name = NAMES.get(self.text, self.text)
        if not self.fits_float32 and name not in NATIVE:
            raise PrecisionError(
                f"tensors of format {self.name}: expected a format whose numbers float32 can "
                "hold (at most 8 bits of exponent and 23 of mantissa, and a bias near float32's)"
            )
        return dtype_of(name, self.bytes)

    @property
    def dtype(self) -> np.dtype:
        """What NumPy asks for: `stored`. Raises DTypeError for a format that NumPy lacks."""
        return for_numpy(self.stored)

    @property
    def fits_float32(self) -> bool:
        """Whether float32 holds all of its numbers."""
        held = self.mantissa_bits <= 23 and self.exponent_bits <= 8
        return held and self.max < 2.0**128 and self.smallest_subnormal >= 2.0**-149

    def holds(self, other: "Format") -> bool:
        """Whether all numbers of another format are numbers of this one."""
        fine = self.mantissa_bits >= other.mantissa_bits
        fine &= self.smallest_subnormal <= other.smallest_subnormal
        return bool(fine and self.max >= other.max)

    @property
    def has_inf(self) -> bool:
        """Whether it has Inf."""
        return self.nan == "ieee"

    @property
    def bits(self) -> int:
        """Of a code: the sign's, the exponent's and the mantissa's."""
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bytes(self) -> int:
        """Bytes an element takes: of the smallest unsigned integer that holds a code."""
        return next(n for n in (1, 2, 4, 8) if self.bits <= 8 * n)

    @property
    def bias(self) -> int:
        """What is subtracted from the stored exponent."""
        return 2 ** (self.exponent_bits - 1) - 1 if self.own_bias is None else self.own_bias

    @cached_property
    def largest_code(self) -> int:
        """That of the largest finite number, without its sign."""
        if self.nan == "ieee":
            return ((2**self.exponent_bits - 1) << self.mantissa_bits) - 1
        return 2 ** (self.bits - 1) - (2 if self.nan == "last" else 1)

    @property
    def beyond(self) -> int:
        """The code of what is too large, without its sign: Inf, NaN, or the largest number."""
        return self.largest_code + (self.nan != "none" and not self.saturates)

    @property
    def quiet_nan(self) -> int | None:
        """The code of NaN, without its sign; None where there is none."""
        if self.nan == "none":
            return None
        return self.largest_code + 1 + (2 ** (self.mantissa_bits - 1) if self.has_inf else 0)

    @cached_property
    def max(self) -> float:
        """The largest finite number."""
        exponent, mantissa = divmod(self.largest_code, 2**self.mantissa_bits)
        return (1 + mantissa * self.eps) * 2.0 ** (exponent - self.bias)

    @property
    def smallest_normal(self) -> float:
        """The smallest number with the full mantissa."""
        return 2.0 ** (1 - self.bias)

    @property
    def smallest_subnormal(self) -> float:
        """The smallest positive number. Half of it, and less, rounds to 0."""
        return self.smallest_normal * (self.eps if self.subnormals else 1.0)

    @property
    def eps(self) -> float:
        """The gap between 1 and the next number: twice the largest relative rounding error."""
        return 2.0**-self.mantissa_bits

    def ulp(self, x: Any) -> np.ndarray:
        """The gap between the format's numbers at the magnitude of x (float64 array)."""
        x = np.maximum(np.abs(np.asarray(x, np.float64)), self.smallest_normal)
        return np.ldexp(1.0, np.frexp(x)[1] - 1 - self.mantissa_bits)


FORMATS = {
    f.name: f
    for f in (
        Format("float16", 5, 10),
        Format("float32", 8, 23),
        Format("float64", 11, 52),
        Format("bfloat16", 8, 7),
        Format("float8_e4m3fn", 4, 3, nan="last"),
        Format("float8_e5m2", 5, 2),
        Format("float6_e3m2", 3, 2, nan="none"),
        Format("float6_e2m3", 2, 3, nan="none"),
        Format("float4_e2m1", 2, 1, nan="none"),
    )
}
NAMES = {format.text: name for name, format in FORMATS.items()}
# What operands of products may be rounded to, and nothing is stored in: float32 with 10 bits of
# mantissa, as tensor cores read it (NVIDIA A100 Tensor Core GPU Architecture, 2020).
OPERAND_FORMATS = {"tf32": Format("tf32", 8, 10)}


@cache
def format_named(name: str) -> Format | None:
    """The format of a name of FORMATS, or of a text such as "e5m7"; None where it is neither."""
    if name not in FORMATS and not BITS.fullmatch(read_settings(name)[0]):
        return None
    format = FORMATS.get(name) or Format(name)
    return FORMATS.get(NAMES.get(format.text, ""), format)


def operand_format(name: str) -> Format | None:
    """The same of what operands of products are rounded to."""
    return OPERAND_FORMATS.get(name) or format_named(name)


def not_stored(name: Any) -> str:
    """The end of an error: why nothing is stored in a format of operands; "" of another."""
    format = OPERAND_FORMATS.get(name) if isinstance(name, str) else None
    if format is None:
        return ""
    return (
        f" ({name} has {format.bits} bits, and is for operands of products only: operands={name}; "
        f'to store its numbers, use "{format.text}")'
    )
