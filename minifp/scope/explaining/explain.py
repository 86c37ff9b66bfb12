"""`fp.explain`: what each number format makes of a number, and of a sum, product or quotient.

What it needs is imported when it is called: see explanations.py, and for the arithmetic exact.py,
rounding.py and arithmetic.py.
"""

from typing import TYPE_CHECKING, Any

from minifp.errors import ArgumentError

if TYPE_CHECKING:
    from minifp.scope.explaining.explanations import Explained


def explain(
    x: Any, symbol: str | None = None, y: Any = None, *, formats: Any = None
) -> "Explained":
    """Show a number in each format, bit by bit, or what x + y, x - y, x * y or x / y does to it.

    x, y: a Python number, a text ("0.1", "1e-8", "0x1.8p-3", "2^-24", "inf", "nan"), a NumPy
    scalar, or an array or tensor of one floating-point number, explained as it is stored. A text
    may be the whole calculation: explain("256 - 0.009"). Texts are rounded once, directly to each
    format; a Python float is what float64 has made of it. formats: in which, one or several: names,
    bits as in "e5m7" or "e4m3+saturates=on", or Formats; by default six from float64 to float8.

    Returns a mapping from the format's name to its fields, value, neighbours and error (fractions),
    or to the steps of the operation; in a notebook and a terminal it shows itself. Raises
    ArgumentError, DTypeError or ShapeError for what cannot be explained.
    """
    from minifp.scope.explaining.exact import SYMBOLS
    from minifp.scope.explaining.explanations import ExplainedNumber, ExplainedOperation, formats_of
    from minifp.scope.explaining.operands import calculation, operand

    in_formats = formats_of(formats)
    if symbol is None and y is None:
        parts = calculation(x) if isinstance(x, str) else None
        if parts is None:
            return ExplainedNumber(operand(x), in_formats)
        return ExplainedOperation(*parts, in_formats)
    if not isinstance(symbol, str) or symbol not in SYMBOLS or y is None:
        raise ArgumentError(
            f"explain: {symbol!r:.60} before a {type(y).__name__}: expected one of "
            f'{" ".join(SYMBOLS)} between two numbers, as in explain(1.0, "+", 0.0005)'
        )
    return ExplainedOperation(operand(x), symbol, operand(y), in_formats)
