"""Numbers without rounding: fractions with a sign of their own, Inf and NaN, and what IEEE 754 says
of their sum, product and quotient. Decimal digits of them, correctly rounded.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

ZERO = Fraction(0)
SYMBOLS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}
ALL_DIGITS = 60  # significant digits up to which a number is written out,
FEW_DIGITS = 17  # and how many it is else rounded to, as many as tell all float64 apart


@dataclass(frozen=True)
class Exact:
    """A number: its magnitude as a fraction, its sign (of a zero too), or special: "inf", "nan"."""

    magnitude: Fraction = ZERO
    negative: bool = False
    special: str = ""

    @property
    def is_finite(self) -> bool:
        """Whether it is neither Inf nor NaN."""
        return not self.special

    @property
    def is_zero(self) -> bool:
        """Whether it is 0 or -0."""
        return self.is_finite and self.magnitude == 0

    @property
    def value(self) -> Fraction | float:
        """With its sign, as a fraction; Inf and NaN as floats."""
        if self.special:
            return float(("-" if self.negative else "") + self.special)
        return -self.magnitude if self.negative else self.magnitude

    @property
    def opposite(self) -> "Exact":
        """The same with the other sign."""
        return replace(self, negative=not self.negative)

    @classmethod
    def of(cls, value: Fraction | int | float) -> "Exact":
        """The number that a fraction, an integer or a float is."""
        if isinstance(value, float):
            sign, special = value.hex().startswith("-"), ""
            if value != value or value in (float("inf"), float("-inf")):
                special = "nan" if value != value else "inf"
            return cls(ZERO if special else abs(Fraction(value)), sign, special)
        return cls(abs(Fraction(value)), value < 0)

    def __str__(self) -> str:
        if self.special:
            return {"inf": "-Inf" if self.negative else "Inf", "nan": "NaN"}[self.special]
        return "-0" if self.is_zero and self.negative else decimal(self.value)


NAN = Exact(special="nan")

# ---- arithmetic ---------------------------------------------------------------------------------


def combine(a: Exact, symbol: str, b: Exact) -> Exact:
    """a + b, a - b, a * b or a / b, exactly; NaN and Inf where IEEE 754 has them."""
    if "nan" in (a.special, b.special):
        return NAN
    if symbol in "+-":
        return total(a, b.opposite if symbol == "-" else b)
    negative = a.negative != b.negative
    if symbol == "*":
        return replace(product(a, b), negative=negative)
    return replace(quotient(a, b), negative=negative)


def total(a: Exact, b: Exact) -> Exact:
    """a + b. Opposite numbers give 0, which is -0 only for -0 + -0."""
    if a.special and b.special:
        return a if a.negative == b.negative else NAN
    if a.special or b.special:
        return a if a.special else b
    value = Fraction(a.value) + Fraction(b.value)
    return Exact(abs(value), value < 0 if value else a.negative and b.negative)


def product(a: Exact, b: Exact) -> Exact:
    """|a| times |b|."""
    if a.special or b.special:
        return NAN if a.is_zero or b.is_zero else Exact(special="inf")
    return Exact(a.magnitude * b.magnitude)


def quotient(a: Exact, b: Exact) -> Exact:
    """|a| divided by |b|."""
    if a.special and b.special or a.is_zero and b.is_zero:
        return NAN
    if a.special or b.is_zero:
        return Exact(special="inf")
    return Exact() if b.special else Exact(a.magnitude / b.magnitude)


# ---- digits -------------------------------------------------------------------------------------


def power(x: Fraction, base: int) -> int:
    """The largest k with base^k <= x, of x > 0."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    if base == 10:
        k = k * 1233 // 4096  # log10(2), a little rounded; what is missing is found below
    while Fraction(base) ** k > x:
        k -= 1
    while Fraction(base) ** (k + 1) <= x:
        k += 1
    return k


def decimal(value: Fraction | float, digits: int = ALL_DIGITS) -> str:
    """The number in decimal digits: all of them if they are at most `digits`; else, after a "~",
    correctly rounded to FEW_DIGITS of them, or `digits` where that is less.
    """
    if isinstance(value, float):
        return str(Exact.of(value))
    if value == 0:
        return "0"
    text, is_exact = rounded_digits(value, digits)
    return text if is_exact else "~" + rounded_digits(value, min(digits, FEW_DIGITS))[0]


def rounded_digits(value: Fraction, digits: int) -> tuple[str, bool]:
    """(value to so many significant digits, ties to even; whether these are all)."""
    k = power(abs(value), 10)
    scaled = abs(value) * Fraction(10) ** (digits - 1 - k)
    whole = round(scaled)
    if whole == 10**digits:
        k, whole, scaled = k + 1, whole // 10, scaled / 10
    return ("-" if value < 0 else "") + placed(str(whole).rstrip("0"), k), whole == scaled


def placed(digits: str, k: int) -> str:
    """digits d.ddd times 10^k, as Python writes a float, but a whole number without ".0"."""
    if not -5 < k < FEW_DIGITS:
        first, rest = digits[0], digits[1:]
        return f"{first}.{rest}e{k:+03d}" if rest else f"{first}e{k:+03d}"
    if k < 0:
        return "0." + "0" * (-k - 1) + digits
    digits = digits.ljust(k + 1, "0")
    return f"{digits[: k + 1]}.{digits[k + 1 :]}".rstrip(".")
