"""A number as a format stores it: sign, exponent and mantissa, its value and its neighbours.

Without its sign, the code of a number is an integer that grows with the number, through subnormals,
normals and on to Inf; so the next number is the next integer (IEEE 754).
"""

from dataclasses import dataclass
from fractions import Fraction

from minifp.numerics.formats import Format
from minifp.scope.explaining.exact import NAN, Exact


@dataclass(frozen=True)
class Stored:
    """A number in a format. bits: its code, as an unsigned integer."""

    format: Format
    bits: int

    @property
    def code(self) -> int:
        """The bits without the sign."""
        return self.bits & (self.sign_bit - 1)

    @property
    def sign_bit(self) -> int:
        """The highest bit, alone."""
        return 2 ** (self.format.exponent_bits + self.format.mantissa_bits)

    @property
    def negative(self) -> bool:
        """Whether the sign bit is set."""
        return self.bits >= self.sign_bit

    @property
    def exponent_field(self) -> int:
        """The stored exponent."""
        return self.code >> self.format.mantissa_bits

    @property
    def mantissa_field(self) -> int:
        """The stored mantissa, without the leading 1 that is not stored."""
        return self.code & (2**self.format.mantissa_bits - 1)

    @property
    def fields(self) -> tuple[str, str, str]:
        """Sign, exponent and mantissa, in binary."""
        return (
            "1" if self.negative else "0",
            f"{self.exponent_field:0{self.format.exponent_bits}b}",
            f"{self.mantissa_field:0{m}b}" if (m := self.format.mantissa_bits) else "",
        )

    @property
    def kind(self) -> str:
        """ "zero", "subnormal", "normal", "inf" or "nan"."""
        if not self.is_finite:
            is_inf = self.format.has_inf and self.code == self.format.largest_code + 1
            return "inf" if is_inf else "nan"
        if self.exponent_field:
            return "normal"
        return "subnormal" if self.significand else "zero"

    @property
    def is_finite(self) -> bool:
        """Whether it is neither Inf nor NaN."""
        return self.code <= self.format.largest_code

    @property
    def exponent(self) -> int:
        """The power of two that stands before the significand; all subnormals have the lowest."""
        return max(self.exponent_field, 1) - self.format.bias

    @property
    def significand(self) -> int:
        """The mantissa with its leading bit, as an integer: in units of the last place."""
        if not self.exponent_field:
            return self.mantissa_field * self.format.subnormals
        return self.mantissa_field + 2**self.format.mantissa_bits

    @property
    def number(self) -> Exact:
        """The number that is stored."""
        if not self.is_finite:
            return Exact(negative=self.negative, special="inf") if self.kind == "inf" else NAN
        unit = Fraction(2) ** (self.exponent - self.format.mantissa_bits)
        return Exact(self.significand * unit, self.negative)

    @property
    def value(self) -> Fraction | float:
        """Its value as a fraction; Inf and NaN as floats."""
        return self.number.value

    @property
    def above(self) -> "Stored | None":
        """The next larger number or Inf; None where there is none."""
        return self.neighbour(up=True)

    @property
    def below(self) -> "Stored | None":
        """The next smaller number or -Inf; None where there is none."""
        return self.neighbour(up=False)

    def neighbour(self, up: bool) -> "Stored | None":
        """The next number on one side, as nextafter has it."""
        if self.kind == "nan":
            return None
        first = 1 if self.format.subnormals else 2**self.format.mantissa_bits
        if self.code == 0:
            return Stored(self.format, first if up else self.sign_bit | first)
        if up == self.negative:
            return Stored(self.format, self.bits - (first if self.code == first else 1))
        if self.kind == "inf" or self.code == self.sign_bit - 1:
            return None
        further = Stored(self.format, self.bits + 1)
        return None if further.kind == "nan" else further

    def __str__(self) -> str:
        return str(self.number)
