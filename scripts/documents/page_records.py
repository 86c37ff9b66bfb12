"""What scripts/record_documents.py recorded of blocks in documents, for their markers."""

import re
from functools import cache

from documents.records import read
from minifp.lab.settings import canonical
from minifp.lab.statistics import moments
from minifp.lab.statistics.paired import differ_by
from minifp.numerics.formats import format_of
from minifp.numerics.number_format import operand_format

RUNS, COURSES, MADE = (f"documents/{name}" for name in ("runs.csv", "courses.csv", "made.json"))


def extent(name: str) -> list[float]:
    """Of a format the bits of exponent and mantissa, the largest number, the smallest normal one,
    and the smallest."""
    f = operand_format(name) or format_of(name)
    return [f.exponent_bits, f.mantissa_bits, f.max, f.smallest_normal, f.smallest_subnormal]


@cache
def text_of(arm: str) -> str:
    """The text that an arm has in records."""
    return canonical([arm])[0]


def ran(block: str, arm: str, call: int = 0, cell: str = "") -> list[dict]:
    """The recorded runs of an arm in a call of a block, or in a sweep's cell."""
    who = (block, str(call), cell, text_of(arm))
    rows = [r for r in read(RUNS) if (r["block"], r["call"], r["cell"], r["arm"]) == who]
    if not rows:
        raise ValueError(f"no run of {who} is recorded in {RUNS}")
    return rows


def ended(block: str, arm: str, call: int = 0, cell: str = "", column: str = "metric"):
    """A column of those runs that finished."""
    rows = ran(block, arm, call, cell)
    return [float(row[column]) for row in rows if row["status"] == "finished"]


def outcome(block: str, arm: str, call: int = 0, cell: str = "") -> list[float]:
    """Mean and standard deviation of the metric; where no run finished, how many did not, of how
    many."""
    values, n = ended(block, arm, call, cell), len(ran(block, arm, call, cell))
    return [moments.mean(values), moments.deviation(values)] if values else [n, n]


def apart(block: str, arm: str, base: str, call: int = 0, cell: str = "") -> list[float]:
    """How far an arm is from another, by seed, and the ends of the interval."""
    found = differ_by(ended(block, arm, call, cell), ended(block, base, call, cell))
    return [found.mean, found.low, found.high]


def mean_of(block: str, arm: str, column: str, call: int = 0) -> float:
    """The mean of a column."""
    return moments.mean(ended(block, arm, call, column=column))


def at_step(block: str, arm: str, step: int, column: str) -> float:
    """What the course of the first seed has at a step, in the first call."""
    (row,) = (
        r for r in read(COURSES)
        if (r["block"], r["call"], r["arm"], r["step"]) == (block, "0", text_of(arm), str(step))
    )  # fmt: skip
    return float(row[column])


def said(block: str, pattern: str) -> list[float]:
    """The numbers of the groups that a pattern finds, once, in what a block printed."""
    return groups(pattern, "\n".join(read(MADE)[block]["printed"]))


def shown(block: str, pattern: str) -> list[float]:
    """The same of the block's own text: what it was told."""
    return groups(pattern, read(MADE)[block]["block"])


def groups(pattern: str, text: str) -> list[float]:
    """The numbers in the groups that a pattern finds once in a text."""
    (found,) = {*re.findall(pattern, text)}
    several = found if isinstance(found, tuple) else (found,)
    return [float(n) for part in several for n in re.findall(r"[\d.]+(?:e[-+]?\d+)?", part)]
