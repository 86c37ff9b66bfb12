"""Rounding an exact number into a format, once: to nearest, ties to even.

    ulp = 2^(max(floor(log2 |x|), 1 - b) - m),    |x| / ulp = n + r,  0 <= r < 1

n is kept, and becomes n + 1 for r > 1/2, and for r = 1/2 where n is odd. What is then larger than
the largest number is Inf; in a format without Inf it is NaN (OFP8's mode that does not saturate,
in which PyTorch and ml_dtypes convert); and in one that saturates, or has no NaN either, it is the
largest number. numerics/format_codes.py does the same to arrays.
"""

from dataclasses import dataclass
from fractions import Fraction

from minifp.numerics.formats import Format
from minifp.scope.explaining.bit_fields import Stored
from minifp.scope.explaining.exact import Exact, power

HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Rounded(Stored):
    """What is stored of an exact number. exact: that number."""

    exact: Exact

    @property
    def ulp(self) -> Fraction:
        """The gap between the format's numbers where the exact one lies, or would be if the
        exponents went on."""
        return Fraction(2) ** (binade(self.exact, self.format) - self.format.mantissa_bits)

    @property
    def units(self) -> int:
        """The whole units of the last place in the exact number's magnitude."""
        return self.exact.magnitude // self.ulp

    @property
    def rest(self) -> Fraction:
        """What is left of it, in units of the last place: 0 <= rest < 1."""
        return self.exact.magnitude / self.ulp - self.units

    @property
    def is_exact(self) -> bool:
        """Whether nothing is lost. NaN stays NaN, where there is one."""
        if self.exact.special == "nan":
            return self.kind == "nan"
        return self.kind != "nan" and self.number.value == self.exact.value

    @property
    def saturates(self) -> bool:
        """Whether the largest number is stored of one that is too large, or of Inf."""
        if not self.is_finite or self.exact.special == "nan":
            return False
        return bool(self.exact.special) or code_of(self.exact, self.format) > self.code

    @property
    def event(self) -> str:
        """ "overflow" (a finite number is none any more, or saturates), "underflow" (not 0, but 0
        is stored; or rounded to a subnormal), or "" """
        if not self.exact.is_finite or self.is_exact:
            return ""
        if not self.is_finite or self.saturates:
            return "overflow"
        return "underflow" if self.kind in ("zero", "subnormal") else ""

    @property
    def error(self) -> Fraction | None:
        """What is stored minus the exact number; None if one of them is Inf or NaN."""
        if not (self.is_finite and self.exact.is_finite):
            return None
        return Fraction(self.value) - Fraction(self.exact.value)

    @property
    def relative_error(self) -> Fraction | None:
        """The error divided by the exact number; None where there is no such quotient."""
        if self.error is None or (self.exact.is_zero and self.error):
            return None
        return self.error / Fraction(self.exact.value) if self.error else Fraction(0)

    @property
    def error_in_ulp(self) -> Fraction | None:
        """The error in units of the last place: at most a half, but of what saturates, and of
        what is flushed where there are no subnormal numbers."""
        return None if self.error is None else self.error / self.ulp

    @property
    def direction(self) -> str:
        """How a finite number was rounded: "exact", "down", "up", "tie, down" or "tie, up"."""
        if self.rest == 0:
            return "exact"
        tie = "tie, " if self.rest == HALF else ""
        return tie + ("up" if self.is_outward != self.exact.negative else "down")

    @property
    def is_outward(self) -> bool:
        """Whether a finite number was rounded away from zero, Inf and NaN being the farthest."""
        return not self.is_finite or self.number.magnitude > self.exact.magnitude


def binade(x: Exact, format: Format) -> int:
    """The exponent with which a format stores numbers as large as x."""
    lowest = 1 - format.bias
    return lowest if x.magnitude == 0 else max(power(x.magnitude, 2), lowest)


def code_of(x: Exact, format: Format) -> int:
    """The code of a finite number's magnitude, as if the exponents went on."""
    e = binade(x, format)
    n, r = divmod(x.magnitude / Fraction(2) ** (e - format.mantissa_bits), 1)
    n += r > HALF or (r == HALF and n % 2)  # a carry goes on into the exponent, as it should
    code = ((e + format.bias - 1) << format.mantissa_bits) + int(n)
    return code if format.subnormals or code >> format.mantissa_bits else 0


def rounded(x: Exact, format: Format) -> Rounded:
    """An exact number as the format stores it. Where there is no NaN, it is a zero of the other
    sign, as in ml_dtypes."""
    sign = x.negative << (format.bits - 1)
    if x.special == "nan":
        nan = 1 << (format.bits - 1) if format.quiet_nan is None else format.quiet_nan
        return Rounded(format, nan, x)
    if x.special:
        return Rounded(format, sign | format.beyond, x)
    code = code_of(x, format)
    return Rounded(format, sign | (code if code <= format.largest_code else format.beyond), x)
