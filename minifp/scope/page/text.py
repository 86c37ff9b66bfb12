"""What a microscope has found as plain text, at most 100 columns wide."""

from minifp.report import words
from minifp.report.plain_text import columns, fill
from minifp.scope.histogram import Histogram
from minifp.scope.observed import GRADIENTS, KINDS
from minifp.scope.page.figures import TITLES, short
from minifp.scope.page.lens import HEADS, cells
from minifp.scope.page.training import headlines
from minifp.scope.record import Record

MOST = 40  # layers of a kind that have a line


def text_of(findings: Record) -> str:
    """The answers, and for the last observed step a line for each layer and parameter."""
    seen = f"{len(findings.steps)} of {words.plural(findings.count, 'step')} looked at"
    about = findings.about
    head = f"{about.get('model', 'a model')} in {about.get('precision', '?')}: {seen}."
    blocks = [fill(head), *(fill(said, hang="  ") for said in headlines(findings))]
    blocks += [block_of(findings, kind) for kind in KINDS if findings.layers(kind)]
    blocks += [checks_of(findings)] if "check" in findings.details else []
    return "\n\n".join(blocks)


def block_of(findings: Record, kind: str) -> str:
    """The layers of a kind: counts as they are stored, and shares that float16 would lose."""
    step = findings.steps[-1]
    held = step.histograms[kind]
    rows = [(short(name, 26), *plain(h)) for name, h in list(held.items())[:MOST]]
    stored = f", times S = {words.scale_text(step.scale)}" if kind in GRADIENTS else ""
    left = f"\n(and {len(held) - MOST} more)" if len(held) > MOST else ""
    return f"{TITLES[kind]} of step {step.step}{stored}\n" + columns([HEADS, *rows]) + left


def checks_of(findings: Record) -> str:
    """How training ends with constant scales."""
    rows = [("loss scale", "advised", "loss at the end", "skipped", "training")]
    for c in findings.details["check"]:
        scale = f"2^{c['scale']}" if isinstance(c["scale"], int) else c["scale"] or "none"
        loss = "-" if c["loss"] is None else f"{c['loss']:.4g}"
        skipped = f"{c['skipped']} of {c['steps']}"
        rows.append((scale, "yes" if c["advised"] else "no", loss, skipped, c["status"]))
    return "The advice, checked: trained again with constant loss scales\n" + columns(rows)


def plain(h: Histogram) -> list[str]:
    """Cells in ASCII."""
    return [cell.replace("–", "-").replace("−", "-") for cell in cells(h, 0)]
