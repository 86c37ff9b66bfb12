"""What is told of a rounded number and of an operation: rows of a label and of pieces of text.

The roles of pieces (see report/pieces.py): "sign", "exponent" and "mantissa" for bits, "lost" for
what rounding takes away, "good" and "bad" for verdicts, "muted" for what is beside the point.
"""

from fractions import Fraction

from minifp.report.pieces import Piece
from minifp.report.words import plural
from minifp.scope.explaining import verdicts
from minifp.scope.explaining.arithmetic import Alignment, Operation
from minifp.scope.explaining.bit_fields import Stored
from minifp.scope.explaining.exact import decimal, power
from minifp.scope.explaining.rounding import Rounded, binade

Text = list[Piece]
Rows = list[tuple[str, Text]]
Line = list[Piece]  # of a table: one for each of HEADS
HEADS = ("format", "stored value", "relative error", "status")
FEW = 20  # digits of what stands beside others,
FEWER = 8  # and of errors
DROPPED = 24  # bits of what is dropped that are shown


def line(name: str, x: Stored, error: Fraction | None, verdict: verdicts.Verdict) -> Line:
    """What became of it in one format, in a line of a table: see HEADS."""
    relative = "lost" if error else "", "-" if error is None else brief(error)
    return [("title", name), ("", short(x.value)), relative, verdicts.in_brief(verdict)]


# ---- one number ---------------------------------------------------------------------------------


def number(x: Rounded) -> Rows:
    """The rows of one number in one format."""
    return [
        ("bits", bits(x)),
        ("reads as", reading(x)),
        ("value", [("", str(x.number))]),
        ("error", error(x)),
        ("neighbours", neighbours(x)),
        ("status", [verdicts.of_number(x)]),
    ]


def number_line(x: Rounded) -> Line:
    """The same in a line."""
    return line(x.format.name, x, x.relative_error, verdicts.of_number(x))


def bits(x: Stored) -> Text:
    """Sign, exponent and mantissa apart."""
    sign, exponent, mantissa = x.fields
    return [("sign", sign), ("", " "), ("exponent", exponent), ("", " "), ("mantissa", mantissa)]


def reading(x: Stored) -> Text:
    """How the fields give the value."""
    if not x.is_finite:
        return [("muted", "not a number: this code is reserved for "), ("", str(x))]
    field, width = x.exponent_field, 2**x.format.mantissa_bits
    pieces = [("sign", "-" if x.negative else "+"), ("", f"({int(field > 0)} + ")]
    pieces += [("mantissa", str(x.mantissa_field)), ("", f"/{width}) x 2^(")]
    note = "" if field else "  the exponent 0 counts as 1, and no leading 1 is added"
    if not (field or x.format.subnormals):
        return [("muted", "the exponent 0 is that of 0 alone: there are no subnormal numbers")]
    bias = f"{'+' if x.format.bias < 0 else '-'} {abs(x.format.bias)}"
    return [*pieces, ("exponent", str(max(field, 1))), ("", f" {bias})"), ("muted", note)]


def error(x: Rounded) -> Text:
    """What is stored minus what was given: absolute, relative, in ulp."""
    if x.error is None or x.error_in_ulp is None:
        return [("muted", "none: there is no difference of Inf and NaN with others")]
    if not x.error:
        return [("good", "0"), ("muted", f"  (1 ulp here is {power_text(x.ulp)})")]
    relative = "" if x.relative_error is None else f", relative {brief(x.relative_error)}"
    pieces = [("lost", brief(x.error)), ("", f"{relative}, {brief(x.error_in_ulp)} ulp")]
    return [*pieces, ("muted", f"  (1 ulp here is {power_text(x.ulp)})")]


def neighbours(x: Stored) -> Text:
    """The next number below and the next above."""
    below, above = (short(n.value) if n else "none" for n in (x.below, x.above))
    return [("muted", "below "), ("", below), ("muted", "   above "), ("", above)]


# ---- one operation ------------------------------------------------------------------------------


def steps(x: Operation) -> Rows:
    """The rows of one operation in one format."""
    rows = [("a", stored(x.a)), ("b", stored(x.b))]
    if x.alignment is not None:
        rows += aligned(x, x.alignment)
    if x.product is not None:
        rows += multiplied(x, x.product)
    rows.append(("exact", [("", short(x.exact.value)), *kept_and_dropped(x.result)]))
    return [
        *rows,
        ("rounded", [("", verdicts.decision(x.result))]),
        ("result", stored(x.result, with_status=False)),
        ("error", total(x)),
        ("status", [verdicts.of_operation(x)]),
    ]


def operation_line(x: Operation) -> Line:
    """The same in a line: the result, and its error against that of the numbers as given."""
    return line(x.format.name, x.result, x.relative_error, verdicts.of_operation(x))


