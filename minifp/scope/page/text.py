"""What a microscope has found as plain text, at most 100 columns wide."""

from minifp.numerics.number_format import Format
from minifp.report import words
from minifp.report.plain_text import columns, fill
from minifp.scope.histogram import Histogram
from minifp.scope.observed import GRADIENTS, KINDS
from minifp.scope.page.figures import TITLES, short
from minifp.scope.page.in_formats import FORMAT_HEADS, format_rows
from minifp.scope.page.lens import HEADS, cells
from minifp.scope.page.training import CHECK_HEADS, check_rows, headlines
from minifp.scope.page.windows import in_format
from minifp.scope.record import Record

MOST = 40  # layers of a kind that have a line


def text_of(findings: Record) -> str:
    """The answers, and for the last observed step a line for each layer and parameter."""
    seen = f"{len(findings.steps)} of {words.plural(findings.count, 'step')} looked at"
    about = findings.about
    head = f"{about.get('model', 'a model')} in {about.get('precision', '?')}: {seen}."
    blocks = [fill(head), *(fill(said, hang="  ") for said in headlines(findings))]
    blocks += [formats_of(findings)] if findings.steps else []
    blocks += [block_of(findings, kind) for kind in KINDS if findings.layers(kind)]
    blocks += [checks_of(findings)] if "check" in findings.details else []
    return "\n\n".join(blocks)


def formats_of(findings: Record) -> str:
    """What each format would lose."""
    rows = [
        [cell.replace("–", "-") for cell in row] for row in format_rows(findings, "2^{}".format)
    ]
    return "What would be lost, of numbers that are not 0, if they were stored in\n" + columns(
        [FORMAT_HEADS, *rows]
    )


def block_of(findings: Record, kind: str) -> str:
    """The layers of a kind: counts as they are stored, and the shares that are lost in the format
    in which most are stored, or would be in float16."""
    step, format = findings.steps[-1], findings.format_of(kind)
    held = step.histograms[kind]
    rows = [(short(name, 26), *plain(h, format)) for name, h in list(held.items())[:MOST]]
    stored = f", times S = {words.scale_text(step.scale)}" if kind in GRADIENTS else ""
    left = f"\n(and {len(held) - MOST} more)" if len(held) > MOST else ""
    said = in_format(format, findings.borders)
    return f"{TITLES[kind]} of step {step.step}{stored}, {said}\n" + columns([HEADS, *rows]) + left


def checks_of(findings: Record) -> str:
    """How training ends with constant scales."""
    rows = [CHECK_HEADS, *check_rows(findings, "2^{}".format)]
    return "The advice, checked: trained again with constant loss scales\n" + columns(rows)


def plain(h: Histogram, format: Format) -> list[str]:
    """Cells in ASCII."""
    return [cell.replace("–", "-").replace("−", "-") for cell in cells(h, format)]
