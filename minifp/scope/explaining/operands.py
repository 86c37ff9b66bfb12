"""What can be explained: Python's numbers, texts, and single elements of arrays, read exactly."""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from minifp.autograd.tape import Tensor
from minifp.derive.dtypes import name_of
from minifp.errors import ArgumentError, DTypeError, ShapeError
from minifp.numerics.formats import as_native, format_named, names
from minifp.ops.creation import as_array
from minifp.ops.methods import read
from minifp.runtime.device import is_array, moved
from minifp.scope.explaining.exact import Exact, decimal

LARGEST_EXPONENT = 9999  # in a text, so that 1e999999999 does not fill the memory
LONGEST = 2000  # characters, or digits
NUMBER = (
    r"[+-]?(?:0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?\d+)?"
    r"|(?:2|10)(?:\*\*|\^)[+-]?\d+"
    r"|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
    r"|inf(?:inity)?|nan)"
)
FLAGS = re.IGNORECASE | re.ASCII
CALCULATION = re.compile(rf"({NUMBER})\s*([-+*/x])\s*({NUMBER})", FLAGS)
EXAMPLES = '"0.1", "1e-8", "0x1.8p-3", "2^-24", "inf" or "nan"'


@dataclass(frozen=True)
class Operand:
    """A number as it was given. text: as it is shown. origin: what it was, in a few words."""

    exact: Exact
    text: str
    origin: str


def operand(x: Any) -> Operand:
    """Read one number. Raises DTypeError, ShapeError or ArgumentError for what is none."""
    if isinstance(x, Tensor) or is_array(x) or isinstance(x, np.generic):
        return element(x)
    if isinstance(x, str):
        return Operand(parsed(x), shortened(x.strip()), "a string, read exactly")
    if isinstance(x, Decimal):
        return Operand(parsed(str(x)), shortened(str(x)), "a Decimal, read exactly")
    if isinstance(x, float):
        return Operand(Exact.of(x), repr(x), f"a Python float, which is {Exact.of(x)} in float64")
    if isinstance(x, (int, Fraction)) and not isinstance(x, bool):
        return fraction(x)
    raise DTypeError(
        f"explain: {x!r:.60} is a {type(x).__name__}: expected a number, a string such as "
        f"{EXAMPLES}, or an array or tensor of one floating-point number"
    )


def shortened(text: str) -> str:
    """A text to be shown: at most 40 characters."""
    return text if len(text) <= 40 else f"{text[:37]}..."


def shown(x: Exact) -> str:
    """A number in a title: at most 20 digits."""
    return decimal(x.value, 20) if x.is_finite and not x.is_zero else str(x)


def fraction(x: int | Fraction) -> Operand:
    """An integer or a Fraction."""
    size = max(abs(x.numerator), x.denominator).bit_length()
    if size > 3 * LARGEST_EXPONENT:
        raise ArgumentError(
            f"explain: {type(x).__name__} of {size} bits: expected at most {3 * LARGEST_EXPONENT}"
        )
    kind = "an integer" if isinstance(x, int) else "a Fraction"
    return Operand(Exact.of(x), shown(Exact.of(x)), f"{kind}, read exactly")


def element(x: Any) -> Operand:
    """The one number that a tensor, array or NumPy scalar holds, as it is stored."""
    what = "a tensor" if isinstance(x, Tensor) else "an array" if is_array(x) else "a NumPy scalar"
    array = read(x) if isinstance(x, Tensor) else moved(x, "cpu")
    array = np.asarray(array) if not isinstance(array, np.generic) else np.array(array)
    if array.dtype.kind == "V":  # perhaps of ml_dtypes
        array = as_array(array)
    name = name_of(array.dtype)
    if format_named(name) is None:
        raise DTypeError(f"explain: {what} of {name}: expected a number format: {names()}")
    if array.size != 1:
        raise ShapeError(
            f"explain: {what} of shape {tuple(array.shape)}: expected one element, as in x[0, 0]"
        )
    value = Exact.of(float(as_native(array).reshape(-1)[0]))
    return Operand(value, shown(value), f"{what} of one {name} number, read as stored")


# ---- texts --------------------------------------------------------------------------------------


def calculation(text: str) -> tuple[Operand, str, Operand] | None:
    """The parts of "256 - 0.009"; None where the text is no calculation of two numbers."""
    text = text.strip()
    if len(text) > LONGEST or re.fullmatch(NUMBER, text, FLAGS):
        return None
    parts = CALCULATION.fullmatch(text)
    if parts is None:
        return None
    return operand(parts[1]), parts[2].lower().replace("x", "*"), operand(parts[3])


def parsed(text: str) -> Exact:
    """The number that a text says, without rounding. Raises ArgumentError."""
    word = text.strip().lower().replace("snan", "nan")
    if len(word) > LONGEST:
        raise ArgumentError(f"explain: a string of {len(word)} characters: expected {LONGEST}")
    if not re.fullmatch(NUMBER, word, FLAGS):
        raise ArgumentError(
            f"explain: {text.strip()!r:.60} is not a number: expected a string such as {EXAMPLES}, "
            'or two of them with +, -, * or / between, such as "1 + 2^-11"'
        )
    negative, word = word[0] == "-", word.lstrip("+-")
    if word[0] in "in":
        return Exact(negative=negative and word[0] == "i", special=word[:3])
    return Exact(magnitude(word), negative)


def magnitude(word: str) -> Fraction:
    """The number that the digits of a text without a sign say."""
    word = word.replace("**", "^")
    if "^" in word:
        base, _, exponent = word.partition("^")
        return Fraction(int(base)) ** limited(exponent, word)
    if word.startswith("0x"):
        digits, _, exponent = word[2:].partition("p")
        whole, _, places = digits.partition(".")
        value = Fraction(int(whole + places, 16), 16 ** len(places))
        return value * Fraction(2) ** limited(exponent or "0", word)
    digits, _, exponent = word.partition("e")
    return Fraction(digits) * Fraction(10) ** limited(exponent or "0", word)


def limited(exponent: str, word: str) -> int:
    """The exponent as an integer. Raises ArgumentError for one without end."""
    k = int(exponent)
    if abs(k) > LARGEST_EXPONENT:
        raise ArgumentError(
            f"explain: {word!r:.60}: expected an exponent from -{LARGEST_EXPONENT} to "
            f"{LARGEST_EXPONENT}"
        )
    return k
