"""What happened to a number, or in an operation, in one sentence: (role, text)."""

import re

from minifp.scope.explaining.arithmetic import Operation
from minifp.scope.explaining.exact import decimal
from minifp.scope.explaining.rounding import Rounded

Verdict = tuple[str, str]
# What a sentence goes on with that gives its reasons.
REASON = re.compile(r":| when |, (?:so|by|and|because) ")
NO_INF = (
    "the format has no Inf, and plain rounding gives NaN (many GPU instructions saturate instead, "
    "to {})"
)


def in_brief(verdict: Verdict) -> Verdict:
    """The same without its reasons: "overflow to inf", "normal, rounded down", "b vanishes"."""
    role, text = verdict
    return role, REASON.split(text)[0]


# ---- one number ---------------------------------------------------------------------------------


def of_number(x: Rounded) -> Verdict:
    """Normal, subnormal, zero, underflow, overflow, Inf or NaN."""
    if x.saturates:
        return "bad", saturated(x)
    if x.exact.special == "nan" and x.is_finite:
        return "bad", f"stored as {x}: the format has no NaN"
    if x.event == "overflow":
        return "bad", overflow(x)
    if not x.is_finite:
        return special(x)
    if x.kind == "zero":
        return ("bad", flushed(x)) if x.event else ("", "zero, exact")
    how = "exact" if x.is_exact else f"rounded {x.direction.replace('tie, ', 'from a tie, ')}"
    if x.kind == "normal":
        return ("good" if x.is_exact else ""), f"normal, {how}"
    digits = x.significand.bit_length()
    of = x.format.mantissa_bits + 1
    return (
        "" if x.is_exact else "bad",
        f"subnormal, {how}: {digits} of {of} significant bits are left",
    )


def special(x: Rounded) -> Verdict:
    """Inf and NaN that were so before."""
    if x.exact.special == "nan":
        return "", "NaN, as it was"
    if x.kind == "inf":
        return "", f"{x}, as it was"
    return "bad", "NaN: " + NO_INF.format(largest(x))


def saturated(x: Rounded) -> str:
    """Why the largest number is stored."""
    why = "it is at least half an ulp beyond it" if x.exact.is_finite else "there is no Inf here"
    if x.format.has_inf and not x.exact.is_finite:
        why = "Inf counts as a number that is too large"
    return f"saturates at the largest number, {largest(x)}: {why}"


def overflow(x: Rounded) -> str:
    """Why a finite number is none any more."""
    limit = f"it is at least half an ulp beyond the largest number, {largest(x)}"
    if x.format.has_inf:
        return f"overflow to {x}: {limit}"
    limit = limit.replace("at least", "more than")
    return f"overflow to NaN: {limit}; {NO_INF.format(largest(x))}"


def flushed(x: Rounded) -> str:
    """Why a number became 0."""
    if not x.format.subnormals:
        return f"underflow, flushed to {x}: the format has no subnormal numbers"
    smallest = f"the smallest subnormal, 2^{1 - x.format.bias - x.format.mantissa_bits}"
    if "tie" in x.direction:
        return f"underflow, flushed to {x}: exactly half of {smallest}, and ties go to even"
    return f"underflow, flushed to {x}: below half of {smallest}"


def largest(x: Rounded) -> str:
    """The largest finite number of the format, with the number's sign."""
    return f"{'-' if x.exact.negative else ''}{x.format.max:.10g}"


# ---- one operation ------------------------------------------------------------------------------


def of_operand(x: Rounded) -> str:
    """What storing did to an operand."""
    if x.is_exact:
        return "exact"
    if x.saturates:
        return f"saturated, from {decimal(x.exact.value, 20)}"
    if x.event == "overflow" or not x.is_finite:
        return f"overflow, from {decimal(x.exact.value, 20)}"
    if x.kind == "zero":
        return f"flushed to zero, from {decimal(x.exact.value, 20)}"
    subnormal = "to a subnormal, " if x.kind == "subnormal" else ""
    return f"rounded {x.direction.removeprefix('tie, ')}, {subnormal}from {x.exact}"


