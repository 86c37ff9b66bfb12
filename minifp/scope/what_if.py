"""What would be lost if a run had been stored in another format, as tables that others can read."""

from typing import Any

from minifp.report.csv_text import csv_text
from minifp.scope.histogram import Histogram
from minifp.scope.observed import KINDS
from minifp.scope.record import Record

LOSSES = {
    "flushed": Histogram.flushed,
    "subnormal": Histogram.subnormal,
    "overflow": Histogram.overflowing,
}


def rows_of(findings: Record) -> list[dict[str, Any]]:
    """A row for each layer of each kind in each step that was looked at; see Findings.rows."""
    formats = findings.formats
    return [
        {
            **{"step": step.step, "kind": kind, "layer": layer},
            **{"format": step.format_of(kind, layer).name, "scale": step.scale_of(kind)},
            **{"numbers": h.total, "zeros": h.zeros, "infs": h.infs, "nans": h.nans},
            **{"smallest": h.smallest, "largest": h.largest},
            **{f"{what} {f.name}": lost(h, 0, f) for f in formats for what, lost in LOSSES.items()},
        }
        for step in findings.steps
        for kind in KINDS
        for layer, h in step.histograms[kind].items()
    ]


def csv_of(findings: Record) -> str:
    """The same as CSV, under its heads."""
    rows = rows_of(findings)
    return csv_text([rows[0], *(row.values() for row in rows)]) if rows else ""