def stored(x: Rounded, with_status: bool = True) -> Text:
    """A number with its bits, and whether rounding changed it."""
    pieces = [*bits(x), ("", f"  {short(x.value)}")]
    if not with_status:
        return pieces
    changed = verdicts.of_operand(x)
    return [*pieces, ("muted" if x.is_exact else "lost", f"  {changed}")]


def aligned(x: Operation, a: Alignment) -> Rows:
    """The two significands under each other, with the bits that have no place any more."""
    m, power = x.format.mantissa_bits, ("", f" x 2^{a.larger.exponent}")
    sign = "- " if (x.a.negative != x.b.negative) != (x.symbol == "-") else "+ "
    smaller = [("mantissa", pointed(a.staying, m))]
    remark = "the exponents are equal: nothing has to move"
    if a.shift:
        smaller += [("muted", "|"), ("lost", fallen(a, m))]
        remark = f"the smaller one moves right by {plural(a.shift, 'bit')}"
    if a.fallen:
        remark += ", and the bits behind the bar wait for the rounding below"
    if a.larger is x.b:
        remark = f"magnitudes, that of b first; {remark}"
    return [
        ("align", [("", "  "), ("mantissa", pointed(a.larger.significand, m)), power]),
        ("", [("", sign), *smaller, power]),
        ("", [("muted", remark)]),
    ]


def fallen(a: Alignment, m: int) -> str:
    """The bits behind the bar; long runs of zeros before the first are counted."""
    zeros = a.shift - (m + 1)
    if zeros <= 8:
        return f"{a.fallen:0{a.shift}b}"
    return f"({zeros} zeros){a.fallen:0{m + 1}b}"


def multiplied(x: Operation, product: int) -> Rows:
    """The significands, as integers of the last place, their product, and the exponents' sum."""
    m, sum_of_both = x.format.mantissa_bits, x.a.exponent + x.b.exponent
    point = ""
    if product and (higher := binade(x.exact, x.format)) != sum_of_both:
        point = f"  before it is rounded, the result has 2^{higher}"
    bits_in_all = f"{product.bit_length()} bits in all, {m + 1} can be kept"
    remark = f"  significands, in units of 2^-{m}: {bits_in_all}"
    factors = [("mantissa", str(o.significand)) for o in (x.a, x.b)]
    addends = [("exponent", str(x.a.exponent)), ("exponent", addend(x.b.exponent))]
    return [
        ("multiply", [*joined(factors, " x "), ("", f" = {product}"), ("muted", remark)]),
        ("exponents", [*joined(addends, " + "), ("", f" = {sum_of_both}"), ("muted", point)]),
    ]


def joined(pair: Text, symbol: str) -> Text:
    """Two pieces with a symbol between them."""
    return [pair[0], ("", symbol), pair[1]]


def kept_and_dropped(x: Rounded) -> Text:
    """The exact result in binary, a bar where the format ends, and what is behind the bar."""
    if not x.exact.is_finite or x.exact.is_zero:
        return []
    m, exponent = x.format.mantissa_bits, power(x.ulp, 2) + x.format.mantissa_bits
    sign = "-" if x.exact.negative else ""
    pieces = [("muted", "  in binary "), ("", sign), ("mantissa", pointed(int(x.units), m))]
    if x.rest:
        pieces += [("muted", "|"), ("lost", dropped(x.rest))]
    return [*pieces, ("", f" x 2^{exponent}")]


def dropped(rest: Fraction) -> str:
    """The bits behind the last place; dots after DROPPED of them, if there are more."""
    scaled = rest * 2**DROPPED
    digits = f"{int(scaled):0{DROPPED}b}"
    return digits.rstrip("0") if scaled.denominator == 1 else digits + "..."


def total(x: Operation) -> Text:
    """The result against that of the numbers as given."""
    if x.total_error is None:
        return [("muted", f"none: without rounding it would be {short(x.true.value)}")]
    if not x.total_error:
        return [("good", "0"), ("muted", "  against the original numbers")]
    pieces = [("lost", brief(x.total_error))]
    if x.relative_error is not None:
        pieces.append(("", f", relative {brief(x.relative_error)}"))
    return [*pieces, ("muted", f"  against {short(x.true.value)}, without any rounding")]


# ---- texts --------------------------------------------------------------------------------------


def pointed(significand: int, m: int) -> str:
    """A significand in binary with its point: 1.0011."""
    digits = f"{significand:0{m + 1}b}"
    return f"{digits[: len(digits) - m]}.{digits[len(digits) - m :]}"


def short(value: Fraction | float) -> str:
    """A number of at most FEW digits."""
    return decimal(value, FEW)


def brief(value: Fraction) -> str:
    """An error, of at most FEWER digits."""
    return decimal(value, FEWER)


def power_text(x: Fraction) -> str:
    """A power of two as such."""
    return f"2^{power(x, 2)}"


def addend(n: int) -> str:
    """An integer behind a plus sign: in brackets if it is negative."""
    return f"({n})" if n < 0 else str(n)