def decision(x: Rounded) -> str:
    """Which way it is rounded, and why."""
    if not x.exact.is_finite:
        return "not rounded"
    if x.saturates:
        return "beyond the largest number, so that one is stored"
    if x.direction == "exact":
        return "not needed: it fits" if x.is_finite else "it fits the mantissa, not the exponent"
    why = {True: "above", False: "below"}[x.rest * 2 > 1] + " half an ulp"
    if "tie" in x.direction:
        why = "exactly half an ulp, and the even neighbour is there"
    way = x.direction.removeprefix("tie, ")
    if x.exact.negative:  # whose bits are shown without the sign
        way += ", away from zero" if x.is_outward else ", toward zero"
    return f"{way}: what is dropped is {why}"


def of_operation(x: Operation) -> Verdict:
    """What the operation lost, in a sentence."""
    if not x.result.is_finite:
        return not_finite(x)
    if x.result.saturates or not (x.result.exact.is_finite or x.result.is_exact):
        return of_number(x.result)
    if x.vanishing is not None:
        return "bad", vanishes(x)
    lost = [name for name, o in (("a", x.a), ("b", x.b)) if o.kind == "zero" and not o.is_exact]
    if lost:
        return "bad", f"{both(lost, 'was', 'were')} flushed to zero when stored"
    if x.result.event:
        return of_number(x.result)
    if x.cancelled > 1 or (x.alignment and not x.result.code):
        return cancels(x)
    if not x.is_exact:
        return "", "rounded once, by less than half an ulp of the result" if (
            x.result.rest * 2 != 1
        ) else "rounded once, by half an ulp: a tie"
    if x.a.is_exact and x.b.is_exact:
        return "good", "exact: nothing is lost"
    return "good", "the operation is exact: only storing a and b lost something"


def not_finite(x: Operation) -> Verdict:
    """Why the result is Inf or NaN."""
    if x.result.event == "overflow":
        return "bad", overflow(x.result)
    if not (x.a.is_finite and x.b.is_finite):
        culprits = [n for n, o in (("a", x.a), ("b", x.b)) if not o.is_finite]
        return "bad", f"{x.result}, because {both(culprits, 'is', 'are')} not finite here"
    if x.exact.special == "nan":
        return "bad", f"{x.result}: zero divided by zero is no number"
    why = "a division by zero" + (", which b became when it was stored" if x.b.event else "")
    return "bad", f"{x.result}: {why}" + (
        "" if x.format.has_inf else f"; {NO_INF.format(largest(x.result))}"
    )


def both(names: list[str], one: str, many: str) -> str:
    """ "a is", "a and b are"."""
    return f"{' and '.join(names)} {one if len(names) == 1 else many}"


def vanishes(x: Operation) -> str:
    """A sum in which the smaller operand changes nothing."""
    assert x.vanishing is not None and x.half_gap is not None
    larger, smaller = x.vanishing.larger, x.vanishing.smaller
    side = "next number on that side of"
    relation = "exactly" if smaller.number.magnitude == x.half_gap else "below"
    even = ", and the tie goes back to the even one" if relation == "exactly" else ""
    name = "a" if smaller is x.a else "the addend" if x.symbol == "+" else "b"
    return (
        f"{name} vanishes: {decimal(smaller.number.magnitude, 20)} is {relation} "
        f"{decimal(x.half_gap, 20)}, half the gap to the {side} "
        f"{decimal(larger.number.magnitude, 20)}{even}"
    )


def cancels(x: Operation) -> Verdict:
    """A difference of numbers that are nearly equal."""
    is_lossless = x.a.is_exact and x.b.is_exact
    inherited = "" if is_lossless else ", so the error of storing a and b weighs more"
    if not x.result.code:
        return ("bad" if inherited else "good"), f"all bits cancel{inherited}"
    how = "exact" if x.is_exact else "rounded"
    role = "bad" if inherited else "good"
    return role, f"{how}; {x.cancelled} leading bits cancel{inherited}"
