"""The section of a microscope's page on other formats: what each would lose, side by side."""

from collections.abc import Callable

from markupsafe import Markup

from minifp.report import words
from minifp.report.markup import paragraph, section, table
from minifp.scope.page.lens import percent
from minifp.scope.record import Record
from minifp.scope.what_if import Stored, stored_in

FORMAT_HEADS = ("format", "weights", "activations", "gradients", "at the best S", "S that do")
SAID = (
    "What each format would lose if it stored the numbers of all observed steps: the share of "
    "nonzero numbers that would round to 0 or be too large. Gradients: without a loss scale, and "
    "with the largest constant scale S at which nothing overflows. The scales that pass are the "
    "ones we recommend for that format. Rounding error is not included."
)


def formats_section(findings: Record, prefix: str) -> Markup:
    """The table."""
    if not findings.steps:
        return Markup()
    rows = format_rows(findings, words.superscript)
    caption = "The share that would be lost"
    return section("In other formats", paragraph(SAID), table(caption, FORMAT_HEADS, rows, (5,)))


def format_rows(findings: Record, power: Callable[[int], str]) -> list[list[str]]:
    """A row for each format. power: how 2^k is written."""
    return [row_of(stored, power) for stored in stored_in(findings)]


def row_of(stored: Stored, power: Callable[[int], str]) -> list[str]:
    """Its cells."""
    advice = stored.advice
    shares = [stored.format.name, share(stored.weights), share(stored.activations)]
    if not advice.largest:
        return [*shares, "–", "–", "no gradients"]
    where = "any" if advice.or_more else power(advice.high)
    best = f"{share(advice.lost(advice.high))} at {where}"
    do = "none needed"
    if advice.needed:
        ends = power(advice.low), power(advice.high)
        do = " to ".join(ends) if advice.low <= advice.high else "none"
    return [*shares, share(advice.lost(0)), best, do]


def share(part: float) -> str:
    """A share as the other tables write it."""
    return percent(part, 1)
