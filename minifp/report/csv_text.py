"""Tables as CSV, whose texts no spreadsheet takes for formulas."""

import csv
from collections.abc import Iterable
from io import StringIO
from typing import Any

FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # what a cell begins with that a spreadsheet computes


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Rows as CSV, a line each. A text that a spreadsheet would compute gets ' in front of it, and
    is then shown as it is: names and notes may come from a file that somebody sent."""
    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows([as_cell(v) for v in row] for row in rows)
    return out.getvalue()


def as_cell(value: Any) -> Any:
    """What stands in a cell for a value. A text that is a number stays one."""
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
