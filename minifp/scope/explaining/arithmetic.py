"""One operation in one format, step by step: the operands are rounded, the exact result of what is
stored is found, and it is rounded once, as IEEE 754 asks of +, -, * and /.
"""

from dataclasses import dataclass
from fractions import Fraction

from minifp.numerics.formats import Format
from minifp.scope.explaining.bit_fields import Stored
from minifp.scope.explaining.exact import SYMBOLS, Exact, combine
from minifp.scope.explaining.rounding import Rounded, rounded


@dataclass(frozen=True)
class Alignment:
    """How a sum brings its smaller operand to the exponent of the larger one.

    shift: by how many bits the smaller significand moves to the right. fallen: those of its bits
    that come to lie below the last place of the larger one, as an integer of `shift` bits.
    """

    larger: Stored
    smaller: Stored
    shift: int
    fallen: int

    @property
    def staying(self) -> int:
        """The bits of the smaller significand that still have a place."""
        return self.smaller.significand >> self.shift


@dataclass(frozen=True)
class Operation:
    """a (symbol) b in a format. true: the exact result of the numbers as they were given."""

    a: Rounded
    symbol: str
    b: Rounded
    result: Rounded
    true: Exact

    @property
    def format(self) -> Format:
        """The format of all three."""
        return self.result.format

    @property
    def exact(self) -> Exact:
        """The exact result of the operands as they are stored."""
        return self.result.exact

    @property
    def alignment(self) -> Alignment | None:
        """Of a sum or difference of numbers other than 0; None of all else."""
        finite = self.a.is_finite and self.b.is_finite
        if self.symbol not in "+-" or not finite or 0 in (self.a.code, self.b.code):
            return None
        larger, smaller = (self.a, self.b) if self.a.code >= self.b.code else (self.b, self.a)
        shift = larger.exponent - smaller.exponent
        return Alignment(larger, smaller, shift, smaller.significand & (2**shift - 1))

    @property
    def vanishing(self) -> Alignment | None:
        """The alignment where the smaller operand changes nothing, though it is not 0."""
        if self.alignment is None or not self.result.is_finite:
            return None
        larger = self.alignment.larger
        return self.alignment if self.result.code == larger.code else None

    @property
    def half_gap(self) -> Fraction | None:
        """Half the way from the larger operand of a sum to its neighbour on the sum's side."""
        if self.alignment is None:
            return None
        larger = self.alignment.larger
        outward = self.exact.magnitude > larger.number.magnitude
        if outward:
            return Fraction(2) ** (larger.exponent - self.format.mantissa_bits) / 2
        inner = Stored(self.format, larger.code - 1)
        return (larger.number.magnitude - inner.number.magnitude) / 2

    @property
    def cancelled(self) -> int:
        """How many leading bits a sum or difference has lost by cancellation."""
        if self.alignment is None or not self.result.is_finite or not self.result.code:
            return 0
        width = self.alignment.larger.significand.bit_length() + self.alignment.larger.exponent
        return max(0, width - self.result.significand.bit_length() - self.result.exponent)

    @property
    def product(self) -> int | None:
        """The product of the significands, as an integer; None of other operations."""
        if self.symbol != "*" or not (self.a.is_finite and self.b.is_finite):
            return None
        return self.a.significand * self.b.significand

    @property
    def is_exact(self) -> bool:
        """Whether the operation itself lost nothing; its operands may have."""
        return self.result.is_exact

    @property
    def total_error(self) -> Fraction | None:
        """The result minus that of the numbers as given; None if one is Inf or NaN."""
        if not (self.result.is_finite and self.true.is_finite):
            return None
        return Fraction(self.result.value) - Fraction(self.true.value)

    @property
    def relative_error(self) -> Fraction | None:
        """The same divided by the true result; None where there is no such quotient."""
        if self.total_error is None or (self.true.is_zero and self.total_error):
            return None
        return self.total_error / Fraction(self.true.value) if self.total_error else Fraction(0)


def operation(a: Exact, symbol: str, b: Exact, format: Format) -> Operation:
    """What a (symbol) b becomes in a format. symbol: one of SYMBOLS."""
    assert symbol in SYMBOLS
    first, second = rounded(a, format), rounded(b, format)
    result = rounded(combine(first.number, symbol, second.number), format)
    return Operation(first, symbol, second, result, combine(a, symbol, b))
