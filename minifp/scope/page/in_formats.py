"""What each format would lose of what was seen, side by side."""

from minifp.numerics.number_format import Format
from minifp.report.content import Columns, Section, Table
from minifp.report.markup import paragraph
from minifp.report.words import share_text
from minifp.scope.advice import Advice
from minifp.scope.observed import ACTIVATIONS, WEIGHTS
from minifp.scope.record import Record

ABOUT = (
    "What each format would lose if it stored the numbers of all observed steps: the share of "
    "nonzero numbers that would round to 0 or be too large. Gradients: without a loss scale, and "
    "with the largest constant scale S at which nothing overflows. The scales that pass are the "
    "ones we recommend for that format. Rounding error is not included."
)


def formats_section(findings: Record) -> Section:
    """The table."""
    weights, activations = (findings.total(kind) for kind in (WEIGHTS, ACTIVATIONS))

    def advice_for(format: Format) -> Advice:
        return findings.advice(format=format)

    columns: Columns = {
        "format": lambda f: f.name,
        "weights": lambda f: share_text(weights.lost(0, f), 1),
        "activations": lambda f: share_text(activations.lost(0, f), 1),
        "gradients": lambda f: unscaled(advice_for(f)),
        "at the best S": lambda f: at_best(advice_for(f)),
        "S that do": lambda f: scales_that_do(advice_for(f)),
    }
    caption = "The share that would be lost, of numbers that are not 0"
    table = Table.of(caption, findings.formats, columns, text_columns=(5,))
    return Section("In other formats", [paragraph(ABOUT), table] if findings.steps else ())


def unscaled(advice: Advice) -> str:
    """What is lost of gradients without a loss scale."""
    return share_text(advice.lost(0), 1) if advice.largest else "-"


def at_best(advice: Advice) -> str:
    """What is lost with the largest scale at which nothing overflows."""
    if not advice.largest:
        return "-"
    place = "any" if advice.or_more else f"2^{advice.high}"
    return f"{share_text(advice.lost(advice.high), 1)} at {place}"


def scales_that_do(advice: Advice) -> str:
    """The scales that are advised."""
    if not advice.largest:
        return "no gradients"
    if not advice.needed:
        return "none needed"
    return f"2^{advice.low} to 2^{advice.high}" if advice.low <= advice.high else "none"
