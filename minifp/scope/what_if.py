"""What would be lost if a run had been stored in another format, as tables that others can read."""

import csv
import io
from typing import Any, NamedTuple

from minifp.numerics.number_format import Format
from minifp.scope.advice import Advice
from minifp.scope.observed import ACTIVATIONS, KINDS, WEIGHTS
from minifp.scope.record import Record

LOSSES = ("flushed", "subnormal", "overflow")


class Stored(NamedTuple):
    """A format, and the shares that it would lose of all steps that were looked at.

    weights, activations: of their numbers that are not 0. advice: on the loss scale of gradients.
    """

    format: Format
    weights: float
    activations: float
    advice: Advice


def stored_in(findings: Record) -> list[Stored]:
    """What each of the formats in question would lose."""
    weights, activations = (findings.total(kind) for kind in (WEIGHTS, ACTIVATIONS))
    return [
        Stored(
            format,
            weights.lost(0, format),
            activations.lost(0, format),
            findings.advice(format=format),
        )
        for format in findings.formats
    ]


def rows_of(findings: Record) -> list[dict[str, Any]]:
    """A row for each layer of each kind in each step that was looked at; see Findings.rows."""
    formats = findings.formats
    found = []
    for step in findings.steps:
        for kind in KINDS:
            for layer, h in step.histograms[kind].items():
                row = {
                    "step": step.step, "kind": kind, "layer": layer,
                    "format": step.format_of(kind, layer).name, "scale": step.scale_of(kind),
                    "numbers": h.total, "zeros": h.zeros, "infs": h.infs, "nans": h.nans,
                    "smallest": h.smallest, "largest": h.largest,
                }  # fmt: skip
                for format in formats:
                    counts = (
                        h.flushed(0, format),
                        h.subnormal(0, format),
                        h.overflowing(0, format),
                    )
                    row |= {f"{what} {format.name}": n for what, n in zip(LOSSES, counts)}
                found.append(row)
    return found


def csv_of(findings: Record) -> str:
    """The same as CSV, under its heads."""
    out = io.StringIO()
    rows = rows_of(findings)
    if rows:
        table = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    return out.getvalue()
