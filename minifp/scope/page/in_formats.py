"""What each format would lose of what was seen, side by side."""

from minifp.report.content import Columns, Part, Section, Table
from minifp.report.markup import paragraph
from minifp.report.words import share_text
from minifp.scope.record import Record
from minifp.scope.what_if import Stored, stored_in

ABOUT = (
    "What each format would lose if it stored the numbers of all observed steps: the share of "
    "nonzero numbers that would round to 0 or be too large. Gradients: without a loss scale, and "
    "with the largest constant scale S at which nothing overflows. The scales that pass are the "
    "ones we recommend for that format. Rounding error is not included."
)


def formats_section(findings: Record) -> Section:
    """The table."""
    columns: Columns = {
        "format": lambda s: s.format.name,
        "weights": lambda s: share_text(s.weights, 1),
        "activations": lambda s: share_text(s.activations, 1),
        "gradients": lambda s: share_text(s.advice.lost(0), 1) if s.advice.largest else "-",
        "at the best S": at_best,
        "S that do": scales_that_do,
    }
    stored = stored_in(findings) if findings.steps else []
    caption = "The share that would be lost, of numbers that are not 0"
    parts: list[Part] = [paragraph(ABOUT), Table.of(caption, stored, columns, text_columns=(5,))]
    return Section("In other formats", parts if stored else ())


def at_best(stored: Stored) -> str:
    """What is lost with the largest scale at which nothing overflows."""
    advice = stored.advice
    if not advice.largest:
        return "-"
    place = "any" if advice.or_more else f"2^{advice.high}"
    return f"{share_text(advice.lost(advice.high), 1)} at {place}"


def scales_that_do(stored: Stored) -> str:
    """The scales that are advised."""
    advice = stored.advice
    if not advice.largest:
        return "no gradients"
    if not advice.needed:
        return "none needed"
    return f"2^{advice.low} to 2^{advice.high}" if advice.low <= advice.high else "none"
