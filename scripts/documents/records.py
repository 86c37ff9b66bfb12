"""Recorded files in scripts/results, read once."""

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parents[1] / "results"
opened: list[str] = []  # the files that a marker has read


def read(name: str) -> Any:
    """A recorded file, seen from scripts/results: JSON as it is, CSV as dicts."""
    opened.append(name)
    return contents(name)


@cache
def contents(name: str) -> Any:
    """The same, read once."""
    path = RESULTS / name
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    with path.open(encoding="utf-8", newline="") as lines:
        return [*csv.DictReader(lines)]
